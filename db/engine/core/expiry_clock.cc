#include "db/engine/core/expiry_clock.h"

#include <algorithm>

namespace sepal {

RemovalTime::Clocks ExpiryClock::Clocks() const {
  return {.wall_millis = clock_->UnixMicros() / 1000, .monotonic_millis = clock_->MonotonicMicros() / 1000};
}

void ExpiryClock::Restore(const ClockFloor& kept) {
  Use();
  floor_millis_.store(kept.now_millis, std::memory_order_relaxed);
  MutexLock lock(&mutex_);
  removed_millis_ = kept.removed_millis;
  removals_.emplace(kept.removed_millis, Clocks());
}

void ExpiryClock::Raise(const ClockFloor& kept) {
  Use();
  uint64_t floor = floor_millis_.load(std::memory_order_relaxed);
  while (floor < kept.now_millis && !floor_millis_.compare_exchange_weak(floor, kept.now_millis)) {
  }
  MutexLock lock(&mutex_);
  removed_millis_ = std::max(removed_millis_, kept.removed_millis);
  if (!removals_.has_value()) removals_.emplace(kept.removed_millis, Clocks());
}

uint64_t ExpiryClock::NowMillis() {
  const uint64_t wall = clock_->UnixMicros() / 1000;
  uint64_t floor = floor_millis_.load(std::memory_order_relaxed);
  while (floor < wall) {
    if (floor_millis_.compare_exchange_weak(floor, wall, std::memory_order_relaxed)) return wall;
  }
  return floor;
}

// Before the first put that expires nothing can have been removed too early.
void ExpiryClock::StartRemovals() {
  if (removals_.has_value()) return;
  const RemovalTime::Clocks now = Clocks();
  removed_millis_ = now.wall_millis;
  removals_.emplace(now.wall_millis, now);
}

uint64_t ExpiryClock::RemovalMillis() {
  if (!in_use()) return 0;
  // Readers must not be behind.
  const uint64_t read = NowMillis();
  MutexLock lock(&mutex_);
  StartRemovals();
  removed_millis_ = std::max(removed_millis_, std::min(removals_->At(Clocks()), read));
  return removed_millis_;
}

ClockFloor ExpiryClock::Floor() {
  const uint64_t read = NowMillis();
  MutexLock lock(&mutex_);
  StartRemovals();
  return {.now_millis = std::max(read, removed_millis_), .removed_millis = removed_millis_};
}

}  // namespace sepal

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
  followed_millis_ = kept.now_millis;
  removed_millis_ = kept.removed_millis;
  removals_.emplace(kept.removed_millis, Clocks());
}

// Time goes back where the writer's did, which then accepted the wall clock.
void ExpiryClock::Follow(const ClockFloor& kept) {
  Use();
  MutexLock lock(&mutex_);
  uint64_t floor = floor_millis_.load(std::memory_order_relaxed);
  const bool goes_back = kept.now_millis < followed_millis_;
  while ((goes_back || floor < kept.now_millis) &&
         !floor_millis_.compare_exchange_weak(floor, kept.now_millis, std::memory_order_release)) {
  }
  followed_millis_ = kept.now_millis;
  removed_millis_ = kept.removed_millis;
  if (!removals_.has_value()) removals_.emplace(kept.removed_millis, Clocks());
}

// The wall clock is read after the floor: what it showed before Accept does not raise a floor that Accept lowered.
uint64_t ExpiryClock::NowMillis() {
  for (uint64_t floor = floor_millis_.load(std::memory_order_acquire);;) {
    const uint64_t wall = clock_->UnixMicros() / 1000;
    if (floor >= wall) return floor;
    if (floor_millis_.compare_exchange_weak(floor, wall, std::memory_order_acquire)) return wall;
  }
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

void ExpiryClock::Accept() {
  MutexLock lock(&mutex_);
  const RemovalTime::Clocks now = Clocks();
  StartRemovals();
  removals_->Accept(now);
  removed_millis_ = now.wall_millis;
  floor_millis_.store(now.wall_millis, std::memory_order_release);
}

ExpiryClock::Reading ExpiryClock::Read() {
  const uint64_t read = NowMillis();
  MutexLock lock(&mutex_);
  StartRemovals();
  const RemovalTime::Clocks now = Clocks();
  return {.wall_millis = now.wall_millis,
          .now_millis = read,
          .removal_millis = std::max(removed_millis_, std::min(removals_->At(now), read))};
}

ClockFloor ExpiryClock::Floor() {
  const uint64_t read = NowMillis();
  MutexLock lock(&mutex_);
  StartRemovals();
  return {.now_millis = std::max(read, removed_millis_), .removed_millis = removed_millis_};
}

}  // namespace sepal

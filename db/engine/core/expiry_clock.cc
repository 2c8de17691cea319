#include "db/engine/core/expiry_clock.h"

#include <algorithm>
#include <utility>

namespace sepal {

RemovalTime::Clocks ExpiryClock::Clocks() const {
  return {.wall_millis = clock_->UnixMicros() / 1000, .monotonic_millis = clock_->MonotonicMicros() / 1000};
}

void ExpiryClock::Restore(const ClockFloor& kept) {
  Use();
  floor_millis_.store(kept.now_millis, std::memory_order_relaxed);
  kept_millis_.store(kept.now_millis);
  MutexLock lock(&mutex_);
  followed_millis_ = kept.now_millis;
  removed_millis_ = kept.removed_millis;
  removals_.emplace(kept.removed_millis, Clocks());
}

// Time goes back only if the writer's did, which had accepted an earlier wall clock.
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

// Reads the wall clock after the floor, so that a time read before Accept cannot raise a floor that Accept lowered.
uint64_t ExpiryClock::Raise() {
  for (uint64_t floor = floor_millis_.load();;) {
    const uint64_t wall = clock_->UnixMicros() / 1000;
    if (floor >= wall) return floor;
    if (floor_millis_.compare_exchange_weak(floor, wall)) return wall;
  }
}

// A use raises the floor before it checks whether to ask; AskAgain sets the threshold before it looks at the floor. So
// one of the two notices the other.
void ExpiryClock::Ask() {
  if (ask_at_millis_.exchange(UINT64_MAX) != UINT64_MAX) ask_();
}

void ExpiryClock::AskAtUse(std::function<void()> ask) {
  ask_ = std::move(ask);
  kept_millis_.store(floor_millis_.load());
  AskAgain();
}

void ExpiryClock::AskAgain() {
  ask_at_millis_.store(kept_millis_.load() + 1);
  if (in_use() && Lags()) Ask();
}

void ExpiryClock::AskAfter(uint64_t millis) { ask_at_millis_.store(floor_millis_.load() + millis + 1); }

// If Accept has put the clock back, the threshold moves back with it.
void ExpiryClock::NoteKept(const ClockFloor& kept) {
  kept_millis_.store(kept.now_millis);
  bool put_back = false;
  for (uint64_t at = ask_at_millis_.load(); at != UINT64_MAX && at > kept.now_millis + 1 && !put_back;) {
    put_back = ask_at_millis_.compare_exchange_weak(at, kept.now_millis + 1);
  }
  if (put_back && Lags()) Ask();
}

// Nothing can have been removed too early before the first expiring put.
void ExpiryClock::StartRemovals() {
  if (removals_.has_value()) return;
  const RemovalTime::Clocks now = Clocks();
  removed_millis_ = now.wall_millis;
  removals_.emplace(now.wall_millis, now);
}

uint64_t ExpiryClock::RemovalMillis() {
  if (!in_use()) return 0;
  // Readers must not see an earlier time than removals do.
  const uint64_t read = Raise();
  uint64_t removed;
  {
    MutexLock lock(&mutex_);
    StartRemovals();
    removed = removed_millis_ = std::max(removed_millis_, std::min(LookAt(Clocks()), read));
  }
  TellDoubt();
  return removed;
}

// The caller may hold locks, so the end of a doubt is reported by the next look.
void ExpiryClock::Accept() {
  MutexLock lock(&mutex_);
  const RemovalTime::Clocks now = Clocks();
  StartRemovals();
  removals_->Accept(now);
  removed_millis_ = now.wall_millis;
  floor_millis_.store(now.wall_millis);
  LookAt(now);
}

ExpiryClock::Reading ExpiryClock::Read() {
  Reading reading{.now_millis = NowMillis()};
  {
    MutexLock lock(&mutex_);
    StartRemovals();
    const RemovalTime::Clocks now = Clocks();
    reading.wall_millis = now.wall_millis;
    reading.removal_millis = std::max(removed_millis_, std::min(LookAt(now), reading.now_millis));
  }
  TellDoubt();
  return reading;
}

bool ExpiryClock::LookAtWall() {
  bool in_doubt;
  {
    MutexLock lock(&mutex_);
    StartRemovals();
    LookAt(Clocks());
    in_doubt = doubt_.in_doubt;
  }
  TellDoubt();
  return in_doubt;
}

uint64_t ExpiryClock::LookAt(RemovalTime::Clocks now) {
  const uint64_t removal_millis = removals_->At(now);
  doubt_ = {removals_->doubts(), now.wall_millis, removal_millis};
  return removal_millis;
}

void ExpiryClock::TellDoubts(std::function<void(const Doubt&)> tell) { tell_ = std::move(tell); }

void ExpiryClock::TellDoubt() {
  if (!tell_) return;
  mutex_.Lock();
  while (!telling_ && told_doubt_ != doubt_.in_doubt) {
    const Doubt doubt = doubt_;
    telling_ = true;
    mutex_.Unlock();
    tell_(doubt);
    mutex_.Lock();
    telling_ = false;
    told_doubt_ = doubt.in_doubt;
  }
  mutex_.Unlock();
}

ClockFloor ExpiryClock::Floor() {
  const uint64_t read = Raise();
  MutexLock lock(&mutex_);
  StartRemovals();
  return {.now_millis = std::max(read, removed_millis_), .removed_millis = removed_millis_};
}

}  // namespace sepal

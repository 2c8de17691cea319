#include "db/engine/core/time_marks.h"

#include <algorithm>
#include <utility>

namespace sepal {

RemovalTime::Clocks TimeMarkList::Clocks() const {
  return {.wall_millis = clock_->UnixMicros() / 1000, .monotonic_millis = clock_->MonotonicMicros() / 1000};
}

void TimeMarkList::Restore(const std::vector<TimeMark>& marks) {
  if (marks.empty()) return;
  const RemovalTime::Clocks now = Clocks();
  MutexLock lock(&mutex_);
  marks_.insert(marks_.end(), marks.begin(), marks.end());
  passed_.emplace(marks_.back().unix_millis, now);
  due_millis_.store(marks_.back().unix_millis + kPeriodMillis, std::memory_order_relaxed);
}

// It is in no row, so that it puts off no mark that is to be in one.
void TimeMarkList::Begin(SequenceNumber visible) {
  const RemovalTime::Clocks now = Clocks();
  MutexLock lock(&mutex_);
  in_use_.store(true, std::memory_order_relaxed);
  if (!marks_.empty()) return;
  marks_.push_back({now.wall_millis, visible});
  passed_.emplace(now.wall_millis, now);
}

std::optional<TimeMark> TimeMarkList::Due(SequenceNumber visible) {
  const uint64_t now = clock_->UnixMicros() / 1000;
  if (now < due_millis_.load(std::memory_order_relaxed)) return std::nullopt;
  MutexLock lock(&mutex_);
  return TimeMark{marks_.empty() ? now : std::max(now, marks_.back().unix_millis), visible};
}

void TimeMarkList::Add(const TimeMark& mark) {
  const RemovalTime::Clocks now = Clocks();
  MutexLock lock(&mutex_);
  marks_.push_back(mark);
  if (!passed_.has_value()) passed_.emplace(mark.unix_millis, now);
  due_millis_.store(mark.unix_millis + kPeriodMillis, std::memory_order_relaxed);
}

std::optional<SequenceNumber> TimeMarkList::SequenceAsOf(uint64_t unix_millis, SequenceNumber visible) const {
  MutexLock lock(&mutex_);
  return sepal::SequenceAsOf(marks_, kPeriodMillis, unix_millis, visible);
}

std::optional<uint64_t> TimeMarkList::OldestTime(SequenceNumber floor) const {
  MutexLock lock(&mutex_);
  return sepal::OldestTime(marks_, kPeriodMillis, floor);
}

std::optional<uint64_t> TimeMarkList::TimeOfUpdate(SequenceNumber sequence) const {
  MutexLock lock(&mutex_);
  return sepal::TimeOfUpdate(marks_, sequence);
}

SequenceNumber TimeMarkList::FloorOf(uint64_t history_millis, SequenceNumber visible) {
  const RemovalTime::Clocks now = Clocks();
  MutexLock lock(&mutex_);
  if (!passed_.has_value()) return SequenceNumber(0);
  const uint64_t passed = passed_->At(now);
  if (passed <= history_millis) return SequenceNumber(0);
  return sepal::SequenceAsOf(marks_, kPeriodMillis, passed - history_millis, visible).value_or(SequenceNumber(0));
}

size_t TimeMarkList::count() const {
  MutexLock lock(&mutex_);
  return marks_.size();
}

SequenceNumber TimeMarkList::newest() const {
  MutexLock lock(&mutex_);
  return marks_.empty() ? SequenceNumber(0) : marks_.back().sequence;
}

void TimeMarkList::Forget(SequenceNumber floor) {
  MutexLock lock(&mutex_);
  auto end =
      std::partition_point(marks_.begin(), marks_.end(), [&](const TimeMark& mark) { return mark.sequence < floor; });
  const bool keeps_last = continued_ || in_use_.load(std::memory_order_relaxed);
  if (end == marks_.end() && end != marks_.begin() && keeps_last) --end;
  forgotten_.insert(forgotten_.end(), marks_.begin(), end);
  marks_.erase(marks_.begin(), end);
}

std::vector<TimeMark> TimeMarkList::Forgotten() const {
  constexpr size_t kMostAtATime = 64;
  MutexLock lock(&mutex_);
  return {forgotten_.begin(), forgotten_.begin() + static_cast<ptrdiff_t>(std::min(kMostAtATime, forgotten_.size()))};
}

void TimeMarkList::DropForgotten(size_t count) {
  MutexLock lock(&mutex_);
  forgotten_.erase(forgotten_.begin(), forgotten_.begin() + static_cast<ptrdiff_t>(count));
}

void TimeMarkList::AcceptClock() {
  const RemovalTime::Clocks now = Clocks();
  MutexLock lock(&mutex_);
  if (passed_.has_value()) passed_->Accept(now);
}

}  // namespace sepal

#include "db/engine/core/time_marks.h"

#include <algorithm>
#include <utility>

namespace sepal {

namespace {

// How far ahead the wall clock may run; a history may lose that much by it.
uint64_t MostAhead(uint64_t history_millis) { return std::min(RemovalTime::kMostAheadMillis, history_millis / 8); }

}  // namespace

void TimeMarkList::Want(uint64_t history_millis) {
  uint64_t shortest = shortest_millis_.load();
  while (history_millis < shortest && !shortest_millis_.compare_exchange_weak(shortest, history_millis)) {
  }
}

RemovalTime::Clocks TimeMarkList::Clocks() const {
  return {.wall_millis = clock_->UnixMicros() / 1000, .monotonic_millis = clock_->MonotonicMicros() / 1000};
}

void TimeMarkList::Restore(const std::vector<TimeMarkRow>& rows, SequenceNumber begun) {
  MutexLock lock(&mutex_);
  const RemovalTime::Clocks now = Clocks();
  for (const TimeMarkRow& row : rows) marks_.push_back(row.mark);
  const auto first = std::find_if(marks_.begin(), marks_.end(), [&](const TimeMark& m) { return m.sequence >= begun; });
  forgotten_.insert(forgotten_.end(), marks_.begin(), first);
  marks_.erase(marks_.begin(), first);
  if (rows.empty() || marks_.empty()) return;
  // A mark may have been put back to an accepted clock while its row was not.
  uint64_t latest = UINT64_MAX;
  for (auto mark = marks_.rbegin(); mark != marks_.rend(); ++mark) {
    latest = mark->unix_millis = std::min(mark->unix_millis, latest);
  }
  passed_.emplace(rows.back().passed_millis, now);
  due_millis_.store(marks_.back().unix_millis + kPeriodMillis, std::memory_order_relaxed);
}

// This mark is in no row, so it must not delay the next mark that gets one.
void TimeMarkList::Begin(SequenceNumber visible) {
  MutexLock lock(&mutex_);
  const RemovalTime::Clocks now = Clocks();
  in_use_.store(true, std::memory_order_relaxed);
  if (!marks_.empty()) return;
  marks_.push_back({now.wall_millis, visible});
  passed_.emplace(now.wall_millis, now);
}

std::optional<TimeMarkRow> TimeMarkList::Due(SequenceNumber visible) {
  if (clock_->UnixMicros() / 1000 < due_millis_.load(std::memory_order_relaxed)) return std::nullopt;
  MutexLock lock(&mutex_);
  const RemovalTime::Clocks now = Clocks();
  const uint64_t time = marks_.empty() ? now.wall_millis : std::max(now.wall_millis, marks_.back().unix_millis);
  return TimeMarkRow{{time, visible},
                     passed_.has_value() ? passed_->Within(MostAhead(shortest_millis_.load()), now) : now.wall_millis};
}

void TimeMarkList::Add(const TimeMark& mark) {
  MutexLock lock(&mutex_);
  const RemovalTime::Clocks now = Clocks();
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
  MutexLock lock(&mutex_);
  const RemovalTime::Clocks now = Clocks();
  if (!passed_.has_value()) return SequenceNumber(0);
  const uint64_t passed = passed_->Within(MostAhead(history_millis), now);
  if (passed <= history_millis) return SequenceNumber(0);
  return sepal::SequenceAsOf(marks_, kPeriodMillis, passed - history_millis, visible).value_or(SequenceNumber(0));
}

size_t TimeMarkList::count() const {
  MutexLock lock(&mutex_);
  return marks_.size();
}

TimeMarkList::ClockTrouble TimeMarkList::trouble() const {
  const uint64_t now = clock_->UnixMicros() / 1000;
  MutexLock lock(&mutex_);
  const uint64_t newest = marks_.empty() ? 0 : marks_.back().unix_millis;
  return {.behind_millis = newest > now ? newest - now : 0, .doubted = passed_.has_value() && passed_->doubts()};
}

SequenceNumber TimeMarkList::newest() const {
  MutexLock lock(&mutex_);
  return marks_.empty() ? SequenceNumber(0) : marks_.back().sequence;
}

void TimeMarkList::Forget(SequenceNumber floor) {
  MutexLock lock(&mutex_);
  auto end =
      std::partition_point(marks_.begin(), marks_.end(), [&](const TimeMark& mark) { return mark.sequence < floor; });
  if (end != marks_.begin()) --end;
  for (auto mark = marks_.begin(); mark != end; ++mark) {
    // The mark of Begin may share its number with the first row's mark, whose row must stay.
    if (mark + 1 == marks_.end() || (mark + 1)->sequence != mark->sequence) forgotten_.push_back(*mark);
  }
  marks_.erase(marks_.begin(), end);
}

std::vector<TimeMark> TimeMarkList::Forgotten() const {
  constexpr size_t kMostAtATime = 64;
  MutexLock lock(&mutex_);
  return {forgotten_.begin(), forgotten_.begin() + static_cast<ptrdiff_t>(std::min(kMostAtATime, forgotten_.size()))};
}

void TimeMarkList::DropForgotten(size_t count) {
  MutexLock lock(&mutex_);
  const auto end = forgotten_.begin() + static_cast<ptrdiff_t>(std::min(count, forgotten_.size()));
  forgotten_.erase(forgotten_.begin(), end);
}

// Putting a mark back does not make it too early: what it records as visible is visible by now. The newest mark's row
// is written in any case, to record the time that has passed.
std::vector<TimeMarkRow> TimeMarkList::AcceptClock() {
  std::vector<TimeMarkRow> changed;
  MutexLock lock(&mutex_);
  const RemovalTime::Clocks now = Clocks();
  if (passed_.has_value()) passed_->Accept(now);
  for (TimeMark& mark : marks_) {
    if (mark.unix_millis <= now.wall_millis) continue;
    mark.unix_millis = now.wall_millis;
    changed.push_back({mark, now.wall_millis});
  }
  if (!changed.empty()) {
    due_millis_.store(now.wall_millis + kPeriodMillis, std::memory_order_relaxed);
  } else if (!marks_.empty()) {
    changed.push_back({marks_.back(), now.wall_millis});
  }
  return changed;
}

}  // namespace sepal

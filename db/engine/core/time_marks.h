// The marks of an open database (db/decide/visibility/time_marks.h), and how far back families are kept by them.
//
// A mark is never before an older mark's time: where the wall clock goes back, time stands until it has caught up, or
// is accepted. What a family has kept is given up only as far as that time has passed for certain
// (db/decide/visibility/removal_time.h): a wall clock that jumps ahead costs an eighth of a history at most, and an
// hour at most, until it has kept pace for ten minutes. Rows keep how far that was, for the next opening.
//
// Memory: 16 bytes for each mark, of which a second has one in which something is written, as far back as the family
// goes that keeps most.
//
// Safe for concurrent use.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "db/decide/visibility/removal_time.h"
#include "db/decide/visibility/time_marks.h"
#include "sepal/env.h"
#include "util/thread/sync.h"

namespace sepal {

class TimeMarkList {
 public:
  static constexpr uint64_t kPeriodMillis = 1000;

  explicit TimeMarkList(Clock* clock) : clock_(clock) {}
  TimeMarkList(const TimeMarkList&) = delete;
  TimeMarkList& operator=(const TimeMarkList&) = delete;

  // Whether any family keeps its history, so that marks are made; for good.
  bool in_use() const { return in_use_.load(std::memory_order_relaxed); }
  // From now on they are, and the database has a place for them. Where there are none, nothing but what is visible has
  // been written until now.
  void Begin(SequenceNumber visible);

  // What the database has beyond what is here, ascending. Marks below `begun` are of an earlier history; between them
  // and those from there on things may have been written without marks.
  void Restore(const std::vector<TimeMarkRow>& rows, SequenceNumber begun);
  // The mark that is to be made before anything above `visible` is written; none: the newest is not older than the
  // period. Once it is logged, it is to be added. One thread at a time.
  std::optional<TimeMarkRow> Due(SequenceNumber visible);
  void Add(const TimeMark& mark);

  // As the functions of that name.
  std::optional<SequenceNumber> SequenceAsOf(uint64_t unix_millis, SequenceNumber visible) const;
  std::optional<uint64_t> OldestTime(SequenceNumber floor) const;
  std::optional<uint64_t> TimeOfUpdate(SequenceNumber sequence) const;
  // The number below which a family need not be read that is kept for so long; at most `visible`.
  SequenceNumber FloorOf(uint64_t history_millis, SequenceNumber visible);
  size_t count() const;
  SequenceNumber newest() const;
  // Why histories are given up more slowly than they should be, if they are.
  struct ClockTrouble {
    uint64_t behind_millis = 0;  // the wall clock is so far behind the newest mark
    bool doubted = false;        // it runs ahead of the time that has passed for certain
  };
  ClockTrouble trouble() const;
  // Notes that a family keeps its history for so long.
  void Want(uint64_t history_millis);
  // Whether any does, or has since the opening, which begins with marks then.
  bool wanted() const { return shortest_millis_.load() != UINT64_MAX; }
  // Forgets marks below `floor`, which no reader needs, but for the last: until the next one nothing was written.
  void Forget(SequenceNumber floor);
  // The oldest of those that were forgotten, whose rows are to go: a row that stays behind one that is gone would tell
  // a wrong moment. Once that is logged, they are to be dropped here.
  std::vector<TimeMark> Forgotten() const;
  void DropForgotten(size_t count = SIZE_MAX);

  // The wall clock is right. Marks that are ahead of it come back to it; their rows are to be written again, in order.
  // No other thread may be in Due or between Due and Add.
  std::vector<TimeMarkRow> AcceptClock();

 private:
  RemovalTime::Clocks Clocks() const;

  Clock* const clock_;
  std::atomic<uint64_t> shortest_millis_{UINT64_MAX};  // of the histories that were wanted
  std::atomic<bool> in_use_{false};
  std::atomic<uint64_t> due_millis_{0};  // by the wall clock
  mutable Mutex mutex_;
  std::vector<TimeMark> marks_ ABSL_GUARDED_BY(mutex_);
  std::vector<TimeMark> forgotten_ ABSL_GUARDED_BY(mutex_);
  std::optional<RemovalTime> passed_ ABSL_GUARDED_BY(mutex_);  // none: there was no mark so far
};

}  // namespace sepal

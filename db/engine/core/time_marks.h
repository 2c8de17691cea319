// The time marks of an open database (db/decide/visibility/time_marks.h), and how far back families are kept by them.
//
// Marks' times never decrease: when the wall clock goes back, new marks repeat the latest time until the clock has
// caught up or is accepted. History is given up only as far as time has certainly passed
// (db/decide/visibility/removal_time.h): a wall clock that jumps ahead costs at most an eighth of a history, and at
// most an hour, until it has kept pace for ten minutes. Rows record how far that was, for the next opening.
//
// Memory: 16 bytes for each mark; there is one for each second with a write, as far back as the longest history.
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

  // Whether any family keeps its history, so that marks are made. Never unset.
  bool in_use() const { return in_use_.load(std::memory_order_relaxed); }
  // Starts the marks. If there are none yet, every update so far is visible.
  void Begin(SequenceNumber visible);

  // Adds the rows of the database, ascending. Marks below `begun` belong to an earlier history; between them and the
  // later ones, updates may have been written without marks.
  void Restore(const std::vector<TimeMarkRow>& rows, SequenceNumber begun);
  // Returns the mark that must be made before anything above `visible` is written, or nothing if the newest is younger
  // than the period. The caller adds it once it is logged. One thread at a time.
  std::optional<TimeMarkRow> Due(SequenceNumber visible);
  void Add(const TimeMark& mark);

  // As the functions of that name in db/decide/visibility/time_marks.h.
  std::optional<SequenceNumber> SequenceAsOf(uint64_t unix_millis, SequenceNumber visible) const;
  std::optional<uint64_t> OldestTime(SequenceNumber floor) const;
  std::optional<uint64_t> TimeOfUpdate(SequenceNumber sequence) const;
  // Returns the floor of a family with that history, at most `visible`.
  SequenceNumber FloorOf(uint64_t history_millis, SequenceNumber visible);
  size_t count() const;
  SequenceNumber newest() const;
  // Why histories are given up later than they should be.
  struct ClockTrouble {
    uint64_t behind_millis = 0;  // how far the wall clock is behind the newest mark
    bool doubted = false;        // it runs ahead of the time that has certainly passed
  };
  ClockTrouble trouble() const;
  // Notes that a family keeps its history for that long.
  void Want(uint64_t history_millis);
  // Returns whether any family does, or did since the database was opened; then marks begin at the opening.
  bool wanted() const { return shortest_millis_.load() != UINT64_MAX; }
  // Forgets the marks below `floor`, except for the last of them: nothing was written between it and the next mark.
  void Forget(SequenceNumber floor);
  // Returns the oldest forgotten marks, whose rows must be deleted in this order: a row that remained after the
  // deletion of a later one would give wrong times. The caller calls DropForgotten once the deletion is logged.
  std::vector<TimeMark> Forgotten() const;
  void DropForgotten(size_t count = SIZE_MAX);

  // Accepts the wall clock. Marks ahead of it are put back to it; returns their rows, to be written again in order. No
  // other thread may be in Due, or between Due and Add.
  std::vector<TimeMarkRow> AcceptClock();

 private:
  RemovalTime::Clocks Clocks() const;

  Clock* const clock_;
  std::atomic<uint64_t> shortest_millis_{UINT64_MAX};  // the shortest history that was wanted
  std::atomic<bool> in_use_{false};
  std::atomic<uint64_t> due_millis_{0};  // by the wall clock
  mutable Mutex mutex_;
  std::vector<TimeMark> marks_ ABSL_GUARDED_BY(mutex_);
  std::vector<TimeMark> forgotten_ ABSL_GUARDED_BY(mutex_);
  std::optional<RemovalTime> passed_ ABSL_GUARDED_BY(mutex_);  // unset until there is a mark
};

}  // namespace sepal

// How far back one family can be read.
//
// Law: a job drops only versions that no reader at or above the floor sees, and raises the floor before it reads the
// list of snapshots; the moment of a reader of the past is listed (Hold) only if it is not below the floor, and no
// floor is raised meanwhile. So either the job keeps the versions that the reader sees, or the reader is refused, and
// no moment is listed of which a version may have been dropped.
//
// Safe for concurrent use.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "db/engine/core/time_marks.h"
#include "db/format/version_edit.h"
#include "util/base/numbers.h"
#include "util/thread/sync.h"

namespace sepal {

class FamilyHistory {
 public:
  // `marks` must outlive this; if null, no history is ever given up.
  FamilyHistory(const FamilySchema& schema, TimeMarkList* marks)
      : marks_(marks),
        millis_(schema.history_millis),
        begun_(schema.history_begun.value()),
        floor_(schema.history_floor.value()) {
    if (marks_ != nullptr && schema.history_millis > 0) marks_->Want(schema.history_millis);
  }

  uint64_t millis() const { return millis_.load(std::memory_order_relaxed); }
  bool on() const { return millis() > 0; }
  // The sequence number at which the history began; time marks exist from there on.
  SequenceNumber begun() const { return SequenceNumber(begun_.load(std::memory_order_relaxed)); }
  // The lowest sequence number as of which the family can be read.
  SequenceNumber floor() const { return SequenceNumber(floor_.load(std::memory_order_seq_cst)); }
  // Returns the number to which the next job may raise the floor, or `last` for a family without history.
  SequenceNumber Due(SequenceNumber last) const {
    if (!on()) return last;
    const SequenceNumber due = marks_ != nullptr ? marks_->FloorOf(millis(), last) : SequenceNumber(0);
    return std::min(std::max(floor(), due), last);
  }
  // Called by a job before it reads the list of snapshots: raises the floor to what is due. Returns the same as Limit.
  SequenceNumber GiveUp(SequenceNumber last) {
    if (!on()) return last;
    MutexLock lock(&raising_);
    const SequenceNumber due = Due(last);
    if (due > floor()) floor_.store(due.value(), std::memory_order_seq_cst);
    return due;
  }
  // Calls `list` if the family can be read as of the moment; returns false if it cannot.
  template <class List>
  bool Hold(SequenceNumber moment, List list) const {
    MutexLock lock(&raising_);
    if (moment < floor()) return false;
    list();
    return true;
  }
  // Returns the lowest sequence number, at most `last`, as of which a reader without a snapshot may still read.
  SequenceNumber Limit(SequenceNumber last) const { return on() ? std::min(floor(), last) : last; }
  // Adopts the latest record of a manifest that another process writes.
  void Follow(const FamilySchema& schema) {
    begun_.store(schema.history_begun.value(), std::memory_order_relaxed);
    floor_.store(schema.history_floor.value(), std::memory_order_seq_cst);
    millis_.store(schema.history_millis, std::memory_order_relaxed);
  }

 private:
  TimeMarkList* const marks_;
  mutable Mutex raising_;
  std::atomic<uint64_t> millis_;
  std::atomic<uint64_t> begun_;
  std::atomic<uint64_t> floor_;
};

}  // namespace sepal

// How far back one family can be read.
//
// Law: a job drops what only readers below the floor see, and raises the floor before it reads which snapshots there
// are; a reader of the past has its moment listed (Hold) only if it is not below the floor then, and no floor is raised
// meanwhile. So either the job keeps what the reader sees, or the reader is refused, and no moment is ever listed of
// which something may have been dropped.
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
  // `marks` must outlive it; null: nothing is ever given up.
  FamilyHistory(const FamilySchema& schema, TimeMarkList* marks)
      : marks_(marks),
        millis_(schema.history_millis),
        begun_(schema.history_begun.value()),
        floor_(schema.history_floor.value()) {
    if (marks_ != nullptr && schema.history_millis > 0) marks_->Want(schema.history_millis);
  }

  uint64_t millis() const { return millis_.load(std::memory_order_relaxed); }
  bool on() const { return millis() > 0; }
  // Where it began: since then there are time marks.
  SequenceNumber begun() const { return SequenceNumber(begun_.load(std::memory_order_relaxed)); }
  // As of any number from here on, the family can be read.
  SequenceNumber floor() const { return SequenceNumber(floor_.load(std::memory_order_seq_cst)); }
  // Below which no reader of the past can stand any more, or to which the next job may raise the floor; of a family
  // without history, `last`.
  SequenceNumber Due(SequenceNumber last) const {
    if (!on()) return last;
    const SequenceNumber due = marks_ != nullptr ? marks_->FloorOf(millis(), last) : SequenceNumber(0);
    return std::min(std::max(floor(), due), last);
  }
  // For a job that begins, before it reads which snapshots there are: gives up what is due. Returns what Limit does.
  SequenceNumber GiveUp(SequenceNumber last) {
    if (!on()) return last;
    MutexLock lock(&raising_);
    const SequenceNumber due = Due(last);
    Raise(due);
    return due;
  }
  // Calls `list` if the family can be read as of the moment; false: it cannot.
  template <class List>
  bool Hold(SequenceNumber moment, List list) const {
    MutexLock lock(&raising_);
    if (moment < floor()) return false;
    list();
    return true;
  }
  // Of the family's updates up to `last`, readers to come stand at the result or above, but for those of snapshots.
  SequenceNumber Limit(SequenceNumber last) const { return on() ? std::min(floor(), last) : last; }
  // What the manifest of a database that another process writes says by now.
  void Follow(const FamilySchema& schema) {
    begun_.store(schema.history_begun.value(), std::memory_order_relaxed);
    floor_.store(schema.history_floor.value(), std::memory_order_seq_cst);
    millis_.store(schema.history_millis, std::memory_order_relaxed);
  }

 private:
  void Raise(SequenceNumber to) {
    uint64_t floor = floor_.load(std::memory_order_relaxed);
    while (floor < to.value() && !floor_.compare_exchange_weak(floor, to.value(), std::memory_order_seq_cst)) {
    }
  }

  TimeMarkList* const marks_;
  mutable Mutex raising_;
  std::atomic<uint64_t> millis_;
  std::atomic<uint64_t> begun_;
  std::atomic<uint64_t> floor_;
};

}  // namespace sepal

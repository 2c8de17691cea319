// Reports the progress of a CompactRange to the caller's function (CompactRangeOptions::progress).
//
// The steps of one call follow one another (`BeginPlan` from its thread); within a step several threads count, and one
// at a time reports. Takes no lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "sepal/env.h"
#include "sepal/options.h"

namespace sepal {

class RangeProgress {
 public:
  // `total_bytes` is a first estimate.
  RangeProgress(const std::function<bool(const CompactionProgress&)>& tell, uint64_t total_bytes, Clock* clock);

  bool wanted() const { return tell_ != nullptr; }
  // Begins a step of so many bytes and entries; the previous step is done.
  void BeginPlan(uint64_t bytes, uint64_t entries);
  // Counts entries that a thread has processed.
  void Count(uint64_t entries) { entries_done_.fetch_add(entries, std::memory_order_relaxed); }
  // Returns whether it is time to report and no other thread is reporting; if so, `Tell` must follow.
  bool TakesTelling();
  // Returns false if the call must end, and from then on always.
  bool Tell();
  // Reports that everything is done.
  bool TellEnd();
  bool ended() const { return ended_.load(std::memory_order_relaxed); }

 private:
  uint64_t BytesDone() const;
  bool TellOf(uint64_t bytes_done, uint64_t bytes_total);

  const std::function<bool(const CompactionProgress&)>& tell_;
  Clock* const clock_;
  const uint64_t began_micros_;
  // These change only between steps.
  uint64_t total_bytes_;
  uint64_t earlier_bytes_ = 0;
  uint64_t plan_bytes_ = 0;
  uint64_t plan_entries_ = 0;

  std::atomic<uint64_t> entries_done_{0};
  std::atomic<uint64_t> next_telling_bytes_{0};
  std::atomic<bool> telling_{false};
  std::atomic<bool> ended_{false};
};

}  // namespace sepal

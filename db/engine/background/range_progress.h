// How far a CompactRange is, told to the function that its caller gave (CompactRangeOptions::progress).
//
// One call's steps follow one another (`BeginPlan` from its thread); within a step several threads count, and one of
// them at a time tells. Takes no lock.
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
  // A step of so many bytes and entries begins; those of the last one are done.
  void BeginPlan(uint64_t bytes, uint64_t entries);
  // A thread went through so many entries.
  void Count(uint64_t entries) { entries_done_.fetch_add(entries, std::memory_order_relaxed); }
  // Whether it is time to tell, and nobody else is about to; then `Tell` must follow.
  bool TakesTelling();
  // False: end the call. Asked again, the answer stays.
  bool Tell();
  // All is done.
  bool TellEnd();
  bool ended() const { return ended_.load(std::memory_order_relaxed); }

 private:
  uint64_t BytesDone() const;
  bool TellOf(uint64_t bytes_done, uint64_t bytes_total);

  const std::function<bool(const CompactionProgress&)>& tell_;
  Clock* const clock_;
  const uint64_t began_micros_;
  // Change between steps only.
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

#include "db/engine/background/range_progress.h"

#include <algorithm>

namespace sepal {

namespace {
constexpr uint64_t kMostBytesBetween = uint64_t{16} << 20;
}  // namespace

RangeProgress::RangeProgress(const std::function<bool(const CompactionProgress&)>& tell, uint64_t total_bytes,
                             Clock* clock)
    : tell_(tell), clock_(clock), began_micros_(clock->MonotonicMicros()), total_bytes_(total_bytes) {}

void RangeProgress::BeginPlan(uint64_t bytes, uint64_t entries) {
  earlier_bytes_ += plan_bytes_;
  plan_bytes_ = bytes;
  plan_entries_ = entries;
  entries_done_.store(0, std::memory_order_relaxed);
  total_bytes_ = std::max(total_bytes_, earlier_bytes_ + plan_bytes_);
}

uint64_t RangeProgress::BytesDone() const {
  if (plan_entries_ == 0) return earlier_bytes_;
  const double share =
      static_cast<double>(entries_done_.load(std::memory_order_relaxed)) / static_cast<double>(plan_entries_);
  return earlier_bytes_ + static_cast<uint64_t>(std::min(share, 1.0) * static_cast<double>(plan_bytes_));
}

bool RangeProgress::TakesTelling() {
  return wanted() && BytesDone() >= next_telling_bytes_.load(std::memory_order_relaxed) &&
         !telling_.exchange(true, std::memory_order_acquire);
}

bool RangeProgress::Tell() {
  const uint64_t done = BytesDone();
  next_telling_bytes_.store(done + std::min(total_bytes_ / 1000, kMostBytesBetween), std::memory_order_relaxed);
  const bool goes_on = TellOf(done, total_bytes_);
  telling_.store(false, std::memory_order_release);
  return goes_on;
}

bool RangeProgress::TellEnd() {
  earlier_bytes_ += plan_bytes_;
  plan_bytes_ = plan_entries_ = 0;
  return TellOf(earlier_bytes_, earlier_bytes_);
}

bool RangeProgress::TellOf(uint64_t bytes_done, uint64_t bytes_total) {
  if (!wanted() || ended()) return !ended();
  CompactionProgress progress{.bytes_done = bytes_done, .bytes_total = bytes_total};
  const uint64_t elapsed_micros = clock_->MonotonicMicros() - began_micros_;
  if (bytes_done == bytes_total) {
    progress.seconds_left = 0;
  } else if (bytes_done > 0) {
    progress.seconds_left = static_cast<double>(elapsed_micros) / 1e6 * static_cast<double>(bytes_total - bytes_done) /
                            static_cast<double>(bytes_done);
  }
  if (!tell_(progress)) ended_.store(true, std::memory_order_relaxed);
  return !ended();
}

}  // namespace sepal

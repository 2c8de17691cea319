// A histogram of latencies in nanoseconds: logarithmic buckets of 32 to the octave, so that a percentile is right to
// about 3 %. Adding costs a few nanoseconds. Not safe for concurrent use: each thread has its own, merged at the end.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <vector>

namespace sepal::tools {

class LatencyHistogram {
 public:
  LatencyHistogram() : counts_(kBuckets, 0) {}

  void Add(uint64_t nanos) {
    ++counts_[Bucket(nanos)];
    ++count_;
    sum_ += nanos;
    if (nanos < minimum_) minimum_ = nanos;
    if (nanos > maximum_) maximum_ = nanos;
  }
  void Merge(const LatencyHistogram& other);

  uint64_t count() const { return count_; }
  double MeanNanos() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_); }
  uint64_t MinimumNanos() const { return count_ == 0 ? 0 : minimum_; }
  uint64_t MaximumNanos() const { return maximum_; }
  // `percentile` in [0, 100]; 0 when nothing was added.
  double PercentileNanos(double percentile) const;
  // Count, mean, extremes and percentiles, in microseconds, on lines of their own.
  std::string ToString() const;

 private:
  static constexpr int kSubBits = 5;
  static constexpr size_t kBuckets = size_t{64 - kSubBits + 1} << kSubBits;

  static size_t Bucket(uint64_t nanos) {
    if (nanos < (uint64_t{1} << kSubBits)) return nanos;
    const int shift = std::bit_width(nanos) - 1 - kSubBits;
    return (static_cast<size_t>(shift + 1) << kSubBits) + ((nanos >> shift) & ((1u << kSubBits) - 1));
  }
  static uint64_t LowerBound(size_t bucket);

  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t minimum_ = UINT64_MAX;
  uint64_t maximum_ = 0;
};

// Nanoseconds of the monotonic clock.
uint64_t NowNanos();

}  // namespace sepal::tools

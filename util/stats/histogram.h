// A histogram of latencies, or of any whole numbers, that always takes 9 KiB.
//
// Buckets are linear within each power of two (as in HdrHistogram by G. Tene): numbers below 64 have a bucket each, and
// above that 32 buckets share each doubling, so that a percentile is off by at most 1/32 of its value. Count, sum,
// minimum and maximum are exact. Numbers from 2^40 on are counted in the last bucket.
//
// Not safe for concurrent use; each thread fills its own histogram, and these are merged.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

#include "sepal/statistics.h"

namespace sepal {

class LatencyHistogram {
 public:
  static constexpr int kSubBucketBits = 5;
  static constexpr int kValueBits = 40;
  static constexpr size_t kBuckets = size_t{kValueBits - kSubBucketBits + 1} << kSubBucketBits;

  // The bucket of `value`; and the range of a bucket, from BucketLow(b) up to but not including BucketLow(b + 1).
  static constexpr size_t BucketOf(uint64_t value) {
    if (value < (1 << (kSubBucketBits + 1))) return static_cast<size_t>(value);
    const int shift = std::bit_width(value) - (kSubBucketBits + 1);
    return std::min(kBuckets - 1, (static_cast<size_t>(shift) << kSubBucketBits) + static_cast<size_t>(value >> shift));
  }
  static constexpr uint64_t BucketLow(size_t bucket) {
    if (bucket < (size_t{1} << (kSubBucketBits + 1))) return bucket;
    const size_t shift = (bucket >> kSubBucketBits) - 1;
    return static_cast<uint64_t>(bucket - (shift << kSubBucketBits)) << shift;
  }

  void Add(uint64_t value) {
    ++buckets_[BucketOf(value)];
    ++count_;
    sum_ += value;
    minimum_ = std::min(minimum_, value);
    maximum_ = std::max(maximum_, value);
  }
  void Merge(const LatencyHistogram& other);
  // Takes over numbers that were counted elsewhere: `count` for each bucket, and the sum and the extremes of all of
  // them.
  void AddToBucket(size_t bucket, uint64_t count);
  void AddMoments(uint64_t sum, uint64_t minimum, uint64_t maximum);
  void Clear() { *this = LatencyHistogram(); }

  uint64_t count() const { return count_; }
  uint64_t sum() const { return sum_; }
  // 0 if nothing was added.
  uint64_t minimum() const { return count_ == 0 ? 0 : minimum_; }
  uint64_t maximum() const { return maximum_; }
  double Average() const { return count_ == 0 ? 0 : static_cast<double>(sum_) / static_cast<double>(count_); }
  // The number that `percent` of the added numbers do not exceed; 0 if nothing was added.
  double Percentile(double percent) const;
  HistogramSummary Summary() const;

  // Prints count, average, extremes and percentiles, and a line with a bar for each doubling that has numbers.
  std::string ToString() const;

 private:
  std::array<uint64_t, kBuckets> buckets_ = {};
  uint64_t count_ = 0;
  uint64_t sum_ = 0;
  uint64_t minimum_ = UINT64_MAX;
  uint64_t maximum_ = 0;
};

}  // namespace sepal

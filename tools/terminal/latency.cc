#include "tools/terminal/latency.h"

#include <time.h>

#include <algorithm>

#include "absl/strings/str_format.h"

namespace sepal::tools {

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  for (size_t i = 0; i < kBuckets; ++i) counts_[i] += other.counts_[i];
  count_ += other.count_;
  sum_ += other.sum_;
  minimum_ = std::min(minimum_, other.minimum_);
  maximum_ = std::max(maximum_, other.maximum_);
}

uint64_t LatencyHistogram::LowerBound(size_t bucket) {
  if (bucket < (size_t{1} << kSubBits)) return bucket;
  const int shift = static_cast<int>(bucket >> kSubBits) - 1;
  const uint64_t mantissa = (uint64_t{1} << kSubBits) | (bucket & ((1u << kSubBits) - 1));
  return mantissa << shift;
}

double LatencyHistogram::PercentileNanos(double percentile) const {
  if (count_ == 0) return 0;
  if (percentile >= 100) return static_cast<double>(maximum_);
  const double wanted = static_cast<double>(count_) * percentile / 100;
  double seen = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    if (counts_[i] == 0) continue;
    const double here = static_cast<double>(counts_[i]);
    if (seen + here >= wanted) {
      const double low = static_cast<double>(LowerBound(i));
      const double high = i + 1 < kBuckets ? static_cast<double>(LowerBound(i + 1)) : low;
      const double value = low + (high - low) * std::max(0.0, wanted - seen) / here;
      return std::clamp(value, static_cast<double>(minimum_), static_cast<double>(maximum_));
    }
    seen += here;
  }
  return static_cast<double>(maximum_);
}

std::string LatencyHistogram::ToString() const {
  const auto micros = [](double nanos) { return nanos / 1000; };
  std::string text = absl::StrFormat("Microseconds per op:\nCount: %d Average: %.4f\n", count_, micros(MeanNanos()));
  absl::StrAppendFormat(&text, "Min: %.4f Median: %.4f Max: %.4f\n", micros(static_cast<double>(MinimumNanos())),
                        micros(PercentileNanos(50)), micros(static_cast<double>(maximum_)));
  absl::StrAppendFormat(&text, "Percentiles: P50: %.2f P75: %.2f P99: %.2f P99.9: %.2f P99.99: %.2f\n",
                        micros(PercentileNanos(50)), micros(PercentileNanos(75)), micros(PercentileNanos(99)),
                        micros(PercentileNanos(99.9)), micros(PercentileNanos(99.99)));
  return text;
}

uint64_t NowNanos() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

}  // namespace sepal::tools

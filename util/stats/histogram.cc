#include "util/stats/histogram.h"

#include <cmath>

#include "absl/strings/str_format.h"

namespace sepal {

void LatencyHistogram::Merge(const LatencyHistogram& other) {
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) buckets_[bucket] += other.buckets_[bucket];
  count_ += other.count_;
  AddMoments(other.sum_, other.minimum_, other.maximum_);
}

void LatencyHistogram::AddToBucket(size_t bucket, uint64_t count) {
  buckets_[bucket] += count;
  count_ += count;
}

void LatencyHistogram::AddMoments(uint64_t sum, uint64_t minimum, uint64_t maximum) {
  sum_ += sum;
  minimum_ = std::min(minimum_, minimum);
  maximum_ = std::max(maximum_, maximum);
}

double LatencyHistogram::Percentile(double percent) const {
  if (count_ == 0) return 0;
  const double rank = std::max(1.0, std::ceil(percent / 100 * static_cast<double>(count_)));
  uint64_t before = 0;
  for (size_t bucket = 0; bucket < kBuckets; ++bucket) {
    const uint64_t inside = buckets_[bucket];
    if (inside > 0 && static_cast<double>(before + inside) >= rank) {
      // Assumes that the numbers of a bucket are evenly spread over it.
      const auto low = static_cast<double>(BucketLow(bucket));
      const auto last = static_cast<double>(BucketLow(bucket + 1) - 1);
      const double share = (rank - static_cast<double>(before)) / static_cast<double>(inside);
      return std::clamp(low + (last - low) * share, static_cast<double>(minimum()), static_cast<double>(maximum_));
    }
    before += inside;
  }
  return static_cast<double>(maximum_);
}

HistogramSummary LatencyHistogram::Summary() const {
  return {.count = count_,
          .average = Average(),
          .minimum = static_cast<double>(minimum()),
          .maximum = static_cast<double>(maximum_),
          .p50 = Percentile(50),
          .p95 = Percentile(95),
          .p99 = Percentile(99),
          .p999 = Percentile(99.9),
          .p9999 = Percentile(99.99)};
}

std::string LatencyHistogram::ToString() const {
  const HistogramSummary s = Summary();
  std::string text =
      absl::StrFormat("Count: %d Average: %.4f Min: %.0f Max: %.0f\n", s.count, s.average, s.minimum, s.maximum);
  text += absl::StrFormat("Percentiles: P50: %.2f P95: %.2f P99: %.2f P99.9: %.2f P99.99: %.2f\n", s.p50, s.p95, s.p99,
                          s.p999, s.p9999);
  uint64_t cumulative = 0;
  for (uint64_t low = 0, high = 1; cumulative < count_; low = high, high *= 2) {
    uint64_t inside = 0;
    const size_t end = high < (uint64_t{1} << kValueBits) ? BucketOf(high) : kBuckets;
    for (size_t bucket = BucketOf(low); bucket < end; ++bucket) inside += buckets_[bucket];
    if (inside == 0) continue;
    cumulative += inside;
    const double percent = 100.0 / static_cast<double>(count_);
    text += absl::StrFormat(
        "[%13d, %13d ) %10d %7.3f%% %7.3f%% %s\n", low, high, inside, percent * static_cast<double>(inside),
        percent * static_cast<double>(cumulative),
        std::string(static_cast<size_t>(std::lround(0.2 * percent * static_cast<double>(inside))), '#'));
  }
  return text;
}

}  // namespace sepal

#include "util/stats/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace sepal {
namespace {

double ExactPercentile(std::vector<uint64_t> values, double percent) {
  std::sort(values.begin(), values.end());
  const auto rank = static_cast<size_t>(std::max(1.0, std::ceil(percent / 100 * static_cast<double>(values.size()))));
  return static_cast<double>(values[rank - 1]);
}

TEST(LatencyHistogramTest, EveryNumberLiesInTheBucketThatClaimsIt) {
  for (uint64_t base = 1; base < (uint64_t{1} << LatencyHistogram::kValueBits); base = base * 3 / 2 + 1) {
    for (uint64_t value : {base - 1, base, base + 1}) {
      const size_t bucket = LatencyHistogram::BucketOf(value);
      ASSERT_LE(LatencyHistogram::BucketLow(bucket), value);
      ASSERT_LT(value, LatencyHistogram::BucketLow(bucket + 1));
    }
  }
  EXPECT_EQ(LatencyHistogram::BucketOf(UINT64_MAX), LatencyHistogram::kBuckets - 1);
}

TEST(LatencyHistogramTest, BucketsAreNarrowerThanAThirtySecondOfTheirNumbers) {
  for (size_t bucket = 1; bucket < LatencyHistogram::kBuckets; ++bucket) {
    const uint64_t low = LatencyHistogram::BucketLow(bucket);
    const uint64_t width = LatencyHistogram::BucketLow(bucket + 1) - low;
    ASSERT_GE(width, 1u);
    if (width > 1) {
      ASSERT_LE(width * 32, low);
    }
  }
}

TEST(LatencyHistogramTest, AnEmptyHistogramIsAllZero) {
  const LatencyHistogram h;
  const HistogramSummary s = h.Summary();
  EXPECT_EQ(s.count, 0u);
  EXPECT_EQ(s.average, 0);
  EXPECT_EQ(s.minimum, 0);
  EXPECT_EQ(s.maximum, 0);
  EXPECT_EQ(s.p9999, 0);
}

TEST(LatencyHistogramTest, SmallNumbersHaveExactPercentiles) {
  LatencyHistogram h;
  for (uint64_t v = 1; v <= 50; ++v) h.Add(v);
  EXPECT_EQ(h.Percentile(50), 25);
  EXPECT_EQ(h.Percentile(0), 1);
  EXPECT_EQ(h.Percentile(2), 1);
  EXPECT_EQ(h.Percentile(2.1), 2);
  EXPECT_EQ(h.Percentile(100), 50);
}

TEST(LatencyHistogramTest, PercentilesAreWithinAThirtySecondOfTheExactOnes) {
  std::mt19937_64 random(7);
  std::lognormal_distribution<double> latency(7, 2);
  LatencyHistogram h;
  std::vector<uint64_t> values;
  uint64_t sum = 0;
  for (int i = 0; i < 50000; ++i) {
    values.push_back(static_cast<uint64_t>(latency(random)));
    h.Add(values.back());
    sum += values.back();
  }
  for (double percent : {0.1, 1.0, 25.0, 50.0, 90.0, 95.0, 99.0, 99.9, 99.99, 100.0}) {
    const double exact = ExactPercentile(values, percent);
    EXPECT_NEAR(h.Percentile(percent), exact, exact / 32 + 1e-9) << percent;
  }
  EXPECT_EQ(h.count(), 50000u);
  EXPECT_EQ(h.sum(), sum);
  EXPECT_EQ(h.minimum(), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(h.maximum(), *std::max_element(values.begin(), values.end()));
  EXPECT_DOUBLE_EQ(h.Average(), static_cast<double>(sum) / 50000);
}

TEST(LatencyHistogramTest, AMergedHistogramIsThatOfAllNumbers) {
  LatencyHistogram all, odd, even;
  for (uint64_t v = 1; v < 100000; v += 7) {
    all.Add(v);
    (v % 2 == 1 ? odd : even).Add(v);
  }
  odd.Merge(even);
  EXPECT_EQ(odd.ToString(), all.ToString());
  EXPECT_EQ(odd.minimum(), 1u);
  odd.Merge(LatencyHistogram());
  EXPECT_EQ(odd.ToString(), all.ToString());
  odd.Clear();
  EXPECT_EQ(odd.ToString(), LatencyHistogram().ToString());
}

TEST(LatencyHistogramTest, NumbersBeyondTheLastBucketAreCountedThereWithTheirExactMaximum) {
  LatencyHistogram h;
  h.Add(uint64_t{1} << 50);
  EXPECT_EQ(h.count(), 1u);
  EXPECT_EQ(h.maximum(), uint64_t{1} << 50);
  EXPECT_EQ(h.Summary().maximum, std::ldexp(1, 50));
}

TEST(LatencyHistogramTest, TheTextHasEachDoublingThatHasNumbers) {
  LatencyHistogram h;
  for (int i = 0; i < 3; ++i) h.Add(5);
  h.Add(1000);
  const std::string text = h.ToString();
  EXPECT_NE(text.find("Count: 4 Average: 253.7500 Min: 5 Max: 1000"), std::string::npos) << text;
  EXPECT_NE(text.find("[            4,             8 )          3  75.000%  75.000% ###############"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("[          512,          1024 )          1  25.000% 100.000% #####"), std::string::npos) << text;
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 4);
}

}  // namespace
}  // namespace sepal

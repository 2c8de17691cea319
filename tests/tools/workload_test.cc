#include "tools/db_bench/workload.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "tests/util/base/compress_all.h"
#include "tools/terminal/latency.h"

namespace sepal::tools {
namespace {

TEST(KeyBufferTest, KeysAreDecimalAndSortAsTheirNumbers) {
  KeyBuffer key(16);
  EXPECT_EQ(key.Format(0), "0000000000000000");
  EXPECT_EQ(key.Format(1234567), "0000000001234567");
  std::string last;
  for (uint64_t number : {0, 9, 10, 99, 100, 123456}) {
    const std::string now(key.Format(number));
    EXPECT_LT(last, now);
    last = now;
  }
}

TEST(KeyBufferTest, WhatTheLastNumberHadMoreIsZeroAgain) {
  for (const int size : {8, 9}) {
    KeyBuffer key(size);
    for (const uint64_t number :
         {uint64_t{9'876'543'210'123}, uint64_t{7}, uint64_t{12'345'678}, uint64_t{100}, uint64_t{0}}) {
      std::string digits = std::to_string(number);
      digits.insert(0, std::string(20, '0'));
      EXPECT_EQ(key.Format(number), digits.substr(digits.size() - static_cast<size_t>(size)));
    }
  }
}

TEST(KeyBufferTest, AMissingKeySortsBetweenItsNumberAndTheNext) {
  KeyBuffer key(16);
  const std::string present(key.Format(41));
  const std::string next(key.Format(42));
  const std::string missing(key.FormatMissing(41));
  EXPECT_LT(present, missing);
  EXPECT_LT(missing, next);
  EXPECT_EQ(key.Format(42), next) << "the buffer is as long as before";
}

TEST(PermutationTest, EveryNumberComesOnce) {
  for (uint64_t n : {1, 2, 3, 5, 64, 1000, 4097}) {
    const Permutation shuffle(n, 7);
    std::set<uint64_t> seen;
    for (uint64_t i = 0; i < n; ++i) {
      const uint64_t image = shuffle(i);
      EXPECT_LT(image, n);
      seen.insert(image);
    }
    EXPECT_EQ(seen.size(), n);
  }
}

TEST(PermutationTest, SeedsGiveOtherOrdersThatLookRandom) {
  const Permutation a(10000, 1), b(10000, 2);
  int same = 0, ascending = 0;
  for (uint64_t i = 0; i + 1 < 10000; ++i) {
    same += a(i) == b(i) ? 1 : 0;
    ascending += a(i) < a(i + 1) ? 1 : 0;
  }
  EXPECT_LT(same, 20);
  EXPECT_NEAR(ascending, 5000, 300);
}

TEST(ValueGeneratorTest, ValuesCompressToAboutTheRatio) {
  for (double ratio : {0.25, 0.5, 1.0}) {
    ValueGenerator values(ratio, 1, 100);
    std::string plain;
    for (int i = 0; i < 1000; ++i) plain += values.Next(100);
    std::string compressed;
    ASSERT_TRUE(CompressAll(CompressionKind::kZstd, plain, &compressed).ok());
    // Printable characters take 6.6 of 8 bits.
    EXPECT_NEAR(static_cast<double>(compressed.size()) / static_cast<double>(plain.size()), ratio * 0.9, 0.15);
  }
}

TEST(ValueGeneratorTest, ServesValuesOfEveryLength) {
  ValueGenerator values(0.5, 1, 3 << 20);
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{3} << 20, size_t{100}}) {
    EXPECT_EQ(values.Next(bytes).size(), bytes);
  }
}

TEST(ZipfGeneratorTest, FewNumbersAreDrawnMostOfTheTime) {
  ZipfGenerator zipf(1000, 0.99, 3);
  std::map<uint64_t, int> counts;
  for (int i = 0; i < 20000; ++i) {
    const uint64_t number = zipf.Next();
    ASSERT_LT(number, 1000u);
    ++counts[number];
  }
  std::vector<int> sorted;
  for (const auto& [number, count] : counts) sorted.push_back(count);
  std::sort(sorted.rbegin(), sorted.rend());
  int top = 0;
  for (size_t i = 0; i < 100; ++i) top += sorted[i];
  EXPECT_GT(top, 20000 * 6 / 10);
  EXPECT_GT(counts.size(), 500u);
}

TEST(LatencyHistogramTest, PercentilesAreWithinAFewPercent) {
  LatencyHistogram histogram;
  for (uint64_t i = 1; i <= 100000; ++i) histogram.Add(i);
  EXPECT_EQ(histogram.count(), 100000u);
  EXPECT_EQ(histogram.MinimumNanos(), 1u);
  EXPECT_EQ(histogram.MaximumNanos(), 100000u);
  for (double percentile : {1.0, 50.0, 99.0, 99.9}) {
    EXPECT_NEAR(histogram.PercentileNanos(percentile), 1000 * percentile, 40 * percentile);
  }
  EXPECT_NEAR(histogram.MeanNanos(), 50000.5, 0.01);
}

TEST(LatencyHistogramTest, MergingEqualsAddingEverythingToOne) {
  LatencyHistogram a, b, all;
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t nanos = i * i * i;
    (i % 3 == 0 ? a : b).Add(nanos);
    all.Add(nanos);
  }
  a.Merge(b);
  EXPECT_EQ(a.ToString(), all.ToString());
}

TEST(LatencyHistogramTest, TakesTheLargestNumbers) {
  LatencyHistogram histogram;
  histogram.Add(UINT64_MAX);
  histogram.Add(0);
  EXPECT_EQ(histogram.PercentileNanos(0), 0);
  EXPECT_EQ(histogram.PercentileNanos(100), static_cast<double>(UINT64_MAX));
}

}  // namespace
}  // namespace sepal::tools

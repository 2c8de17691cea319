// What only some kinds can do: removing, counting, forgetting.
#include <gtest/gtest.h>

#include "tests/filters/filter_fixture.h"
#include "util/base/random.h"

namespace sepal::filters {
namespace {

TEST(CountingBloomTest, RemovedKeysAreGoneAndTheOthersStay) {
  for (const int bits : {4, 8}) {
    CountingBloomFilter filter = CountingBloomFilter::ForKeys(1000, 0.001, bits).value();
    const CountingBloomFilter empty = CountingBloomFilter::ForKeys(1000, 0.001, bits).value();
    for (const std::string& key : NumberedKeys("gone", 500)) filter.Add(key);
    for (const std::string& key : NumberedKeys("stays", 500)) filter.Add(key);
    for (const std::string& key : NumberedKeys("gone", 500)) EXPECT_TRUE(filter.Remove(key).ok());
    for (const std::string& key : NumberedKeys("stays", 500)) EXPECT_TRUE(filter.MayContain(key));
    int maybe = 0;
    for (const std::string& key : NumberedKeys("gone", 500)) maybe += filter.MayContain(key);
    EXPECT_LT(maybe, 3);
    for (const std::string& key : NumberedKeys("stays", 500)) EXPECT_TRUE(filter.Remove(key).ok());
    EXPECT_EQ(filter.Serialize(), empty.Serialize());
  }
}

TEST(CountingBloomTest, RemovingWhatWasNeverAddedIsToldAndChangesNothing) {
  CountingBloomFilter filter = CountingBloomFilter::ForKeys(100, 0.01).value();
  filter.Add("there");
  const std::string before = filter.Serialize();
  EXPECT_TRUE(absl::IsNotFound(filter.Remove("never")));
  EXPECT_EQ(filter.Serialize(), before);
}

TEST(CountingBloomTest, ACounterThatIsFullStays) {
  CountingBloomFilter filter = CountingBloomFilter::ForKeys(100, 0.01, 4).value();
  for (int i = 0; i < 20; ++i) filter.Add("often");
  EXPECT_EQ(filter.EstimateCount("often"), 15u);
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(filter.Remove("often").ok());
  EXPECT_TRUE(filter.MayContain("often"));
  CountingBloomFilter wide = CountingBloomFilter::ForKeys(100, 0.01, 8).value();
  for (int i = 0; i < 20; ++i) wide.Add("often");
  EXPECT_EQ(wide.EstimateCount("often"), 20u);
}

TEST(CountingBloomTest, ThePlainFilterHasTheKeysOfNow) {
  CountingBloomFilter filter = CountingBloomFilter::ForKeys(1000, 0.01).value();
  for (const std::string& key : NumberedKeys("key", 1000)) filter.Add(key);
  const BloomFilter plain = filter.ToBloom().value();
  for (const std::string& key : NumberedKeys("absent", 5000)) {
    EXPECT_EQ(plain.MayContain(key), filter.MayContain(key));
  }
  EXPECT_TRUE(plain.MayContain("key7"));
}

TEST(FingerprintTableTest, ChurnLeavesNothingBehind) {
  for (const int bits : {8, 16}) {
    FingerprintTable table = FingerprintTable::ForKeys(500, bits).value();
    const std::string empty = table.Serialize();
    Random random(static_cast<uint64_t>(bits));
    std::vector<std::string> keys;
    for (int i = 0; i < 20'000; ++i) {
      if (keys.size() < 500 && (keys.empty() || random.OneIn(2))) {
        keys.push_back(std::to_string(random.Next()));
        ASSERT_TRUE(table.Add(keys.back()).ok());
      } else {
        std::swap(keys[random.Uniform(keys.size())], keys.back());
        ASSERT_TRUE(table.Remove(keys.back()).ok());
        keys.pop_back();
      }
      if (i % 500 == 0) {
        for (const std::string& key : keys) ASSERT_TRUE(table.MayContain(key));
      }
    }
    for (const std::string& key : keys) ASSERT_TRUE(table.Remove(key).ok());
    EXPECT_EQ(table.Serialize(), empty);
  }
}

TEST(FingerprintTableTest, AFullTableIsTold) {
  FingerprintTable table = FingerprintTable::ForKeys(10).value();
  for (const std::string& key : NumberedKeys("key", 10)) ASSERT_TRUE(table.Add(key).ok());
  EXPECT_TRUE(absl::IsResourceExhausted(table.Add("one more")));
  EXPECT_EQ(table.keys(), 10u);
  EXPECT_TRUE(absl::IsNotFound(table.Remove("never")));
}

TEST(FingerprintTableTest, AKeyIsThereAsOftenAsItWasAdded) {
  FingerprintTable table = FingerprintTable::ForKeys(100).value();
  for (int i = 0; i < 30; ++i) ASSERT_TRUE(table.Add("often").ok());
  for (int i = 0; i < 30; ++i) {
    EXPECT_TRUE(table.MayContain("often"));
    EXPECT_TRUE(table.Remove("often").ok());
  }
  EXPECT_FALSE(table.MayContain("often"));
}

TEST(AgeingFilterTest, RecentKeysAreRememberedAndOldOnesFade) {
  AgeingFilter filter = AgeingFilter::ForKeys(2000, 0.01, 1).value();
  const std::vector<std::string> keys = NumberedKeys("key", 30'000);
  for (const std::string& key : keys) filter.AddAndTest(key);
  int recent = 0, old = 0;
  for (int i = 0; i < 50; ++i) recent += filter.MayContain(keys[keys.size() - 1 - static_cast<size_t>(i)]);
  for (int i = 0; i < 1000; ++i) old += filter.MayContain(keys[static_cast<size_t>(i)]);
  EXPECT_GT(recent, 35);
  EXPECT_LT(old, 40);
}

TEST(AgeingFilterTest, AgeingByHandForgetsAShare) {
  AgeingFilter filter = AgeingFilter::ForKeys(2000, 0.01, 1).value();
  for (const std::string& key : NumberedKeys("key", 2000)) EXPECT_FALSE(filter.AddAndTest(key) && key == "key0");
  const double before = filter.Fill();
  filter.Age(0.25);
  EXPECT_NEAR(filter.Fill() / before, 0.75, 0.03);
  filter.Age(1);
  EXPECT_EQ(filter.Fill(), 0);
}

TEST(TwoGenerationFilterTest, TheLastKeysAreNeverForgotten) {
  constexpr int kKeys = 300;
  TwoGenerationFilter filter = TwoGenerationFilter::ForKeys(kKeys, 0.001).value();
  const std::vector<std::string> keys = NumberedKeys("key", 5000);
  for (size_t i = 0; i < keys.size(); ++i) {
    filter.AddAndTest(keys[i]);
    for (size_t j = i < kKeys ? 0 : i - kKeys + 1; j <= i; j += 37) EXPECT_TRUE(filter.MayContain(keys[j]));
  }
  int old = 0;
  for (size_t i = 0; i < 1000; ++i) old += filter.MayContain(keys[i]);
  EXPECT_LT(old, 10);
  filter.Age();
  filter.Age();
  EXPECT_FALSE(filter.MayContain(keys.back()));
}

TEST(StaticFilterTest, SetsOfEverySizeAreBuilt) {
  for (const int count : {1, 2, 3, 4, 5, 10, 33, 100, 999, 5000}) {
    const std::vector<std::string> keys = NumberedKeys("key", count);
    std::vector<std::string_view> twice(keys.begin(), keys.end());
    twice.insert(twice.end(), keys.begin(), keys.end());
    const absl::StatusOr<StaticFilter> filter = StaticFilter::Build(twice, 16, 4);
    ASSERT_TRUE(filter.ok()) << filter.status();
    EXPECT_EQ(filter->keys(), static_cast<uint64_t>(count));
    for (const std::string& key : keys) EXPECT_TRUE(filter->MayContain(key));
  }
}

TEST(AnyFilterTest, WhatAKindCannotDoIsRefusedInWords) {
  AnyFilter fixed = AnyFilter(StaticFilter::BuildFromHashes({1, 2, 3}).value());
  EXPECT_TRUE(absl::IsInvalidArgument(Add(&fixed, "key")));
  AnyFilter bloom = AnyFilter(BloomFilter::ForKeys(10, 0.1).value());
  EXPECT_TRUE(absl::IsInvalidArgument(Remove(&bloom, "key")));
  EXPECT_TRUE(absl::IsInvalidArgument(EstimateCount(bloom, "key").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(AddAndTest(&bloom, "key").status()));
  EXPECT_TRUE(absl::IsInvalidArgument(Intersect(&fixed, bloom)));
  AnyFilter distinct = AnyFilter(HyperLogLog::Create().value());
  EXPECT_TRUE(absl::IsInvalidArgument(MayContain(distinct, "key").status()));
}

}  // namespace
}  // namespace sepal::filters

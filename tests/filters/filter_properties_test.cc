// What holds for a filter of every kind, and for filters that were made in two ways.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "tests/filters/filter_fixture.h"
#include "util/base/random.h"

namespace sepal::filters {
namespace {

class EveryFilterTest : public testing::TestWithParam<FilterMaker> {
 protected:
  // Of a random length, empty and 64 KiB included.
  static std::vector<std::string> RandomKeys(uint64_t seed, int count) {
    Random random(seed);
    std::vector<std::string> keys = {"", std::string(size_t{64} << 10, 'k')};
    while (static_cast<int>(keys.size()) < count) {
      std::string key(random.Uniform(random.OneIn(10) ? 600 : 24), '\0');
      for (char& c : key) c = static_cast<char>(random.Next());
      keys.push_back(std::move(key));
    }
    return keys;
  }
  static bool HasNoMembers(const FilterMaker& maker) { return std::string_view(maker.name) == "hyperloglog"; }
};

TEST_P(EveryFilterTest, NoKeyThatWasAddedIsRuledOut) {
  if (HasNoMembers(GetParam())) GTEST_SKIP() << "the sketch has no members";
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const std::vector<std::string> keys = RandomKeys(seed, static_cast<int>(3 + 49 * seed));
    const AnyFilter filter = GetParam().build(keys, seed);
    for (const std::string& key : keys) EXPECT_TRUE(MayContain(filter, key).value()) << seed;
  }
}

TEST_P(EveryFilterTest, SavedAndLoadedItIsTheSame) {
  for (const uint64_t seed : {uint64_t{0}, uint64_t{7}, ~uint64_t{0}}) {
    const std::vector<std::string> keys = RandomKeys(seed, 300);
    const AnyFilter filter = GetParam().build(keys, seed);
    const std::string bytes = Serialize(filter);
    const absl::StatusOr<AnyFilter> loaded = ParseFilter(bytes, "file");
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(Serialize(*loaded), bytes);
    EXPECT_EQ(Describe(*loaded).seed, seed);
    EXPECT_EQ(Describe(*loaded).kind, Describe(filter).kind);
    EXPECT_EQ(Describe(*loaded).estimated_keys, Describe(filter).estimated_keys);
    EXPECT_EQ(Describe(*loaded).false_positive_rate, Describe(filter).false_positive_rate);
    if (HasNoMembers(GetParam())) continue;
    for (const std::string& key : NumberedKeys("absent", 2000)) {
      EXPECT_EQ(MayContain(*loaded, key).value(), MayContain(filter, key).value());
    }
  }
}

TEST_P(EveryFilterTest, GoesOnAfterLoadingAsItWouldHave) {
  if (std::string_view(GetParam().name).starts_with("static")) GTEST_SKIP() << "nothing can be added";
  AnyFilter filter = GetParam().build(NumberedKeys("first", 300), 5);
  AnyFilter loaded = ParseFilter(Serialize(filter), "file").value();
  AddAll(&filter, NumberedKeys("second", 600));
  AddAll(&loaded, NumberedKeys("second", 600));
  EXPECT_EQ(Serialize(loaded), Serialize(filter));
}

TEST_P(EveryFilterTest, TheUnionIsTheFilterOfBothSets) {
  const std::vector<std::string> left = RandomKeys(1, 200), right = NumberedKeys("right", 300);
  AnyFilter merged = GetParam().build(left, 3);
  const AnyFilter other = GetParam().build(right, 3);
  if (!GetParam().merges) {
    EXPECT_TRUE(absl::IsInvalidArgument(Merge(&merged, other))) << GetParam().name;
    return;
  }
  ASSERT_TRUE(Merge(&merged, other).ok());
  std::vector<std::string> both = left;
  both.insert(both.end(), right.begin(), right.end());
  EXPECT_EQ(Serialize(merged), Serialize(GetParam().build(both, 3)));
}

TEST_P(EveryFilterTest, FiltersOfOtherSeedsOrKindsAreNotMerged) {
  const std::vector<std::string> keys = NumberedKeys("key", 20);
  AnyFilter filter = GetParam().build(keys, 1);
  const std::string before = Serialize(filter);
  for (const FilterMaker& other : AllFilters()) {
    const absl::Status status = Merge(&filter, other.build(keys, 2));
    EXPECT_FALSE(status.ok()) << other.name;
    EXPECT_FALSE(status.message().empty());
  }
  EXPECT_EQ(Serialize(filter), before);
}

TEST_P(EveryFilterTest, AbsentKeysAreMostlyRuledOut) {
  if (HasNoMembers(GetParam())) GTEST_SKIP() << "the sketch has no members";
  const AnyFilter filter = GetParam().build(NumberedKeys("key", 700), 11);
  int maybe = 0;
  for (const std::string& key : NumberedKeys("absent", 20000)) maybe += MayContain(filter, key).value();
  const double rate = std::string_view(GetParam().name) == "count-min" ? 0.06 : Describe(filter).false_positive_rate;
  EXPECT_LT(maybe / 20000.0, rate * 1.3 + 0.001);
}

TEST_P(EveryFilterTest, TellsOfItself) {
  const FilterInfo info = Describe(GetParam().build(NumberedKeys("key", 500), 9));
  EXPECT_EQ(info.seed, 9u);
  EXPECT_GT(info.memory_bytes, 0u);
  EXPECT_GT(info.size, 0u);
  EXPECT_FALSE(NameOf(info.kind).empty());
  EXPECT_TRUE(std::string_view(GetParam().name).starts_with(NameOf(info.kind)));
  if (info.kind != FilterKind::kCountMin) {
    EXPECT_NEAR(info.estimated_keys, 500, 50);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, EveryFilterTest, testing::ValuesIn(AllFilters()), MakerName);

constexpr BloomLayout kLayouts[] = {BloomLayout::kClassic, BloomLayout::kBlocked, BloomLayout::kPartitioned};

TEST(BloomFilterTest, ABatchAnswersAsSingleKeysDo) {
  for (const BloomLayout layout : kLayouts) {
    for (int probes = 1; probes <= 8; ++probes) {
      BloomFilter filter = BloomFilter::Create({.layout = layout, .bits = 5000, .probes = probes}, 17).value();
      for (const std::string& key : NumberedKeys("key", 600)) filter.Add(key);
      for (const int count : {0, 1, 63, 64, 65, 1000}) {
        const std::vector<std::string> keys = NumberedKeys(count % 2 == 0 ? "absent" : "key", count);
        const std::vector<std::string_view> views(keys.begin(), keys.end());
        const std::unique_ptr<bool[]> maybe(new bool[static_cast<size_t>(count) + 1]);
        filter.MayContainMany(views, std::span(maybe.get(), views.size()));
        for (size_t i = 0; i < views.size(); ++i) EXPECT_EQ(maybe[i], filter.MayContain(views[i])) << keys[i];
      }
    }
  }
}

TEST(BloomFilterTest, TheIntersectionHasTheKeysOfBoth) {
  for (const BloomLayout layout : kLayouts) {
    BloomFilter left = BloomFilter::ForKeys(1000, 0.01, layout).value();
    BloomFilter right = BloomFilter::ForKeys(1000, 0.01, layout).value();
    for (const std::string& key : NumberedKeys("both", 200)) left.Add(key), right.Add(key);
    for (const std::string& key : NumberedKeys("left", 800)) left.Add(key);
    for (const std::string& key : NumberedKeys("right", 800)) right.Add(key);
    ASSERT_TRUE(left.Intersect(right).ok());
    for (const std::string& key : NumberedKeys("both", 200)) EXPECT_TRUE(left.MayContain(key));
    int maybe = 0;
    for (const std::string& key : NumberedKeys("left", 800)) maybe += left.MayContain(key);
    EXPECT_LT(maybe, 40);
  }
}

TEST(BloomFilterTest, ForeignShapesAreRefused) {
  BloomFilter filter = BloomFilter::Create({.layout = BloomLayout::kClassic, .bits = 1024, .probes = 3}).value();
  const BloomShape others[] = {{.layout = BloomLayout::kPartitioned, .bits = 1024, .probes = 3},
                               {.layout = BloomLayout::kClassic, .bits = 1088, .probes = 3},
                               {.layout = BloomLayout::kClassic, .bits = 1024, .probes = 4}};
  for (const BloomShape& shape : others) {
    const BloomFilter other = BloomFilter::Create(shape).value();
    EXPECT_TRUE(absl::IsFailedPrecondition(filter.Merge(other)));
    EXPECT_TRUE(absl::IsFailedPrecondition(filter.Intersect(other)));
  }
}

}  // namespace
}  // namespace sepal::filters

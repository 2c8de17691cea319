#include "tests/reliability/shrink.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace sepal::reliability {
namespace {

TEST(PartsTest, ANameThatSaysNothingOfThemMeansAll) {
  EXPECT_TRUE(Parts::InName("seed=3").Has(0));
  const Parts some = Parts::InName("seed=3 keep=2,5-7 draw=1");
  EXPECT_EQ(some.ToString(), "2,5-7");
  EXPECT_TRUE(some.Has(6));
  EXPECT_FALSE(some.Has(3));
  EXPECT_FALSE(Parts::InName("seed=3 keep=").Has(0));
}

TEST(ShrinkPartsTest, LeavesOnlyWhatTheFailureNeeds) {
  const auto has = [](const std::vector<uint32_t>& some, uint32_t number) {
    return std::find(some.begin(), some.end(), number) != some.end();
  };
  const auto three = [&](const std::vector<uint32_t>& some) { return has(some, 3) && has(some, 90) && has(some, 91); };
  EXPECT_EQ(ShrinkParts(100, 1000, three), (std::vector<uint32_t>{3, 90, 91}));
}

TEST(ShrinkPartsTest, StopsAfterItsTriesWithSomethingThatFails) {
  uint64_t tries = 0;
  const std::vector<uint32_t> kept = ShrinkParts(100, 5, [&](const std::vector<uint32_t>& some) {
    ++tries;
    return some.size() > 60;
  });
  EXPECT_EQ(tries, 5u);
  EXPECT_GT(kept.size(), 60u);
}

TEST(ForEachSeedShrinkingTest, TriesOtherSchedulesForASmallerCase) {
  Search search(SearchOptions{.seed = 9, .count = 1});
  ForEachSeedShrinking(&search, 8, /*draws=*/3, [](const SeededCase& what) {
    const bool whole = what.parts.Has(0) && what.parts.Has(7);
    return whole || (what.draw == 2 && what.parts.Has(5)) ? "wrong" : "";
  });
  ASSERT_EQ(search.failed(), 1u);
  EXPECT_EQ(search.failures().front().what, "wrong\nmade smaller, 1 of its 8 parts: --case 'seed=9 keep=5 draw=2'");
}

}  // namespace
}  // namespace sepal::reliability

// Slices of one job shared out among threads: who gets which, and that each goes to exactly one.
#include "db/act/jobs/slices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "util/base/random.h"

namespace sepal {
namespace {

using ::testing::Each;

void ExpectGoesOn(Slices* slices, size_t begin, size_t end) {
  for (size_t i = begin; i < end; ++i) EXPECT_TRUE(slices->GoOn(i)) << i;
}

TEST(SlicesTest, OneThreadAloneGoesThroughAll) {
  Slices slices(5, 2);
  EXPECT_EQ(slices.Begin(), 0u);
  ExpectGoesOn(&slices, 1, 5);
  EXPECT_FALSE(slices.GoOn(5));
  EXPECT_EQ(slices.Begin(), std::nullopt);
}

TEST(SlicesTest, TwoThreadsBeginWithHalvesAndStopWhereTheOtherBegan) {
  Slices slices(16, 2);
  EXPECT_EQ(slices.Begin(), 0u);
  EXPECT_EQ(slices.Begin(), 8u);
  ExpectGoesOn(&slices, 1, 8);
  EXPECT_FALSE(slices.GoOn(8));
}

TEST(SlicesTest, AThreadThatIsDoneBeginsInTheMiddleOfTheLongestStretchThatIsLeft) {
  Slices slices(16, 2);
  EXPECT_EQ(slices.Begin(), 0u);
  EXPECT_EQ(slices.Begin(), 8u);
  ExpectGoesOn(&slices, 9, 16);
  EXPECT_TRUE(slices.GoOn(1));
  EXPECT_EQ(slices.Begin(), 5u);  // of 2 to 7
  EXPECT_EQ(slices.Begin(), 3u);  // of 2 to 4
  EXPECT_EQ(slices.Begin(), 7u);  // of 6 and 7
  EXPECT_EQ(slices.Begin(), 2u);
}

TEST(SlicesTest, ThreadsThatAreAsFastAsEachOtherBeginOnce) {
  for (size_t threads = 1; threads <= 9; ++threads) {
    Slices slices(8 * threads, threads);
    std::vector<std::optional<size_t>> at(threads);
    size_t begun = 0;
    for (bool any = true; any;) {
      any = false;
      for (std::optional<size_t>& slice : at) {
        if (slice.has_value() && slices.GoOn(*slice + 1)) {
          ++*slice;
        } else {
          slice = slices.Begin();
          begun += slice.has_value() ? 1 : 0;
        }
        any |= slice.has_value();
      }
    }
    EXPECT_EQ(begun, threads);
  }
}

TEST(SlicesTest, AfterAFailureNothingIsGivenAway) {
  Slices slices(8, 2);
  EXPECT_EQ(slices.Begin(), 0u);
  EXPECT_EQ(slices.Begin(), 4u);
  slices.Stop();
  EXPECT_FALSE(slices.GoOn(1));
  EXPECT_EQ(slices.Begin(), std::nullopt);
}

TEST(SlicesTest, HoweverFastTheThreadsAreEachSliceGoesToOneOfThem) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    Random random(seed);
    std::vector<int> given(1 + random.Uniform(40));
    std::vector<std::optional<size_t>> at(1 + random.Uniform(6));  // of each thread; none: it is to begin anew
    Slices slices(given.size(), at.size());
    bool all_given = false;
    while (!all_given) {
      std::optional<size_t>& slice = at[random.Uniform(at.size())];
      if (slice.has_value() && slices.GoOn(*slice + 1)) {
        ++*slice;
      } else {
        slice = slices.Begin();
      }
      all_given = !slice.has_value();
      if (!all_given) ++given[*slice];
    }
    EXPECT_THAT(given, Each(1)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace sepal

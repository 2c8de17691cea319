#include "util/cache/eviction_limits.h"

#include <gtest/gtest.h>

namespace sepal {
namespace {

TEST(WalkBackoffTest, AWalkThatGaveSomethingIsRepeatedAtOnce) {
  WalkBackoff backoff(100);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(backoff.ShouldWalk(1000));
    backoff.Walked(true, 1000);
  }
}

TEST(WalkBackoffTest, EachWalkInVainDoublesTheCallsUpToTheNextAndNoMoreThan64) {
  WalkBackoff backoff(100);
  EXPECT_TRUE(backoff.ShouldWalk(1000));
  for (const int calls : {2, 4, 8, 16, 32, 64, 64, 64}) {
    backoff.Walked(false, 1000);
    for (int i = 1; i < calls; ++i) ASSERT_FALSE(backoff.ShouldWalk(1099)) << calls;
    ASSERT_TRUE(backoff.ShouldWalk(1099)) << calls;
  }
  backoff.Walked(true, 1000);
  EXPECT_TRUE(backoff.ShouldWalk(1000));
}

TEST(WalkBackoffTest, WhereThereIsMoreToGainItDoesNotWait) {
  WalkBackoff backoff(100);
  for (size_t left = 1000; left < 2000; left += 100) {
    backoff.Walked(false, left);
    EXPECT_FALSE(backoff.ShouldWalk(left + 99));
    EXPECT_TRUE(backoff.ShouldWalk(left + 100));
  }
}

}  // namespace
}  // namespace sepal

#include "db/decide/visibility/removal_time.h"

#include <gtest/gtest.h>

namespace sepal {
namespace {

constexpr uint64_t kWall = 1'700'000'000'000;
constexpr uint64_t kHour = RemovalTime::kMostAheadMillis;

TEST(RemovalTimeTest, AClockThatIsReadLateDoesNotEndADoubt) {
  RemovalTime time(kWall, {kWall, 1000});
  time.At({kWall + 1000 * kHour, 1001});
  ASSERT_TRUE(time.doubts());
  time.At({kWall + 1000 * kHour, 1000});
  EXPECT_TRUE(time.doubts());
}

TEST(RemovalTimeTest, TheWallClockMayBeAheadByAsMuchAsIsSaid) {
  RemovalTime time(kWall, {kWall, 0});
  EXPECT_EQ(time.Within(5000, {kWall + 4000, 1}), kWall + 4000);
  EXPECT_EQ(time.Within(5000, {kWall + kHour / 2, 2}), kWall + 5002);
  EXPECT_EQ(time.Within(5000, {kWall + 10 * kHour, 3}), kWall + 5003);
  EXPECT_EQ(time.Within(5000, {kWall - kHour, 4}), kWall - kHour);
  // It has kept pace since it went back.
  EXPECT_EQ(time.Within(0, {kWall - kHour + RemovalTime::kAgreeMillis, 4 + RemovalTime::kAgreeMillis}),
            kWall - kHour + RemovalTime::kAgreeMillis);
}

}  // namespace
}  // namespace sepal

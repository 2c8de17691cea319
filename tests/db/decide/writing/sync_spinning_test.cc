// When those who wait for a sync sleep, and when they take turns.
#include "db/decide/writing/sync_spinning.h"

#include <gtest/gtest.h>

namespace sepal {
namespace {

constexpr uint64_t kSync = 100;
constexpr uint64_t kNow = 1'000'000'000;

TEST(SyncTurnsTest, TurnsAreForManyMoreCallersThanProcessors) {
  const SyncTurns turns(4);
  EXPECT_EQ(turns.MicrosToTake(1, kSync, kNow), 0u);
  EXPECT_EQ(turns.MicrosToTake(8, kSync, kNow), 0u);
  EXPECT_GT(turns.MicrosToTake(9, kSync, kNow), kSync);
  EXPECT_EQ(SyncTurns(0).MicrosToTake(100, kSync, kNow), 0u);
}

TEST(SyncTurnsTest, TurnsAreForShortSyncs) {
  const SyncTurns turns(1);
  EXPECT_EQ(turns.MicrosToTake(16, 0, kNow), 0u) << "nothing was measured yet";
  EXPECT_EQ(turns.MicrosToTake(16, SyncTurns::kLongestSyncMicros, kNow), 4 * SyncTurns::kLongestSyncMicros);
  EXPECT_EQ(turns.MicrosToTake(16, SyncTurns::kLongestSyncMicros + 1, kNow), 0u);
}

TEST(SyncTurnsTest, AfterALateTurnAllSleepForAWhile) {
  SyncTurns turns(1);
  turns.ComeLate(kNow - 4'000, kNow);
  EXPECT_EQ(turns.MicrosToTake(16, kSync, kNow), 0u);
  EXPECT_EQ(turns.MicrosToTake(16, kSync, kNow + 9'999), 0u);
  EXPECT_GT(turns.MicrosToTake(16, kSync, kNow + 10'000), 0u);
}

// Several waited for the same processor.
TEST(SyncTurnsTest, WaitsFromBeforeThePausesEndDoNotMakeItLonger) {
  SyncTurns turns(1);
  turns.ComeLate(kNow - 4'000, kNow);
  turns.ComeLate(kNow - 3'000, kNow + 9'000);
  turns.ComeLate(kNow - 2'000, kNow + 11'000);
  EXPECT_GT(turns.MicrosToTake(16, kSync, kNow + 11'000), 0u);
}

// How long all sleep when a turn comes late that was taken 4 ms after the last pause, or what `after` says.
class PausesTest : public testing::Test {
 protected:
  uint64_t Pause(uint64_t after = 4'000) {
    now_ += after;
    turns_.ComeLate(now_ - 2'000, now_);
    const uint64_t begin = now_;
    while (turns_.MicrosToTake(16, kSync, now_) == 0) now_ += 1000;
    return now_ - begin;
  }

  SyncTurns turns_{1};
  uint64_t now_ = kNow;
};

TEST_F(PausesTest, WhereTurnsGoOnComingLateTheyAreTakenEverLess) {
  for (uint64_t expected = SyncTurns::kShortestPauseMicros; expected <= SyncTurns::kLongestPauseMicros; expected *= 2) {
    EXPECT_EQ(Pause(), expected);
  }
  EXPECT_EQ(Pause(), SyncTurns::kLongestPauseMicros);
  EXPECT_EQ(Pause(SyncTurns::kSoonMicros - 1), SyncTurns::kLongestPauseMicros);
}

TEST_F(PausesTest, WhereTheyWereInTimeForAWhileItBeginsAnew) {
  EXPECT_EQ(Pause(), SyncTurns::kShortestPauseMicros);
  EXPECT_EQ(Pause(), 2 * SyncTurns::kShortestPauseMicros);
  EXPECT_EQ(Pause(SyncTurns::kSoonMicros), SyncTurns::kShortestPauseMicros);
}

TEST_F(PausesTest, AClockThatGoesBackEndsThePause) {
  EXPECT_EQ(Pause(), SyncTurns::kShortestPauseMicros);
  turns_.ComeLate(now_, now_ + 4'000);
  now_ /= 2;
  EXPECT_GT(turns_.MicrosToTake(16, kSync, now_), 0u);
  EXPECT_EQ(Pause(), SyncTurns::kShortestPauseMicros);
}

}  // namespace
}  // namespace sepal

// When those who wait for a sync sleep, and when they take turns.
#include "db/decide/sync_turns.h"

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
  EXPECT_GT(turns.MicrosToTake(16, SyncTurns::kLongestSyncMicros, kNow), 0u);
  EXPECT_EQ(turns.MicrosToTake(16, SyncTurns::kLongestSyncMicros + 1, kNow), 0u);
}

TEST(SyncTurnsTest, AfterALateTurnAllSleepForAWhile) {
  SyncTurns turns(1);
  turns.ComeLate(kNow);
  EXPECT_EQ(turns.MicrosToTake(16, kSync, kNow), 0u);
  turns.ComeLate(kNow + 9'000);  // of the same wait
  EXPECT_EQ(turns.MicrosToTake(16, kSync, kNow + 9'999), 0u);
  EXPECT_GT(turns.MicrosToTake(16, kSync, kNow + 10'000), 0u);
}

// How long all sleep when turns come late as soon as they are taken again.
TEST(SyncTurnsTest, WhereTurnsGoOnComingLateTheyAreTakenEverLess) {
  SyncTurns turns(1);
  uint64_t now = kNow;
  const auto pause = [&] {
    turns.ComeLate(now);
    const uint64_t begin = now;
    while (turns.MicrosToTake(16, kSync, now) == 0) now += 1000;
    return now - begin;
  };
  for (uint64_t expected = SyncTurns::kShortestPauseMicros; expected <= SyncTurns::kLongestPauseMicros; expected *= 2) {
    EXPECT_EQ(pause(), expected);
    now += 4'000;
  }
  EXPECT_EQ(pause(), SyncTurns::kLongestPauseMicros);
  now += SyncTurns::kLongestPauseMicros;
  EXPECT_EQ(pause(), SyncTurns::kShortestPauseMicros) << "turns were in time for as long as all slept before";
}

TEST(SyncTurnsTest, AClockThatJumpsBackEndsThePause) {
  SyncTurns turns(1);
  turns.ComeLate(kNow);
  EXPECT_GT(turns.MicrosToTake(16, kSync, kNow / 2), 0u);
  turns.ComeLate(kNow / 2);
  EXPECT_EQ(turns.MicrosToTake(16, kSync, kNow / 2 + 1), 0u);
}

}  // namespace
}  // namespace sepal

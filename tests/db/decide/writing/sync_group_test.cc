// Who shares a sync, and how long it waits for them.
#include "db/decide/writing/sync_group.h"

#include <gtest/gtest.h>

namespace sepal {
namespace {

class SyncGroupTest : public testing::Test {
 protected:
  void Arrive(int calls) {
    for (int i = 0; i < calls; ++i) group_.Arrive();
  }
  // A sync that takes `micros`, while which so many calls come too late for it.
  void Sync(uint64_t micros, int late = 0) {
    group_.Begin(now_);
    Arrive(late);
    now_ += micros;
    group_.End(now_);
  }
  // The next sync waits for its whole time, and nobody comes. False if it did not wait.
  bool WaitsInVain() {
    const uint64_t micros = group_.WaitMicros(now_);
    now_ += micros;
    EXPECT_EQ(group_.WaitMicros(now_), 0u);
    return micros > 0;
  }

  SyncGroup group_;
  uint64_t now_ = 1'000'000;
};

TEST_F(SyncGroupTest, ACallerAloneWaitsForNobody) {
  for (int i = 0; i < 10; ++i) {
    Arrive(1);
    EXPECT_EQ(group_.WaitMicros(now_), 0u);
    Sync(100);
  }
}

TEST_F(SyncGroupTest, WritersThatWereCarriedAndThatCameTooLateAreWaitedForTogether) {
  Arrive(1);
  Sync(100, 3);
  EXPECT_EQ(group_.WaitMicros(now_), 50u) << "half of what a sync takes";
  EXPECT_TRUE(group_.gathering());
  now_ += 20;
  EXPECT_EQ(group_.WaitMicros(now_), 30u);
  Arrive(1);
  EXPECT_EQ(group_.WaitMicros(now_), 0u) << "all four are there";
  Sync(100);
  EXPECT_FALSE(group_.gathering());
  Arrive(3);
  EXPECT_GT(group_.WaitMicros(now_), 0u);
  Arrive(1);
  EXPECT_EQ(group_.WaitMicros(now_), 0u);
}

TEST_F(SyncGroupTest, AWriterThatJoinsTheSyncUnderWayIsExpectedAgain) {
  Arrive(1);
  group_.Begin(now_);
  group_.Join();
  now_ += 100;
  group_.End(now_);
  Arrive(1);
  EXPECT_EQ(group_.WaitMicros(now_), 50u);
}

TEST_F(SyncGroupTest, TheTimeThatASyncGroupWaitsFollowsTheSyncs) {
  Arrive(1);
  Sync(100, 1);
  EXPECT_EQ(group_.WaitMicros(now_), 50u);
  for (int i = 0; i < 100; ++i) {
    Arrive(2);
    Sync(1000);
  }
  Arrive(1);
  EXPECT_NEAR(static_cast<double>(group_.WaitMicros(now_)), 500, 5);
}

TEST_F(SyncGroupTest, AWriterThatStaysAwayIsWaitedForLessAndLess) {
  Arrive(2);
  Sync(100);
  int waits = 0;
  for (int i = 0; i < 1000; ++i) {
    Arrive(1);
    waits += WaitsInVain() ? 1 : 0;
    Sync(100, i % 2);  // it comes from time to time, and always too late
  }
  EXPECT_GE(waits, 5);
  EXPECT_LE(waits, 7 + 1000 / SyncGroup::kMostSkipped);
}

TEST_F(SyncGroupTest, AWaitThatPaysMakesTheNextOnesWaitAgain) {
  Arrive(2);
  Sync(100);
  Arrive(1);
  ASSERT_TRUE(WaitsInVain());
  Sync(100, 1);
  EXPECT_EQ(group_.WaitMicros(now_), 0u) << "one is skipped";
  Sync(100, 1);
  for (int i = 0; i < 10; ++i) {
    ASSERT_GT(group_.WaitMicros(now_), 0u);
    now_ += 5;
    Arrive(1);
    ASSERT_EQ(group_.WaitMicros(now_), 0u);
    Sync(100);
    Arrive(1);
  }
}

TEST_F(SyncGroupTest, AWaitPaysOnlyIfMoreIsCarriedForItsTime) {
  Arrive(10);
  Sync(100, 1);
  Arrive(9);
  ASSERT_EQ(group_.WaitMicros(now_), 50u);
  now_ += 40;
  Arrive(1);  // 11 in 140 us are less than 10 in 100
  Sync(100, 9);
  EXPECT_EQ(group_.WaitMicros(now_), 0u);
}

TEST_F(SyncGroupTest, AClockThatJumpsHoldsNobodyUp) {
  Arrive(2);
  Sync(100);
  Arrive(1);
  ASSERT_EQ(group_.WaitMicros(now_), 50u);
  EXPECT_EQ(group_.WaitMicros(now_ - 500'000), 0u);
  now_ -= 500'000;
  Sync(100, 1);
  now_ += 3'600'000'000;
  EXPECT_LE(group_.WaitMicros(now_), 50u);
}

TEST_F(SyncGroupTest, ADiskThatHangsForOnceIsNoReasonToWait) {
  Arrive(4);
  Sync(100);
  Arrive(4);
  Sync(10'000'000);
  Arrive(1);
  EXPECT_LE(group_.WaitMicros(now_), SyncGroup::kMostMicros);
}

TEST_F(SyncGroupTest, AWaitOfASyncGroupCanBeStopped) {
  Arrive(2);
  Sync(100);
  Arrive(1);
  ASSERT_GT(group_.WaitMicros(now_), 0u);
  group_.StopWaiting();
  EXPECT_EQ(group_.WaitMicros(now_), 0u);
}

// As where nothing measures the time.
TEST_F(SyncGroupTest, WithoutAClockNobodyWaits) {
  for (int i = 0; i < 10; ++i) {
    Arrive(1);
    EXPECT_EQ(group_.WaitMicros(0), 0u);
    group_.Begin(0);
    Arrive(3);
    group_.End(0);
  }
}

}  // namespace
}  // namespace sepal

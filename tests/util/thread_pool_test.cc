#include "util/thread_pool.h"

#include <atomic>
#include <fstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "util/manual_clock.h"

namespace sepal {
namespace {

using Priority = Executor::Priority;

TEST(ThreadPoolTest, RunsEverythingThatWasScheduledBeforeItIsDestroyed) {
  std::atomic<int> ran{0};
  {
    ThreadPool pool(1, 2);
    for (int i = 0; i < 500; ++i) {
      pool.Schedule(i % 2 == 0 ? Priority::kFlush : Priority::kCompaction, [&] { ++ran; });
    }
  }
  EXPECT_EQ(ran, 500);
}

TEST(ThreadPoolTest, RunsWorkThatWorkSchedulesWhileThePoolIsBeingDestroyed) {
  std::atomic<int> ran{0};
  {
    ThreadPool pool(1, 1);
    pool.Schedule(Priority::kCompaction, [&] {
      pool.Schedule(Priority::kFlush, [&] {
        pool.Schedule(Priority::kCompaction, [&] { ++ran; });
        ++ran;
      });
      ++ran;
    });
  }
  EXPECT_EQ(ran, 3);
}

TEST(ThreadPoolTest, ThreadsAreNamedByWhatTheyDo) {
  std::string flush, compaction;
  {
    ThreadPool pool(1, 1);
    const auto take_name = [](std::string* name) { std::getline(std::ifstream("/proc/thread-self/comm"), *name); };
    pool.Schedule(Priority::kFlush, [&] { take_name(&flush); });
    pool.Schedule(Priority::kCompaction, [&] { take_name(&compaction); });
  }
  EXPECT_EQ(flush, "sepal-flush");
  EXPECT_EQ(compaction, "sepal-compact");
}

TEST(ThreadPoolTest, StartsWorkOfOnePriorityInTheOrderItWasScheduled) {
  std::vector<int> order;
  {
    ThreadPool pool(1, 1);
    for (int i = 0; i < 100; ++i) pool.Schedule(Priority::kFlush, [&order, i] { order.push_back(i); });
  }
  ASSERT_EQ(order.size(), 100u);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(ThreadPoolTest, AFlushDoesNotWaitForACompaction) {
  Notification flushed;
  Notification compacted;
  ThreadPool pool(1, 1);
  pool.Schedule(Priority::kCompaction, [&] {
    flushed.WaitForNotification();
    compacted.Notify();
  });
  pool.Schedule(Priority::kFlush, [&] { flushed.Notify(); });
  compacted.WaitForNotification();
}

TEST(ThreadPoolTest, RunsAsManyCompactionsAtOnceAsItSays) {
  Mutex mutex;
  CondVar changed;
  int arrived = 0;
  Notification done;
  ThreadPool pool(1, 3);
  ASSERT_EQ(pool.CompactionConcurrency(), 3);
  for (int i = 0; i < 3; ++i) {
    pool.Schedule(Priority::kCompaction, [&] {
      MutexLock lock(&mutex);
      if (++arrived == 3) done.Notify();
      changed.NotifyAll();
      while (arrived < 3) changed.Wait(&mutex);
    });
  }
  done.WaitForNotification();
}

TEST(ManualClockTest, MovesOnlyWhenAdvancedOrSleptOn) {
  ManualClock clock(5);
  EXPECT_EQ(clock.MonotonicMicros(), 5u);
  EXPECT_EQ(clock.MonotonicMicros(), 5u);
  clock.Advance(10);
  clock.SleepMicros(7);
  EXPECT_EQ(clock.MonotonicMicros(), 22u);
  EXPECT_EQ(clock.UnixMicros(), 22u);
}

TEST(SystemClockTest, NeverGoesBackAndKnowsTheCentury) {
  Clock* clock = Clock::System();
  const uint64_t before = clock->MonotonicMicros();
  clock->SleepMicros(1);
  EXPECT_GE(clock->MonotonicMicros(), before);
  EXPECT_GT(clock->UnixMicros(), 1'700'000'000'000'000u);
}

}  // namespace
}  // namespace sepal

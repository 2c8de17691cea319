#include "util/thread/thread_pool.h"

#include <sys/resource.h>

#include <atomic>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sepal/simulation/manual_clock.h"
#include "tests/child_exit.h"
#include "tests/util/thread/scarce_threads.h"

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

TEST(ThreadPoolTest, WhatIsPutOffRunsWhenItIsDueAndHoldsNobodyUp) {
  Mutex mutex;
  CondVar changed;
  std::vector<int> order;
  ThreadPool pool(1, 1);
  const auto note = [&](int which) {
    return [&, which] {
      MutexLock lock(&mutex);
      order.push_back(which);
      changed.NotifyAll();
    };
  };
  const uint64_t began = Clock::System()->MonotonicMicros();
  EXPECT_TRUE(pool.ScheduleAfter(Priority::kFlush, 60'000, note(3)));
  EXPECT_TRUE(pool.ScheduleAfter(Priority::kFlush, 30'000, note(2)));
  pool.Schedule(Priority::kFlush, note(1));
  MutexLock lock(&mutex);
  while (order.size() < 3) changed.Wait(&mutex);
  EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
  EXPECT_GE(Clock::System()->MonotonicMicros() - began, 60'000u);
}

TEST(ThreadPoolTest, WhatIsNotDueWhenThePoolIsDestroyedIsDropped) {
  const auto held = std::make_shared<std::atomic<int>>(0);
  {
    ThreadPool pool(1, 1);
    EXPECT_TRUE(pool.ScheduleAfter(Priority::kCompaction, uint64_t{3600} * 1'000'000, [held] { ++*held; }));
    EXPECT_EQ(held.use_count(), 2);
  }
  EXPECT_EQ(*held, 0);
  EXPECT_EQ(held.use_count(), 1);
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

TEST(ThreadPoolTest, WithoutAThreadOfEachKindItSaysSo) {
  const NoThreads no_threads;
  const ThreadPool pool(1, 1);
  EXPECT_TRUE(absl::IsResourceExhausted(pool.Check())) << pool.Check();
}

// In a child, which gets its limit for good.
TEST(ThreadPoolTest, WorksWithTheThreadsThatItGets) {
  constexpr int kSeveral = 6;
  constexpr int kMany = 100;
  constexpr size_t kStackBytes = size_t{256} << 20;
  const auto child = [] {
    const StackSize large(kStackBytes);
    size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    rlimit limit = {};
    limit.rlim_cur = limit.rlim_max = pages * 4096 + kSeveral * kStackBytes;
    if (::setrlimit(RLIMIT_AS, &limit) != 0) ExitChild(2);
    std::atomic<int> ran{0};
    bool fewer = false;
    {
      ThreadPool pool(1, kMany, /*scrubs=*/true);
      if (!pool.Check().ok()) ExitChild(3);
      fewer = pool.CompactionConcurrency() >= 1 && pool.CompactionConcurrency() < kSeveral;
      for (int i = 0; i < 300; ++i) pool.Schedule(static_cast<Priority>(i % 3), [&] { ++ran; });
    }
    ExitChild(fewer && ran == 300 ? 0 : 1);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
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

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sepal/simulation/memory_file_system.h"
#include "sepal/simulation/simulated_world.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

using Priority = Executor::Priority;

// Three threads and some background work that all write into one log, with a point between any two entries.
std::string Interleaving(uint64_t seed) {
  std::string log;
  SimulatedWorld world(seed);
  const auto say = [&](char who) {
    for (int i = 0; i < 5; ++i) {
      log += who;
      SchedulePoint(&log);
    }
  };
  world.Spawn([&] { say('a'); });
  world.Spawn([&] { say('b'); });
  world.Schedule(Priority::kFlush, [&] { say('f'); });
  world.Schedule(Priority::kCompaction, [&] { say('c'); });
  world.Schedule(Priority::kCompaction, [&] { say('d'); });
  say('m');
  world.RunUntilIdle();
  return log;
}

TEST(SimulationTest, TheSameSeedGivesTheSameOrder) {
  for (uint64_t seed = 1; seed <= 20; ++seed) EXPECT_EQ(Interleaving(seed), Interleaving(seed)) << seed;
}

TEST(SimulationTest, DifferentSeedsGiveDifferentOrders) {
  std::vector<std::string> seen;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const std::string log = Interleaving(seed);
    EXPECT_EQ(log.size(), 30u);
    if (std::find(seen.begin(), seen.end(), log) == seen.end()) seen.push_back(log);
  }
  EXPECT_GE(seen.size(), 9u);
}

TEST(SimulationTest, RunUntilIdleRunsAllScheduledWorkAndWhatThatSchedules) {
  int ran = 0;
  SimulatedWorld world(3);
  world.Schedule(Priority::kFlush, [&] {
    ++ran;
    world.Schedule(Priority::kCompaction, [&] {
      ++ran;
      world.Schedule(Priority::kFlush, [&] { ++ran; });
    });
  });
  world.RunUntilIdle();
  EXPECT_EQ(ran, 3);
}

TEST(SimulationTest, TheDestructorRunsWhatIsStillQueued) {
  int ran = 0;
  {
    SimulatedWorld world(3);
    for (int i = 0; i < 10; ++i) world.Schedule(Priority::kCompaction, [&] { ++ran; });
  }
  EXPECT_EQ(ran, 10);
}

TEST(SimulationTest, WhatIsPutOffRunsOnceTimeHasComeThere) {
  SimulatedWorld world(3);
  std::vector<int> ran;
  const uint64_t began = world.micros();
  EXPECT_TRUE(world.ScheduleAfter(Priority::kFlush, 2'000'000, [&] { ran.push_back(2); }));
  EXPECT_TRUE(world.ScheduleAfter(Priority::kCompaction, 1'000'000, [&] { ran.push_back(1); }));
  EXPECT_TRUE(world.ScheduleAfter(Priority::kFlush, 9'000'000, [&] { ran.push_back(9); }));
  world.RunUntilIdle();
  EXPECT_TRUE(ran.empty()) << "idleness does not wait for it";
  EXPECT_LT(world.micros(), began + 1'000'000);
  world.SleepMicros(3'000'000);
  EXPECT_EQ(ran, (std::vector<int>{1, 2}));
}

TEST(SimulationTest, WorkThatIsDueAwaitsTheWorkerThatSleeps) {
  SimulatedWorld world(SimulationOptions{.seed = 3, .flush_workers = 1});
  std::vector<int> ran;
  world.Schedule(Priority::kFlush, [&] {
    world.SleepMicros(10'000'000);
    ran.push_back(1);
  });
  EXPECT_TRUE(world.ScheduleAfter(Priority::kFlush, 2'000'000, [&] { ran.push_back(2); }));
  world.SleepMicros(20'000'000);
  EXPECT_EQ(ran, (std::vector<int>{1, 2}));
}

TEST(SimulationTest, WorkOfOnePriorityStartsInTheOrderItWasScheduled) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    std::vector<int> started;
    SimulatedWorld world(seed);
    for (int i = 0; i < 10; ++i) {
      world.Schedule(Priority::kCompaction, [&started, i] {
        started.push_back(i);
        SchedulePoint(&started);
      });
    }
    world.RunUntilIdle();
    EXPECT_EQ(started, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})) << seed;
  }
}

TEST(SimulationTest, NoMoreCompactionsRunAtOnceThanThereAreWorkers) {
  int running = 0;
  int most = 0;
  SimulatedWorld world(SimulationOptions{.seed = 5, .compaction_workers = 2, .switch_one_in = 1});
  EXPECT_EQ(world.CompactionConcurrency(), 2);
  for (int i = 0; i < 10; ++i) {
    world.Schedule(Priority::kCompaction, [&] {
      most = std::max(most, ++running);
      for (int point = 0; point < 5; ++point) SchedulePoint(&running);
      --running;
    });
  }
  world.RunUntilIdle();
  EXPECT_EQ(most, 2);
}

TEST(SimulationTest, AProducerAndAConsumerMeetThroughACondVar) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    Mutex mutex;
    CondVar changed;
    std::deque<int> queue;
    std::vector<int> received;
    SimulatedWorld world(seed);
    world.Schedule(Priority::kCompaction, [&] {
      for (int i = 0; i < 20; ++i) {
        MutexLock lock(&mutex);
        while (queue.size() >= 2) changed.Wait(&mutex);
        queue.push_back(i);
        changed.NotifyAll();
      }
    });
    while (received.size() < 20) {
      MutexLock lock(&mutex);
      while (queue.empty()) changed.Wait(&mutex);
      received.push_back(queue.front());
      queue.pop_front();
      changed.NotifyAll();
    }
    for (int i = 0; i < 20; ++i) EXPECT_EQ(received[static_cast<size_t>(i)], i);
  }
}

TEST(SimulationTest, AThreadInTheMiddleOfWorkCanWaitForTheOneThatItInterrupted) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Notification first;
    Notification second;
    SimulatedWorld world(SimulationOptions{.seed = seed, .switch_one_in = 2});
    world.Schedule(Priority::kFlush, [&] {
      first.WaitForNotification();
      second.Notify();
    });
    SchedulePoint(&first);
    first.Notify();
    second.WaitForNotification();
  }
}

TEST(SimulationTest, MutexesExcludeWhileThreadsInterleave) {
  Mutex mutex;
  int inside = 0;
  int entered = 0;
  SimulatedWorld world(SimulationOptions{.seed = 9, .switch_one_in = 2});
  for (int i = 0; i < 4; ++i) {
    world.Spawn([&] {
      for (int round = 0; round < 20; ++round) {
        MutexLock lock(&mutex);
        EXPECT_EQ(++inside, 1);
        world.SleepMicros(1);  // Others run while this thread holds the lock.
        --inside;
        ++entered;
      }
    });
  }
  world.RunUntilIdle();
  EXPECT_EQ(entered, 80);
  EXPECT_GT(world.switches(), 20u);
}

// Two threads that each make two steps, which must not be torn apart, inside locks or between points.
std::string TornOrWhole(SimulationOptions options, uint64_t* schedule) {
  std::string log;
  Mutex mutex;
  SimulatedWorld world(options);
  for (const char who : {'a', 'b'}) {
    world.Spawn([&, who] {
      MutexLock lock(&mutex);
      log += who;
      SchedulePoint(&log);
      log += who;
    });
    world.Spawn([&] {
      log += '.';
      SchedulePoint(&log);
    });
  }
  world.RunUntilIdle();
  *schedule = world.schedule_hash();
  return log;
}

TEST(SimulationTest, SwitchesInsideLocksLetInOnlyThoseWhoDoNotWantTheLock) {
  bool let_in = false;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    uint64_t schedule = 0;
    const std::string log = TornOrWhole({.seed = seed, .switch_one_in = 2, .switch_inside_locks = true}, &schedule);
    std::string letters = log;
    std::erase(letters, '.');
    EXPECT_TRUE(letters == "aabb" || letters == "bbaa") << log;
    let_in = let_in || log.find("a.a") != std::string::npos || log.find("b.b") != std::string::npos;
  }
  EXPECT_TRUE(let_in);
}

TEST(SimulationTest, PrioritiesAloneDecideAndTheSeedDecidesThem) {
  std::vector<uint64_t> schedules;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const SimulationOptions options{.seed = seed, .priority_changes = 2, .priority_points = 12};
    uint64_t first = 0;
    uint64_t second = 0;
    EXPECT_EQ(TornOrWhole(options, &first), TornOrWhole(options, &second));
    EXPECT_EQ(first, second);
    if (std::find(schedules.begin(), schedules.end(), first) == schedules.end()) schedules.push_back(first);
  }
  EXPECT_GE(schedules.size(), 4u);
}

// How many of so many seeds let `others` points of another thread pass between the two steps of a short operation,
// which runs beside it three times.
int TornByMany(SimulationOptions options, int others) {
  int torn = 0;
  for (options.seed = 1; options.seed <= 100; ++options.seed) {
    int passed = 0;
    int most = 0;
    SimulatedWorld world(options);
    world.Spawn([&] {
      for (; passed < 300; ++passed) SchedulePoint(&passed);
    });
    for (int i = 0; i < 3; ++i) {
      world.BeginOperation();
      const int before = passed;
      SchedulePoint(&world);
      most = std::max(most, passed - before);
    }
    world.RunUntilIdle();
    torn += most >= others ? 1 : 0;
  }
  return torn;
}

TEST(SimulationTest, AnOperationOfOneStepIsParkedThereWhileManyOfAnotherPass) {
  EXPECT_EQ(TornByMany({.switch_one_in = 4}, 200), 0);
  EXPECT_GE(TornByMany({.switch_one_in = 4, .park_one_in = 1}, 200), 5);
}

TEST(SimulationTest, AParkedThreadGoesOnWhenNoOtherCan) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    int passed = 0;
    SimulatedWorld world(SimulationOptions{.seed = seed, .park_one_in = 1, .longest_park = uint64_t{1} << 40});
    const uint64_t start = world.micros();
    for (int thread = 0; thread < 3; ++thread) {
      world.Spawn([&] {
        world.BeginOperation();
        for (int i = 0; i < 2000; ++i) SchedulePoint(&passed);
        ++passed;
      });
    }
    world.RunUntilIdle();
    EXPECT_EQ(passed, 3);
    EXPECT_EQ(world.micros(), start);
  }
}

TEST(SimulationTest, ATimedWaitAdvancesTheVirtualClockToItsDeadline) {
  Mutex mutex;
  CondVar changed;
  SimulatedWorld world(1);
  const uint64_t start = world.MonotonicMicros();
  {
    MutexLock lock(&mutex);
    changed.WaitFor(&mutex, 5'000'000);
  }
  EXPECT_GE(world.micros(), start + 5'000'000);
  EXPECT_LT(world.micros(), start + 5'001'000);
}

TEST(SimulationTest, SleepersWakeInTheOrderOfTheirDeadlines) {
  std::vector<int> woken;
  SimulatedWorld world(4);
  for (const int seconds : {30, 10, 20}) {
    world.Spawn([&world, &woken, seconds] {
      world.SleepMicros(static_cast<uint64_t>(seconds) * 1'000'000);
      woken.push_back(seconds);
    });
  }
  world.RunUntilIdle();
  EXPECT_EQ(woken, (std::vector<int>{10, 20, 30}));
}

TEST(SimulationTest, ANotificationEndsATimedWaitBeforeItsDeadline) {
  Mutex mutex;
  CondVar changed;
  bool ready = false;
  SimulatedWorld world(2);
  const uint64_t start = world.micros();
  world.Schedule(Priority::kFlush, [&] {
    MutexLock lock(&mutex);
    ready = true;
    changed.NotifyAll();
  });
  {
    MutexLock lock(&mutex);
    while (!ready) changed.WaitFor(&mutex, 60'000'000);
  }
  EXPECT_LT(world.micros(), start + 1'000'000);
}

TEST(SimulationTest, RunUntilIdleReturnsWhenTheOthersWaitForTheCaller) {
  Notification go;
  bool done = false;
  SimulatedWorld world(6);
  world.Spawn([&] {
    go.WaitForNotification();
    done = true;
  });
  world.RunUntilIdle();
  EXPECT_FALSE(done);
  go.Notify();
  world.RunUntilIdle();
  EXPECT_TRUE(done);
}

TEST(SimulationTest, RunUntilIdleDoesNotAwaitScrubbingThatWaitsForItsNextTime) {
  SimulatedWorld world(8);
  Mutex mutex;
  CondVar changed;
  bool stop = false;
  int turns = 0;
  world.Schedule(Priority::kScrub, [&] {
    MutexLock lock(&mutex);
    while (!stop) {
      changed.WaitFor(&mutex, 1'000);
      ++turns;
    }
  });
  world.RunUntilIdle();  // would not return
  const int before = turns;
  world.SleepMicros(10'500);
  EXPECT_GE(turns, before + 9);  // while somebody else waits for time, it goes on
  {
    MutexLock lock(&mutex);
    stop = true;
    changed.NotifyAll();
  }
  world.RunUntilIdle();
}

TEST(SimulationTest, TheInMemoryFileSystemWorksInsideWithItsLocksAsPoints) {
  MemoryFileSystem files;
  SimulatedWorld world(8);
  std::unique_ptr<Directory> directory = files.OpenDirectory("/db", true).value();
  for (int i = 0; i < 4; ++i) {
    world.Spawn([&directory, i] {
      auto file = directory->OpenForWrite(std::to_string(i), WriteMode::kCreateNew).value();
      for (int round = 0; round < 10; ++round) EXPECT_TRUE(file->Append("x").ok());
    });
  }
  world.RunUntilIdle();
  EXPECT_EQ(files.UsedBytes(), 40u);
  EXPECT_GT(world.switches(), 8u);
}

TEST(SimulationDeathTest, ADeadlockStopsTheProcessAndSaysWhoWaits) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_DEATH(
      {
        Notification never;
        SimulatedWorld world(77);
        never.WaitForNotification();
      },
      "simulation with seed 77: the first thread waits.*[\n].*no deadlock");
}

}  // namespace
}  // namespace sepal

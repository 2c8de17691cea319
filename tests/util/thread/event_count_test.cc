#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sepal/env.h"
#include "sepal/simulation/simulated_world.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

TEST(EventCountTest, AWaiterThatReadBeforeAStepDoesNotWaitForAnother) {
  EventCount count;
  const uint32_t seen = count.Read();
  count.Advance();
  EXPECT_NE(count.Read(), seen);
  count.Await(seen);
}

TEST(EventCountTest, AWaitWithALimitEndsWithoutAStep) {
  EventCount count;
  const uint32_t seen = count.Read();
  count.AwaitFor(seen, 1000);
  EXPECT_EQ(count.Read(), seen);
}

// Most of them sleep by then; what was written before the step they read without a lock.
TEST(EventCountTest, OneStepLetsAllGoOnAndTheySeeWhatWasBefore) {
  constexpr int kThreads = 8;
  EventCount count;
  std::string written;
  std::vector<std::string> read(kThreads);
  {
    std::vector<Thread> threads;
    for (std::string& mine : read) {
      threads.emplace_back([&count, &written, &mine, seen = count.Read()] {
        while (count.Read() == seen) count.Await(seen);
        mine = written;
      });
    }
    Thread::SleepMicros(20'000);
    written = "before the step";
    count.Advance();
  }
  for (const std::string& mine : read) EXPECT_EQ(mine, "before the step");
}

// Each awaits the other's step, so that one that is lost holds both up for ever.
TEST(EventCountTest, NoStepIsLost) {
  constexpr uint64_t kTurns = 20'000;
  EventCount count;
  std::atomic<uint64_t> turn{0};
  const auto play = [&](uint64_t parity) {
    for (uint64_t next = parity; next < kTurns; next += 2) {
      while (true) {
        const uint32_t seen = count.Read();
        if (turn.load(std::memory_order_acquire) == next) break;
        count.Await(seen);
      }
      turn.store(next + 1, std::memory_order_release);
      count.Advance();
    }
  };
  {
    const Thread other([&] { play(1); });
    play(0);
  }
  EXPECT_EQ(turn.load(), kTurns);
}

// As where a mutex guards what is awaited: the step comes after it is let go.
TEST(EventCountTest, NoStepIsLostInASimulation) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    Mutex mutex;
    EventCount count;
    int done = 0;
    SimulatedWorld world(SimulationOptions{.seed = seed, .switch_one_in = 2});
    for (int who = 0; who < 3; ++who) {
      world.Spawn([&, who] {
        while (true) {
          uint32_t seen = 0;
          {
            MutexLock lock(&mutex);
            if (done == who && ++done > who) break;
            seen = count.Read();
          }
          count.Await(seen);
        }
        count.Advance();
      });
    }
    world.RunUntilIdle();
    EXPECT_EQ(done, 3) << seed;
  }
}

TEST(EventCountTest, InASimulationALimitIsVirtualTimeAndAStepEndsTheWaitBeforeIt) {
  EventCount count;
  SimulatedWorld world(1);
  const uint64_t start = world.micros();
  count.AwaitFor(count.Read(), 5'000'000);
  EXPECT_GE(world.micros(), start + 5'000'000);
  EXPECT_LT(world.micros(), start + 5'001'000);
  const uint32_t seen = count.Read();
  world.Spawn([&] { count.Advance(); });
  while (count.Read() == seen) count.AwaitFor(seen, 60'000'000);
  EXPECT_LT(world.micros(), start + 6'000'000);
}

}  // namespace
}  // namespace sepal

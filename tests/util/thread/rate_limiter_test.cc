#include "util/thread/rate_limiter.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sepal/simulation/manual_clock.h"
#include "sepal/simulation/simulated_world.h"

namespace sepal {
namespace {

constexpr auto kFlush = Executor::Priority::kFlush;
constexpr auto kCompaction = Executor::Priority::kCompaction;

TEST(RateLimiterTest, WithoutALimitNobodyWaits) {
  ManualClock clock;
  RateLimiter limiter(0, &clock);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(limiter.Take(uint64_t{1} << 40, kCompaction), 0u);
}

TEST(RateLimiterTest, AnIdleBucketGivesABurstAndOneRequestMoreAtOnce) {
  ManualClock clock;
  RateLimiter limiter(1'000'000, &clock);
  // 100 ms are saved up: the 100,000th byte leaves the bucket empty, and the next request may still be granted.
  EXPECT_EQ(limiter.Take(60'000, kCompaction), 0u);
  EXPECT_EQ(limiter.Take(40'000, kCompaction), 0u);
  EXPECT_EQ(limiter.Take(500'000, kCompaction), 0u);
  clock.Advance(500'000);
  EXPECT_EQ(limiter.Take(1, kCompaction), 0u);
}

// Takes `count` pieces of `bytes` in each of `threads`; the virtual time that it took.
uint64_t MicrosToTake(uint64_t rate, int threads, int count, uint64_t bytes, uint64_t seed) {
  SimulatedWorld world(seed);
  RateLimiter limiter(rate, &world);
  const uint64_t began = world.micros();
  for (int t = 0; t < threads; ++t) {
    world.Spawn([&] {
      for (int i = 0; i < count; ++i) limiter.Take(bytes, kCompaction);
    });
  }
  world.RunUntilIdle();
  return world.micros() - began;
}

TEST(RateLimiterTest, HoldsTheRateWhateverTheSizeOfRequests) {
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{1000}, uint64_t{70'000}}) {
    constexpr uint64_t kCount = 300;
    const uint64_t rate = bytes * 50;
    const uint64_t expected = 3 * kCount * 1'000'000 / 50;
    const uint64_t micros = MicrosToTake(rate, 3, kCount, bytes, 1);
    // All but the burst and the last request have been waited for.
    EXPECT_GE(micros + RateLimiter::kBurstMicros + 1'000'000 / 50 + 1, expected) << bytes;
    EXPECT_LE(micros, expected + 100'000) << bytes;
  }
}

TEST(RateLimiterTest, RequestsSmallerThanAMicrosecondsWorthAddUp) {
  const uint64_t micros = MicrosToTake(uint64_t{1} << 30, 1, 20'000, 64 << 10, 1);
  EXPECT_GE(micros + RateLimiter::kBurstMicros + 100, uint64_t{20'000} * (64 << 10) * 1'000'000 >> 30);
}

TEST(RateLimiterTest, TheSameSeedTakesTheSameTime) {
  for (uint64_t seed = 1; seed < 5; ++seed) {
    EXPECT_EQ(MicrosToTake(50'000, 3, 20, 4096, seed), MicrosToTake(50'000, 3, 20, 4096, seed));
  }
}

TEST(RateLimiterTest, FlushesGoBeforeCompactionsAndEachInOrderOfArrival) {
  for (uint64_t seed = 1; seed < 20; ++seed) {
    SimulatedWorld world(seed);
    RateLimiter limiter(1000, &world);
    limiter.Take(1000, kCompaction);  // in debt for 0.9 s
    std::vector<std::string> order;
    const auto arrive = [&](const char* name, Executor::Priority priority, uint64_t after_micros) {
      world.Spawn([&, name, priority, after_micros] {
        world.SleepMicros(after_micros);
        EXPECT_GT(limiter.Take(10, priority), 0u);
        order.emplace_back(name);
      });
    };
    arrive("first compaction", kCompaction, 1000);
    arrive("second compaction", kCompaction, 50'000);
    arrive("first flush", kFlush, 100'000);
    arrive("second flush", kFlush, 200'000);
    world.RunUntilIdle();
    EXPECT_EQ(order, (std::vector<std::string>{"first flush", "second flush", "first compaction", "second compaction"}))
        << seed;
  }
}

TEST(RateLimiterTest, LiftingLetsThoseWhoWaitGoOnAndNobodyWaitsAfterwards) {
  SimulatedWorld world(3);
  RateLimiter limiter(1, &world);
  limiter.Take(uint64_t{1} << 30, kCompaction);
  int done = 0;
  for (const Executor::Priority priority : {kFlush, kCompaction, kCompaction}) {
    world.Spawn([&, priority] {
      limiter.Take(1000, priority);
      ++done;
    });
  }
  world.SleepMicros(1'000'000);
  EXPECT_EQ(done, 0);
  limiter.Lift();
  world.RunUntilIdle();
  EXPECT_EQ(done, 3);
  EXPECT_LT(limiter.Take(1000, kCompaction), 100u);
}

}  // namespace
}  // namespace sepal

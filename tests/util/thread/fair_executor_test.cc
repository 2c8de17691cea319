#include "util/thread/fair_executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "sepal/simulation/simulated_world.h"
#include "util/thread/sync.h"
#include "util/thread/thread_pool.h"

namespace sepal {
namespace {

using Priority = Executor::Priority;

// Runs what it was given when it is told to, in the calling thread.
class ByHand final : public Executor {
 public:
  void Schedule(Priority, std::function<void()> work) override { work_.push_back(std::move(work)); }
  int CompactionConcurrency() const override { return 1; }
  void RunOne() {
    const std::function<void()> work = std::move(work_.front());
    work_.pop_front();
    work();
  }
  void RunAll() {
    while (!work_.empty()) RunOne();
  }

 private:
  std::deque<std::function<void()>> work_;
};

TEST(FairExecutorTest, ClientsTakeTurnsAndEachKeepsItsOrder) {
  ByHand below;
  FairExecutor fair(&below, Clock::System(), 0);
  FairExecutor::Client a(&fair), b(&fair);
  std::string order;
  for (const char c : {'1', '2', '3'}) a.Schedule(Priority::kCompaction, [&order, c] { order += c; });
  for (const char c : {'x', 'y'}) b.Schedule(Priority::kCompaction, [&order, c] { order += c; });
  below.RunAll();
  EXPECT_EQ(order, "1x2y3");
}

TEST(FairExecutorTest, WhatIsForLaterWaitsInTheExecutorBelowIfThatCan) {
  ByHand below;
  FairExecutor fair(&below, Clock::System(), 0);
  FairExecutor::Client client(&fair);
  EXPECT_FALSE(client.ScheduleAfter(Priority::kFlush, 1000, [] {}));
  ThreadPool pool(1, 1);
  FairExecutor own(&pool, Clock::System(), 1);
  std::atomic<bool> ran{false};
  {
    FairExecutor::Client other(&own);
    EXPECT_TRUE(other.ScheduleAfter(Priority::kFlush, 1000, [&] { ran = true; }));
  }
  while (!ran) Clock::System()->SleepMicros(100);
}

TEST(FairExecutorTest, WhatIsPutOffWaitsAndHoldsNobodyUp) {
  SimulatedWorld world({.seed = 1});
  FairExecutor fair(&world, &world, 0);
  std::vector<std::string> order;
  Mutex mutex;
  const auto note = [&](std::string what) {
    MutexLock lock(&mutex);
    order.push_back(std::move(what));
  };
  {
    FairExecutor::Client a(&fair), b(&fair);
    const uint64_t began = world.MonotonicMicros();
    a.PutOff(Priority::kFlush, 50'000, [&] { note(world.MonotonicMicros() >= began + 50'000 ? "late" : "early"); });
    b.Schedule(Priority::kFlush, [&] { note("b"); });
    world.SleepMicros(200'000);
    note("end");
  }
  EXPECT_EQ(order, (std::vector<std::string>{"b", "late", "end"}));
}

TEST(FairExecutorTest, WhoHurriesPutsNothingOff) {
  ByHand below;
  FairExecutor fair(&below, Clock::System(), 0);
  FairExecutor::Client a(&fair);
  int ran = 0;
  constexpr uint64_t kAnHour = uint64_t{3'600'000'000};
  a.PutOff(Priority::kFlush, kAnHour, [&] { ++ran; });
  a.Hurry();
  a.PutOff(Priority::kFlush, kAnHour, [&] { ++ran; });
  below.RunAll();
  EXPECT_EQ(ran, 2);
}

// Of three threads one is left to others, whatever the first has waiting.
TEST(FairExecutorTest, NoClientHasAllThreadsBesideOthers) {
  Mutex mutex;
  CondVar changed;
  bool b_ran = false;
  std::atomic<int> running{0}, most{0};
  ThreadPool pool(/*flush_threads=*/3, /*compaction_threads=*/1);
  FairExecutor fair(&pool, Clock::System(), 3);
  FairExecutor::Client a(&fair), b(&fair);
  for (int i = 0; i < 6; ++i) {
    a.Schedule(Priority::kFlush, [&] {
      const int now = running.fetch_add(1) + 1;
      for (int seen = most.load(); seen < now && !most.compare_exchange_weak(seen, now);) {
      }
      MutexLock lock(&mutex);
      while (!b_ran) changed.Wait(&mutex);
      running.fetch_sub(1);
    });
  }
  b.Schedule(Priority::kFlush, [&] {
    MutexLock lock(&mutex);
    b_ran = true;
    changed.NotifyAll();
  });
  MutexLock lock(&mutex);
  while (!b_ran) changed.Wait(&mutex);
  EXPECT_LE(most.load(), 2);
}

}  // namespace
}  // namespace sepal

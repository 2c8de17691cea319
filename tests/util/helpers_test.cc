#include "util/helpers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <functional>
#include <thread>
#include <utility>

#include "util/thread_pool.h"

namespace sepal {
namespace {

using Priority = Executor::Priority;

// Keeps work until it is told to run it.
class LateExecutor final : public Executor {
 public:
  void Schedule(Priority, std::function<void()> work) override { late_.push_back(std::move(work)); }
  int CompactionConcurrency() const override { return 1; }
  size_t RunAll() {
    size_t ran = 0;
    for (; !late_.empty(); late_.pop_front(), ++ran) late_.front()();
    return ran;
  }

 private:
  std::deque<std::function<void()>> late_;
};

TEST(HelpersTest, AsMayComeAsAreAskedForInAll) {
  LateExecutor executor;
  int calls = 0;
  Helpers helpers(&executor, Priority::kCompaction, [&] { ++calls; });
  helpers.Ask(0);
  EXPECT_EQ(executor.RunAll(), 0u);
  helpers.Ask(2);
  helpers.Ask(1);
  EXPECT_EQ(executor.RunAll(), 2u);
  helpers.Ask(3);
  EXPECT_EQ(executor.RunAll(), 1u);
  EXPECT_EQ(calls, 3);
}

TEST(HelpersTest, WhoStartsLateTouchesNothing) {
  LateExecutor executor;
  int calls = 0;
  {
    Helpers helpers(&executor, Priority::kCompaction, [&] { ++calls; });
    helpers.Ask(2);
  }
  EXPECT_EQ(executor.RunAll(), 2u);
  EXPECT_EQ(calls, 0);
}

TEST(HelpersTest, WhoHasBegunIsWaitedFor) {
  ThreadPool pool(1, 3);
  for (int round = 0; round < 10; ++round) {
    std::atomic<int> begun{0};
    std::atomic<int> ended{0};
    {
      Helpers helpers(&pool, Priority::kCompaction, [&] {
        ++begun;
        Clock::System()->SleepMicros(2000);  // longer than it takes to call the others off
        ++ended;
      });
      helpers.Ask(3);
      while (begun == 0) std::this_thread::yield();
    }
    EXPECT_EQ(begun, ended);
  }
}

}  // namespace
}  // namespace sepal

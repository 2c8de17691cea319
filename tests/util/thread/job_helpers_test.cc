#include "util/thread/job_helpers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "tests/util/thread/held_executor.h"
#include "util/thread/thread_pool.h"

namespace sepal {
namespace {

using Priority = Executor::Priority;

TEST(HelpersTest, AsManyHelpersComeAsAreAskedForInAll) {
  HeldExecutor executor;
  int calls = 0;
  Helpers helpers(&executor, Priority::kCompaction, [&] { ++calls; });
  helpers.Ask(0);
  EXPECT_EQ(executor.held(), 0u);
  helpers.Ask(2);
  helpers.Ask(1);
  EXPECT_EQ(executor.held(), 2u);
  executor.RunAll();
  helpers.Ask(3);
  EXPECT_EQ(executor.held(), 1u);
  executor.RunAll();
  EXPECT_EQ(calls, 3);
}

TEST(HelpersTest, AHelperThatStartsLateTouchesNothing) {
  HeldExecutor executor;
  int calls = 0;
  {
    Helpers helpers(&executor, Priority::kCompaction, [&] { ++calls; });
    helpers.Ask(2);
  }
  EXPECT_EQ(executor.held(), 2u);
  executor.RunAll();
  EXPECT_EQ(calls, 0);
}

TEST(HelpersTest, AHelperThatHasBegunIsWaitedFor) {
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

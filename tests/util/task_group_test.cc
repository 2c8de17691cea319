#include "util/task_group.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>

#include "tests/util/held_executor.h"
#include "util/thread_pool.h"

namespace sepal {
namespace {

TEST(TaskGroupTest, ClosingWaitsForEveryTaskAndWhatItHolds) {
  ThreadPool pool(2, 1);
  for (int round = 0; round < 200; ++round) {
    auto held = std::make_shared<std::atomic<int>>(0);
    const std::weak_ptr<std::atomic<int>> watched = held;
    TaskGroup group(&pool, Executor::Priority::kFlush);
    for (int i = 0; i < 5; ++i) {
      EXPECT_TRUE(group.Run([held] { held->fetch_add(1); }));
    }
    group.Close();
    EXPECT_EQ(held->load(), 5);
    held.reset();
    EXPECT_TRUE(watched.expired());
  }
}

TEST(TaskGroupTest, AClosedGroupTakesNothing) {
  HeldExecutor executor;
  TaskGroup group(&executor, Executor::Priority::kFlush);
  group.Close();
  group.Close();
  EXPECT_FALSE(group.Run([] { FAIL(); }));
  EXPECT_EQ(executor.held(), 0u);
}

}  // namespace
}  // namespace sepal

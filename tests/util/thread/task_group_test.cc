#include "util/thread/task_group.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "tests/util/thread/held_executor.h"
#include "util/thread/sync.h"
#include "util/thread/thread_pool.h"

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

// An executor whose work may end before whoever gave it has left.
class SlowToReturn final : public Executor {
 public:
  void Schedule(Priority, std::function<void()> work) override {
    Thread worker(std::move(work));
    worker.Join();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    ++left_;
  }
  int CompactionConcurrency() const override { return 1; }
  int left() const { return left_.load(); }

 private:
  std::atomic<int> left_{0};
};

TEST(TaskGroupTest, ClosingWaitsForThoseWhoAreStillInTheExecutor) {
  for (int round = 0; round < 20; ++round) {
    auto executor = std::make_unique<SlowToReturn>();
    TaskGroup group(executor.get(), Executor::Priority::kFlush);
    std::atomic<bool> done{false};
    Thread giver([&] { EXPECT_TRUE(group.Run([&] { done.store(true); })); });
    while (!done.load()) std::this_thread::yield();
    group.Close();
    EXPECT_EQ(executor->left(), 1);
    giver.Join();
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

TEST(RepeatedTaskTest, IsDoneOnceMoreForWhatIsAskedWhileItRuns) {
  HeldExecutor executor;
  TaskGroup group(&executor, Executor::Priority::kFlush);
  int done = 0;
  RepeatedTask* asked = nullptr;
  RepeatedTask task(&group, [&] {
    if (++done != 1) return;
    asked->Ask();
    asked->Ask();
    EXPECT_EQ(executor.held(), 0u);  // nobody else begins beside this
    EXPECT_EQ(done, 1);
  });
  asked = &task;
  task.Ask();
  task.Ask();
  EXPECT_EQ(executor.held(), 1u);
  executor.RunAll();
  EXPECT_EQ(done, 2);
  task.Ask();
  EXPECT_EQ(executor.held(), 1u);
  executor.RunAll();
  EXPECT_EQ(done, 3);
}

// A cache that cannot give what it is asked for does not keep flushes from beginning.
TEST(RepeatedTaskTest, LetsWhatTheExecutorWasGivenMeanwhileGoFirst) {
  HeldExecutor executor;
  TaskGroup group(&executor, Executor::Priority::kFlush);
  std::string order;
  RepeatedTask* asked = nullptr;
  RepeatedTask task(&group, [&] {
    order += "t";
    if (order.size() >= 6) return;
    executor.Schedule(Executor::Priority::kFlush, [&] { order += "f"; });
    asked->Ask();
  });
  asked = &task;
  task.Ask();
  executor.RunAll();
  EXPECT_EQ(order, "tftftft");
}

TEST(RepeatedTaskTest, IsDoneOnceMoreAlsoWhereTheGroupIsClosedMeanwhile) {
  HeldExecutor executor;
  TaskGroup group(&executor, Executor::Priority::kFlush);
  int done = 0;
  RepeatedTask* asked = nullptr;
  std::unique_ptr<Thread> closes;
  RepeatedTask task(&group, [&] {
    if (++done != 1) return;
    asked->Ask();
    closes = std::make_unique<Thread>([&] { group.Close(); });
    while (group.Run([] {})) executor.RunOne();
  });
  asked = &task;
  task.Ask();
  executor.RunAll();
  closes.reset();
  EXPECT_EQ(done, 2);
}

TEST(RepeatedTaskTest, SeesAllThatWasDoneBeforeItWasAskedAndRunsOnOneThread) {
  ThreadPool pool(2, 1);
  TaskGroup group(&pool, Executor::Priority::kFlush);
  std::atomic<int> given{0};
  std::atomic<int> running{0};
  int seen = 0;
  int beside = 0;
  RepeatedTask task(&group, [&] {
    beside += running.fetch_add(1) == 0 ? 0 : 1;
    seen = given.load(std::memory_order_relaxed);
    running.fetch_sub(1);
  });
  for (int i = 0; i < 20'000; ++i) {
    given.fetch_add(1, std::memory_order_relaxed);
    task.Ask();
  }
  group.Close();
  EXPECT_EQ(seen, 20'000);
  EXPECT_EQ(beside, 0);
}

}  // namespace
}  // namespace sepal

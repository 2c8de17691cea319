#include "util/thread/side_job.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/util/thread/held_executor.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

TEST(SideJobTest, AThreadThatComesInTimeDoesIt) {
  HeldExecutor executor;
  SideJob side(&executor, Executor::Priority::kFlush);
  int done = 0;
  side.Offer([&] { ++done; });
  executor.RunAll();
  EXPECT_TRUE(side.Settle());
  EXPECT_EQ(done, 1);
}

TEST(SideJobTest, OneThatComesLaterDoesNothing) {
  HeldExecutor executor;
  int done = 0;
  {
    SideJob side(&executor, Executor::Priority::kFlush);
    side.Offer([&] { ++done; });
    EXPECT_FALSE(side.Settle());
  }
  executor.RunAll();
  EXPECT_EQ(done, 0);
}

// A busy executor has one request, and whoever starts it does the job that is on offer by then.
TEST(SideJobTest, OneRequestServesTheJobOnOffer) {
  HeldExecutor executor;
  SideJob side(&executor, Executor::Priority::kFlush);
  std::vector<int> done;
  for (int i = 0; i < 100; ++i) {
    side.Offer([&done, i] { done.push_back(i); });
    EXPECT_EQ(executor.held(), 1u);
    if (i < 99) {
      EXPECT_FALSE(side.Settle());
    }
  }
  executor.RunAll();
  EXPECT_TRUE(side.Settle());
  EXPECT_EQ(done, std::vector<int>({99}));
  side.Offer([&done] { done.push_back(100); });
  EXPECT_EQ(executor.held(), 1u) << "the next one needs a request of its own";
  executor.RunAll();
  EXPECT_TRUE(side.Settle());
}

TEST(SideJobTest, SettleWaitsForTheThreadThatDoesIt) {
  HeldExecutor executor;
  SideJob side(&executor, Executor::Priority::kFlush);
  Notification begun;
  Notification may_end;
  bool ended = false;
  side.Offer([&] {
    begun.Notify();
    may_end.WaitForNotification();
    ended = true;
  });
  Thread helper([&] { executor.RunAll(); });
  begun.WaitForNotification();
  Thread other([&] { may_end.Notify(); });
  EXPECT_TRUE(side.Settle());
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace sepal

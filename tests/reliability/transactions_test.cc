#include <gtest/gtest.h>

#include "tests/reliability/expect_nothing_found.h"
#include "tests/reliability/transaction_history.h"

namespace sepal::reliability {
namespace {

TEST(TransactionsHarnessTest, ASampleOfHistoriesIsSerializable) { ExpectNothingFound("transactions", {.count = 300}); }

// Shows, too, that the check of histories finds cycles, and that there are conflicts.
TEST(TransactionsHarnessTest, SnapshotHistoriesLoseNothingButHaveCycles) {
  for (const Locking locking : {Locking::kOptimistic, Locking::kPessimistic}) {
    int cycles = 0;
    uint64_t aborted = 0;
    for (uint64_t seed = 1; seed <= 60; ++seed) {
      const TransactionHistory history =
          RunTransactions({.locking = locking, .lock_timeout = std::chrono::milliseconds(100)}, seed);
      ASSERT_EQ(FindBroken(history), "") << "seed " << seed;
      cycles += HasCycle(history) ? 1 : 0;
      aborted += history.aborted;
    }
    EXPECT_GT(cycles, 0);
    EXPECT_GT(aborted, 60u);
  }
}

TEST(TransactionsHarnessTest, WhatIsBrokenIsSeen) {
  TransactionHistory history;
  history.lists = {{"k", "1,2"}};
  history.after_restart = history.lists;
  history.committed[1] = {.read = {{"k", ""}}, .appended = {"k"}, .durable = true};
  history.committed[2] = {.read = {{"k", "1"}}, .appended = {"k"}, .durable = false};
  EXPECT_EQ(FindBroken(history), "");
  EXPECT_FALSE(HasCycle(history));
  TransactionHistory lost = history;
  lost.committed[3] = {.read = {}, .appended = {"k"}, .durable = false};
  EXPECT_NE(FindBroken(lost), "");
  TransactionHistory never = history;
  never.committed[2].read["k"] = "2";
  EXPECT_NE(FindBroken(never), "");
  TransactionHistory uncommitted = history;
  uncommitted.committed.erase(2);
  EXPECT_NE(FindBroken(uncommitted), "");
  TransactionHistory restarted = history;
  restarted.after_restart = {{"k", "1"}};
  EXPECT_EQ(FindBroken(restarted), "");
  restarted.after_restart = {};
  EXPECT_NE(FindBroken(restarted), "");
  // Each read before the other one's write.
  TransactionHistory skew;
  skew.lists = {{"x", "1"}, {"y", "2"}};
  skew.committed[1] = {.read = {{"y", ""}, {"x", ""}}, .appended = {"x"}, .durable = false};
  skew.committed[2] = {.read = {{"x", ""}, {"y", ""}}, .appended = {"y"}, .durable = false};
  EXPECT_TRUE(HasCycle(skew));
}

}  // namespace
}  // namespace sepal::reliability

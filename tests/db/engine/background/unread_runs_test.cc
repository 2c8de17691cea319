// Merges of level 0 that wait until somebody reads.
#include <gtest/gtest.h>

#include "sepal/event_listener.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

constexpr int kRunsPerLevel = 3;
constexpr int kUnreadRuns = 5;
constexpr uint64_t kEntries = 320;  // of each flush

class UnreadRunsTest : public EngineTest {
 protected:
  UnreadRunsTest() {
    database.tuning.runs_per_level = kRunsPerLevel;
    database.tuning.unread_runs = kUnreadRuns;
    database.tuning.memtable_bytes = size_t{256} << 10;
    database.tuning.memtable_limit_bytes = size_t{1} << 20;
    database.tuning.log_limit_bytes = size_t{1} << 20;
    database.tuning.table_bytes = size_t{256} << 10;
  }
  void SetUp() override {
    EngineTest::SetUp();
    ASSERT_OK(database.Reopen());
  }
  // Fresh keys over the whole range, with one more left in memory: at rest all would be merged.
  void FlushOnce() {
    ASSERT_OK(db()->Put(NumberedKey(next_++), "value"));
    for (uint64_t i = 1; i < kEntries; ++i) ASSERT_OK(db()->Put(NumberedKey(next_++ * 7919 % 999'983), "value"));
    ASSERT_OK(db()->Flush({.wait = false}));
    ASSERT_OK(db()->Put("last", "value"));
    ASSERT_OK(db()->WaitForBackgroundWork());
  }
  void FlushRuns(int runs) {
    for (int run = 0; run < runs; ++run) ASSERT_NO_FATAL_FAILURE(FlushOnce());
  }
  std::string Levels() { return db()->GetProperty("sepal.levels").value(); }
  // A table each.
  int Level0Runs() { return std::stoi(db()->GetProperty("sepal.num-files-at-level0").value()); }
  void ExpectMerged() {
    ASSERT_OK(db()->WaitForBackgroundWork());
    EXPECT_LT(Level0Runs(), kRunsPerLevel) << Levels();
  }

  uint64_t next_ = 0;
};

TEST_F(UnreadRunsTest, GetsThatMeetUnreadRunsHaveThemMerged) {
  ASSERT_NO_FATAL_FAILURE(FlushRuns(kRunsPerLevel + 1));
  ASSERT_EQ(Level0Runs(), kRunsPerLevel + 1) << Levels();
  // Nothing is written any more: the readers themselves are heard.
  for (uint64_t i = 0; i < 600; ++i) EXPECT_EQ(Value(db(), NumberedKey(i) + "x"), "NOT_FOUND");
  ExpectMerged();
}

TEST_F(UnreadRunsTest, GetsThatMemtablesAnswerHaveNothingMerged) {
  ASSERT_NO_FATAL_FAILURE(FlushRuns(kRunsPerLevel + 1));
  for (uint64_t i = 0; i < 2000; ++i) EXPECT_EQ(Value(db(), "last"), "value");
  ASSERT_NO_FATAL_FAILURE(FlushOnce());
  EXPECT_EQ(Level0Runs(), kRunsPerLevel + 2) << Levels();
}

TEST_F(UnreadRunsTest, MultiGetsThatMeetUnreadRunsHaveThemMerged) {
  ASSERT_NO_FATAL_FAILURE(FlushRuns(kRunsPerLevel + 1));
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < 64; ++i) keys.push_back(NumberedKey(i));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  for (int i = 0; i < 4; ++i) {
    std::vector<PinnedValue> values(views.size());
    std::vector<absl::Status> statuses(views.size());
    db()->MultiGet(views, values, statuses).IgnoreError();
  }
  ExpectMerged();
}

TEST_F(UnreadRunsTest, FewRunsThatAreReadOftenBecomeOneThoughSomethingIsInAMemtable) {
  database.tuning.memtable_bytes = size_t{64} << 10;  // so that they are not too small to be rewritten
  ASSERT_OK(database.Reopen());
  ASSERT_NO_FATAL_FAILURE(FlushRuns(kRunsPerLevel - 1));
  ASSERT_EQ(Level0Runs(), kRunsPerLevel - 1) << Levels();
  const auto seek = [&](uint64_t times) {
    const std::unique_ptr<Iterator> it = db()->NewIterator();
    for (uint64_t i = 0; i < times; ++i) it->Seek(NumberedKey(i));
    EXPECT_OK(it->status());
  };
  seek(200);
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(Level0Runs(), kRunsPerLevel - 1) << "less than it would cost to rewrite them";
  seek(2000);
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(db()->GetProperty("sepal.num-runs").value(), "1") << Levels();
}

TEST_F(UnreadRunsTest, SeeksThatMeetUnreadRunsHaveThemMerged) {
  ASSERT_NO_FATAL_FAILURE(FlushRuns(kRunsPerLevel + 1));
  for (uint64_t i = 0; i < 10; ++i) {
    const std::unique_ptr<Iterator> iterator = db()->NewIterator();
    iterator->Seek(NumberedKey(i));
    ASSERT_TRUE(iterator->Valid());
  }
  ExpectMerged();
}

TEST_F(UnreadRunsTest, AScanOfUnreadRunsHasThemMerged) {
  ASSERT_NO_FATAL_FAILURE(FlushRuns(kRunsPerLevel + 1));
  EXPECT_GT(ReadAll(db()->NewIterator().get()).size(), kEntries);
  (void)db()->NewIterator();
  ExpectMerged();
}

// Who finishes a load, closes and opens to read finds what he would have found before.
TEST_F(UnreadRunsTest, AnOpeningMergesUnreadRuns) {
  ASSERT_NO_FATAL_FAILURE(FlushRuns(kRunsPerLevel + 1));
  ASSERT_EQ(Level0Runs(), kRunsPerLevel + 1) << Levels();
  ASSERT_OK(database.Reopen());
  ExpectMerged();
  ASSERT_NO_FATAL_FAILURE(FlushRuns(kRunsPerLevel));
  EXPECT_GE(Level0Runs(), kRunsPerLevel) << "and waits again: " << Levels();
}

TEST_F(UnreadRunsTest, WhatIsAskedForInAPauseIsDoneAfterIt) {
  ASSERT_NO_FATAL_FAILURE(FlushRuns(kRunsPerLevel + 1));
  ASSERT_OK(db()->PauseBackgroundWork());
  for (uint64_t i = 0; i < 600; ++i) (void)Value(db(), NumberedKey(i) + "x");
  EXPECT_EQ(Level0Runs(), kRunsPerLevel + 1) << Levels();
  ASSERT_OK(db()->ContinueBackgroundWork());
  ExpectMerged();
}

// Of one family; another's do not wait longer than its own entries ask for.
TEST_F(UnreadRunsTest, ReadsOfOneFamilyHaveOthersMergedToo) {
  ASSERT_NO_FATAL_FAILURE(FlushRuns(kRunsPerLevel + 1));
  const absl::StatusOr<std::shared_ptr<ColumnFamily>> other = db()->CreateColumnFamily("other");
  ASSERT_OK(other.status());
  for (uint64_t i = 0; i < 50; ++i) ASSERT_OK(db()->Put(**other, NumberedKey(i), "value"));
  ASSERT_OK(db()->Flush(**other));
  for (uint64_t i = 0; i < 600; ++i) (void)db()->Get(**other, NumberedKey(i % 50));
  ExpectMerged();
}

class Throttles final : public EventListener {
 public:
  void OnThrottleChange(const ThrottleEvent& event) override { reason = event.reason; }
  std::string reason;
};

TEST_F(UnreadRunsTest, RunsThatMayBeThereSlowNobodyDown) {
  database.tuning.unread_runs = 40;
  const auto throttles = std::make_shared<Throttles>();
  database.options.listeners = {throttles};
  ASSERT_OK(database.Reopen());
  ASSERT_NO_FATAL_FAILURE(FlushRuns(5 * kRunsPerLevel));
  EXPECT_EQ(Level0Runs(), 5 * kRunsPerLevel) << Levels();
  EXPECT_EQ(throttles->reason, "");
  EXPECT_EQ(db()->statistics().Get(Ticker::kThrottledWrites), 0u);
}

TEST_F(UnreadRunsTest, ReadersOfADatabaseThatIsClosedOrOnlyReadAreNoTrouble) {
  ASSERT_NO_FATAL_FAILURE(FlushRuns(kRunsPerLevel + 1));
  ASSERT_OK(db()->Close());
  const auto read_only = database.OpenReadOnly();
  ASSERT_OK(read_only.status());
  for (uint64_t i = 0; i < 600; ++i) EXPECT_EQ(Value(read_only->get(), NumberedKey(i) + "x"), "NOT_FOUND");
  EXPECT_EQ((*read_only)->GetProperty("sepal.num-files-at-level0"), std::to_string(kRunsPerLevel + 1));
}

}  // namespace
}  // namespace sepal

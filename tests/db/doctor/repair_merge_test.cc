// What a repair merges where the manifest is not whole: all tables that are there, and what the logs hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/db/doctor/repair_fixture.h"

namespace sepal {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

using RepairMergeTest = RepairSalvageTest;

TEST_F(RepairMergeTest, MoreThanATableAndMoreThanAMemtableAreMergedAndReplayedInPieces) {
  database.tuning.log_limit_bytes = uint64_t{4} << 20;
  database.tuning.memtable_bytes = size_t{1} << 20;
  database.tuning.memtable_limit_bytes = size_t{4} << 20;
  ASSERT_OK(database.Open());
  Fill(0, 300);
  ASSERT_OK(db()->Flush());
  Fill(150, 450, 50);
  ASSERT_OK(db()->Flush());
  Fill(400, 1000, 60);
  Kill();
  Remove("MANIFEST");
  database.tuning.memtable_bytes = size_t{16} << 10;
  ASSERT_OK(Repair());
  EXPECT_EQ(report.updates_from_logs, 600u);
  ASSERT_OK(database.Open());
  const Contents all = All();
  EXPECT_THAT(all, SizeIs(1000));
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(all.at(NumberedKey(i)).size(), i < 150 ? 40u : i < 400 ? 50u : 60u) << i;
  }
  const std::string levels = FilesPerLevel(db());
  EXPECT_GT(NumberProperty(db(), "sepal.num-files-at-level" + std::to_string(kMaxLevels - 1)), 1u) << levels;
  ASSERT_OK(db()->CheckConsistency());
}

// A flush makes several tables where ranges were written in order, so that what the log holds up to the highest number
// of a table that is there need not be in tables.
TEST_F(RepairMergeTest, OfAFlushThatMadeTheFirstOfItsTablesTheLogHasTheRest) {
  database.tuning.memtable_bytes = size_t{256} << 10;
  database.tuning.memtable_limit_bytes = size_t{1} << 20;
  database.tuning.log_limit_bytes = uint64_t{1} << 20;
  ASSERT_OK(database.Open());
  Fill(150, 300, 200);
  Fill(0, 150, 200);
  ASSERT_THAT(Last(".sst"), IsEmpty());
  const Contents expected = All();
  Kill();
  {
    TestDatabase flushed(Threads::kSimulated, {.seed = 1}, database.memory.Clone());
    flushed.tuning = database.tuning;
    ASSERT_OK(flushed.Open());
    std::vector<std::string> tables;
    for (const std::string& name : FilesIn(&flushed.memory, "/db")) {
      if (name.ends_with(".sst")) tables.push_back(name);
    }
    ASSERT_THAT(tables, SizeIs(2));
    Write(tables[0], flushed.memory.ReadFileContents("/db/" + tables[0]).value());
  }
  DamageLastEdit();
  ASSERT_OK(Repair(/*dry_run=*/true));
  EXPECT_EQ(report.updates_from_logs, 300u);
  FailEachCall();
  // The second repair finds the first table that the one which died made of the log.
  FailEachCall(Failing::kForGood);
  ASSERT_OK(Repair());
  EXPECT_EQ(report.updates_from_logs, 300u);
  ASSERT_OK(database.Open());
  EXPECT_EQ(All(), expected);
  ASSERT_OK(db()->CheckConsistency());
}

}  // namespace
}  // namespace sepal

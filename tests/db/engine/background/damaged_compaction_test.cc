// A compaction that reads damage is put off, and everything that does not need its tables goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sepal/event_listener.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

class ErrorKeeper final : public EventListener {
 public:
  void OnError(std::string_view context, const absl::Status& status) override {
    told.push_back(std::string(context) + ": " + status.ToString());
  }
  std::vector<std::string> told;
};

class DamagedCompactionTest : public EngineTest {
 protected:
  void SetUp() override {
    database.options.listeners = {errors};
    database.options.family.compaction_style = CompactionStyle::kLeveled;
    EngineTest::SetUp();
  }

  void FillAndFlush(uint64_t begin, uint64_t end) {
    Fill(begin, end);
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->WaitForBackgroundWork());
  }
  // Keys [begin, end) in a run of level 1.
  void Settle(uint64_t begin, uint64_t end) {
    FillAndFlush(begin, end);
    ASSERT_OK(db()->CompactRange());
  }
  // Runs enough of [begin, end) for a compaction of level 0. Flushed without waiting for it.
  void PileUp(uint64_t begin, uint64_t end) {
    for (int i = 0; i < database.tuning.runs_per_level; ++i) {
      Fill(begin, end);
      ASSERT_OK(db()->Flush());
    }
    ASSERT_OK(db()->WaitForBackgroundWork());
  }
  // Damages the first block of the newest table, in memory's file system and in no cache: the database is opened anew.
  void DamageTheNewestTable() {
    std::string newest;
    for (const std::string& name : FilesIn(&database.memory, database.path)) {
      if (name.ends_with(".sst")) newest = std::max(newest, name);
    }
    ASSERT_FALSE(newest.empty());
    database.db.reset();
    ASSERT_OK(database.memory.FlipBit(database.path + "/" + newest, 100, 3));
    ASSERT_OK(database.Open());
  }
  std::string PutOffCompactions() { return db()->GetProperty("sepal.compactions-put-off").value_or("?"); }
  std::string AtLevel(int level) {
    return db()->GetProperty("sepal.num-files-at-level" + std::to_string(level)).value_or("?");
  }
  void ExpectWritesGoOn() {
    EXPECT_OK(db()->Put(NumberedKey(999'999), "new"));
    EXPECT_OK(db()->Sync());
    EXPECT_EQ(db()->Get(NumberedKey(999'999)).value_or("?"), "new");
    EXPECT_EQ(db()->GetProperty("sepal.background-error"), "OK");
  }

  const std::shared_ptr<ErrorKeeper> errors = std::make_shared<ErrorKeeper>();
};

TEST_F(DamagedCompactionTest, DamagePutsOffTheCompactionThatMeetsItAndWritingGoesOn) {
  Settle(0, 500);
  DamageTheNewestTable();
  EXPECT_EQ(PutOffCompactions(), "");
  PileUp(0, 500);
  EXPECT_THAT(PutOffCompactions(), HasSubstr("DATA_LOSS"));
  ASSERT_EQ(errors->told.size(), 1u);
  EXPECT_THAT(errors->told.front(), HasSubstr("put off"));
  ExpectWritesGoOn();
  // Flushes pile up in level 0: nothing newer passes what waits.
  const int piled = std::stoi(AtLevel(0));
  PileUp(0, 500);
  EXPECT_EQ(errors->told.size(), 1u);
  EXPECT_GE(std::stoi(AtLevel(0)), piled + database.tuning.runs_per_level);
  // What was written over the damage is read.
  for (uint64_t i = 0; i < 500; ++i) EXPECT_OK(db()->Get(NumberedKey(i)).status());
  ASSERT_OK(db()->CheckConsistency());
}

TEST_F(DamagedCompactionTest, RangesBesideDamageAreCompacted) {
  Settle(0, 500);
  DamageTheNewestTable();
  PileUp(0, 500);
  ASSERT_NE(PutOffCompactions(), "");
  const std::string waiting = AtLevel(0);
  const std::string settled = AtLevel(1);
  PileUp(1000, 1500);
  ASSERT_OK(db()->CompactRange({.begin = NumberedKey(1000), .end = NumberedKey(1500)}));
  EXPECT_EQ(AtLevel(0), waiting);
  EXPECT_GT(std::stoi(AtLevel(1)), std::stoi(settled));
  for (uint64_t i = 1000; i < 1500; ++i) EXPECT_OK(db()->Get(NumberedKey(i)).status());
}

TEST_F(DamagedCompactionTest, ACompactRangeThatNeedsDamagedTablesReturnsTheDamageAndEndsNothing) {
  Settle(0, 500);
  DamageTheNewestTable();
  Fill(0, 1);
  FillAndFlush(499, 500);
  EXPECT_TRUE(absl::IsDataLoss(db()->CompactRange()));
  EXPECT_EQ(PutOffCompactions(), "") << "it may be asked for again";
  ExpectWritesGoOn();
  PileUp(0, 500);
  ASSERT_NE(PutOffCompactions(), "");
  EXPECT_TRUE(absl::IsDataLoss(db()->CompactRange())) << "rather than to wait for what is put off";
  ExpectWritesGoOn();
}

TEST_F(DamagedCompactionTest, AfterARepairCompactionsGoOn) {
  Settle(0, 500);
  DamageTheNewestTable();
  PileUp(0, 500);
  ASSERT_NE(PutOffCompactions(), "");
  database.db.reset();
  RepairReport report;
  ASSERT_OK(RepairTo(&report, database.options, database.path));
  EXPECT_TRUE(report.changed);
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(AtLevel(0), "0");
  EXPECT_EQ(PutOffCompactions(), "");
  for (uint64_t i = 0; i < 500; ++i) EXPECT_OK(db()->Get(NumberedKey(i)).status());
}

TEST_F(DamagedCompactionTest, ADroppedFamilyLetsGoOfTheTablesOfWhatWasPutOff) {
  std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("doomed", database.options.family).value();
  const auto fill = [&] {
    for (uint64_t i = 0; i < 500; ++i) ASSERT_OK(db()->Put(*family, NumberedKey(i), std::string(40, 'v')));
    ASSERT_OK(db()->Flush(*family));
    ASSERT_OK(db()->WaitForBackgroundWork());
  };
  fill();
  ASSERT_OK(db()->CompactRange(*family));
  family.reset();
  DamageTheNewestTable();
  family = db()->FindColumnFamily("doomed").value();
  for (int i = 0; i < database.tuning.runs_per_level; ++i) fill();
  ASSERT_NE(db()->GetProperty(*family, "sepal.compactions-put-off"), "");
  ASSERT_OK(db()->DropColumnFamily(*family));
  FillAndFlush(0, 10);  // a job of the background removes what nobody needs
  database.world->RunUntilIdle();
  size_t tables = 0;
  for (const std::string& name : FilesIn(&database.memory, database.path)) tables += name.ends_with(".sst") ? 1 : 0;
  EXPECT_EQ(tables, 1u);
}

}  // namespace
}  // namespace sepal

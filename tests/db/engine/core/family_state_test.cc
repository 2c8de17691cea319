// What changes in a family that a look for work follows from, and what its flushes and compactions leave in it.
#include "db/engine/core/family_state.h"

#include <gtest/gtest.h>

#include <memory>

#include "db/engine/core/database_state.h"

namespace sepal {
namespace {

class FamilyStateTest : public testing::Test {
 protected:
  FamilyStateTest() {
    StateLock lock(&state_);
    family_.Open(NewMemTable(), std::make_shared<const Version>(KeyOrder()), SequenceNumber(0), &epochs_);
    family_.BeginLog(FileNumber(1), &pins_);
  }

  static std::shared_ptr<MemTable> NewMemTable() {
    return std::make_shared<MemTable>(KeyOrder(), 0, 1000, MemTable::Memory{});
  }
  // Fills the active memtable, switches it and goes on in the next log.
  void Switch() REQUIRES_STATE_LOCK {
    family_.active()->Add(SequenceNumber(++sequence_), ValueKind::kPut, "key", "value", 1);
    family_.SwitchMemtable({}, NewMemTable(), &epochs_);
    family_.BeginLog(FileNumber(++log_), &pins_);
  }
  static PlanRef PlanFrom(int level) {
    CompactionPlan plan;
    plan.kind = CompactionPlan::Kind::kRewrite;
    plan.inputs.push_back({.level = level, .run = RunNumber(1), .tables = {}});
    return std::make_shared<const CompactionPlan>(std::move(plan));
  }

  EngineState state_{nullptr, Options()};
  EpochDomain epochs_;
  LogPins pins_;
  TimeMarkList marks_{nullptr};
  Family family_{ColumnFamilyId(0), "family", ColumnFamilyOptions(), CompactionPolicy(), FamilySchema(), &marks_};
  uint64_t sequence_ = 0;
  uint64_t log_ = 1;
};

TEST_F(FamilyStateTest, EveryChangeThatANeedFollowsFromDropsIt) {
  StateLock lock(&state_);
  const PlanRef plan = PlanFrom(0);
  const auto drops = [&](const char* what, const auto& change) REQUIRES_STATE_LOCK {
    family_.FindNeed(0, 0, 1);
    ASSERT_TRUE(family_.need().has_value());
    change();
    EXPECT_FALSE(family_.need().has_value()) << what;
  };
  drops("SwitchMemtable", [&]() REQUIRES_STATE_LOCK { Switch(); });
  drops("ScheduleFlush", [&]() REQUIRES_STATE_LOCK { family_.ScheduleFlush(); });
  drops("TakeForFlush", [&]() REQUIRES_STATE_LOCK { family_.TakeForFlush(RunNumber(7), false); });
  drops("InstallFlush",
        [&]() REQUIRES_STATE_LOCK { family_.InstallFlush(1, SequenceNumber(1), RunNumber(7), &pins_); });
  drops("PutBack", [&]() REQUIRES_STATE_LOCK { family_.PutBack(RunNumber(7)); });
  drops("EndFlush", [&]() REQUIRES_STATE_LOCK { family_.EndFlush(LastFlush{.data_bytes = 1}); });
  drops("SetVersion", [&]() REQUIRES_STATE_LOCK { family_.SetVersion(family_.version(), &epochs_); });
  drops("BeginCompaction", [&]() REQUIRES_STATE_LOCK { family_.BeginCompaction(plan, false); });
  drops("EndCompaction", [&]() REQUIRES_STATE_LOCK { family_.EndCompaction(plan, 0, false); });
  drops("DeferCompaction", [&]() REQUIRES_STATE_LOCK { family_.DeferCompaction(plan, absl::DataLossError("")); });
  drops("BeginSketches", [&]() REQUIRES_STATE_LOCK { family_.BeginSketches(); });
  drops("EndSketches", [&]() REQUIRES_STATE_LOCK { family_.EndSketches(); });
}

TEST_F(FamilyStateTest, AFlushTakesWhatNoOtherHasTakenAndGivesBackWhatItDidNotInstall) {
  StateLock lock(&state_);
  Switch();
  family_.ScheduleFlush();
  EXPECT_EQ(family_.TakeForFlush(RunNumber(7), false).size(), 1u);
  EXPECT_FALSE(family_.AwaitsFlush());
  Switch();
  Switch();
  family_.ScheduleFlush();
  EXPECT_EQ(family_.TakeForFlush(RunNumber(8), false).size(), 2u);
  EXPECT_EQ(family_.flushes_running(), 2);
  family_.PutBack(RunNumber(7));
  EXPECT_TRUE(family_.AwaitsFlush());
  EXPECT_EQ(family_.flushes_waiting(), 1);
  EXPECT_EQ(family_.TakeForFlush(RunNumber(9), false).size(), 1u) << "up to the first that another has";
  EXPECT_TRUE(family_.TakeForFlush(RunNumber(10), true).empty());
}

TEST_F(FamilyStateTest, AMemtablePinsItsOldestLogUntilItIsInATable) {
  StateLock lock(&state_);
  Switch();
  Switch();
  EXPECT_EQ(pins_.OldestWithout({}), FileNumber(1));
  family_.InstallFlush(1, SequenceNumber(1), RunNumber(7), &pins_);
  EXPECT_EQ(pins_.OldestWithout({}), FileNumber(2));
  EXPECT_EQ(family_.flushed_through(), SequenceNumber(1));
  family_.InstallFlush(1, SequenceNumber(2), RunNumber(8), &pins_);
  EXPECT_EQ(pins_.OldestWithout({}), FileNumber(3)) << "the log of the active memtable";
}

TEST_F(FamilyStateTest, PlansOfTheBackgroundPassWhileACompactRangeWaits) {
  StateLock lock(&state_);
  family_.BeginCompaction(PlanFrom(0), /*of_range=*/false);
  EXPECT_EQ(family_.ranges().plans_passed, 0);
  family_.BeginRangeWait();
  family_.BeginCompaction(PlanFrom(1), /*of_range=*/false);
  family_.BeginCompaction(PlanFrom(2), /*of_range=*/true);
  EXPECT_EQ(family_.ranges().plans_passed, 1);
  EXPECT_EQ(family_.ranges().running, 1);
  family_.EndRangeWait();
  EXPECT_EQ(family_.ranges().plans_passed, 0);
}

TEST_F(FamilyStateTest, ADroppedFamilyShowsReadersNothing) {
  StateLock lock(&state_);
  Switch();
  family_.Drop(&pins_, &epochs_);
  EXPECT_TRUE(family_.dropped());
  EXPECT_EQ(family_.view(), nullptr);
  EXPECT_TRUE(family_.AtRest());
  EXPECT_EQ(pins_.OldestWithout({}), FileNumber(UINT64_MAX)) << "no log is pinned";
  EXPECT_TRUE(absl::IsFailedPrecondition(family_.CheckThere()));
}

}  // namespace
}  // namespace sepal

// The picker's decisions from text: levels drawn in, plan out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "absl/strings/str_format.h"
#include "db/decide/compaction/compaction_picker.h"
#include "db/decide/compaction/level_targets.h"
#include "db/decide/compaction/subcompactions.h"
#include "tests/db/script.h"
#include "tests/db/version_text.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

class PickerScript {
 public:
  std::string Answer(const ScriptCommand& command) {
    if (command.name == "policy") return SetPolicy(command);
    if (command.name == "version") return SetVersion(command);
    if (command.name == "pick") return Show(PickCompaction(Input(command)));
    if (command.name == "range") return Range(command);
    if (command.name == "start") return Start();
    if (command.name == "edit") return Edit(command);
    if (command.name == "finish") return running_.clear(), "ok\n";
    if (command.name == "tree") return Tree();
    if (command.name == "split") return Split(command);
    if (command.name == "check") return Check(command);
    return "no such command\n";
  }

 private:
  PickerInput Input(const ScriptCommand& command) {
    running_views_.clear();
    for (const CompactionPlan& plan : running_) running_views_.push_back(&plan);
    return {.version = version_.get(),
            .policy = policy_,
            .running = running_views_,
            .oldest_snapshot = SequenceNumber(command.Number("snapshot", kMaxSequenceNumber.value())),
            .at_rest = command.Has("at_rest"),
            .is_read = command.Has("is_read")};
  }
  std::string SetPolicy(const ScriptCommand& command) {
    policy_ = CompactionPolicy{};
    for (const CompactionStyle style : {CompactionStyle::kLeveled, CompactionStyle::kUniversal}) {
      if (command.Text("style") == Name(style)) policy_.style = style;
    }
    // In hundredths; out of the way unless given.
    policy_.max_space_amplification = static_cast<double>(command.Number("space", 9900)) / 100;
    policy_.memtable_bytes = command.Number("memtable", 100);
    policy_.runs_per_level = static_cast<int>(command.Number("runs", 4));
    policy_.unread_runs = static_cast<int>(command.Number("unread", 0));
    policy_.fanout = static_cast<int>(command.Number("fanout", 10));
    policy_.max_table_bytes = command.Number("max_table", 100);
    policy_.min_dense_tombstones = command.Number("min_dense", 10);
    policy_.min_rest_bytes = command.Number("min_rest", 100);
    return ToString(policy_) + "\n";
  }
  std::string SetVersion(const ScriptCommand& command) {
    running_.clear();
    absl::StatusOr<VersionRef> version = Draw(command.input);
    if (!version.ok()) return std::string(ToStd(version.status().message())) + "\n";
    version_ = *std::move(version);
    return version_->NumTables() == 0 ? "no tables\n" : version_->TablesPerLevel() + "\n";
  }
  std::string Show(CompactionPlan plan) {
    last_ = std::move(plan);
    std::string text = ToString(last_) + "\n";
    for (const Grandparent& g : last_.grandparents) {
      text += absl::StrFormat("  grandparent ..%s of %d\n", g.largest_user_key, g.bytes);
    }
    const absl::Status status = CheckPlan(*version_, last_);
    if (!status.ok()) text += std::string(ToStd(status.message())) + "\n";
    return text;
  }
  std::string Range(const ScriptCommand& command) {
    const std::string begin = command.Text("begin");
    const std::string end = command.Text("end");
    RangeCall call;
    if (command.Has("begin")) call.keys.begin = begin;
    if (command.Has("end")) call.keys.end = end;
    call.first_new_file = FileNumber(command.Number("first_new", 1000));
    call.last_sequence = SequenceNumber(command.Number("last_sequence", 1000));
    call.brought_down = command.Has("brought_down");
    RangeStep step = PlanRange(Input(command), call);
    return step.blocked ? "blocked\n" : Show(std::move(step.plan));
  }
  std::string Start() {
    running_.push_back(last_);
    return absl::StrFormat("%d running\n", running_.size());
  }
  // That of the last plan, which has written one table.
  std::string Edit(const ScriptCommand& command) {
    std::vector<TableMetadata> outputs;
    if (last_.kind == CompactionPlan::Kind::kRewrite) {
      outputs.push_back(TableOf(99, 0, last_.smallest_user_key, last_.largest_user_key));
    }
    const VersionEdit edit = EditOf(last_, ColumnFamilyId(0), RunNumber(command.Number("run")), std::move(outputs));
    std::string text;
    for (const RemovedTable& removed : edit.removed_tables) {
      absl::StrAppendFormat(&text, "- L%d %d\n", removed.level, removed.number.value());
    }
    for (const AddedTable& added : edit.added_tables) {
      absl::StrAppendFormat(&text, "+ L%d run %d: %d\n", added.level, added.table.run.value(),
                            added.table.number.value());
    }
    return text;
  }
  std::string Tree() {
    std::string text =
        absl::StrFormat("last level %d, debt %d\n", LastLevel(*version_), CompactionDebtBytes(*version_, policy_));
    for (int level = 0; level <= version_->DeepestLevel(); ++level) {
      absl::StrAppendFormat(&text, "level %d: %d bytes", level, version_->Bytes(level));
      if (level > 0) absl::StrAppendFormat(&text, " of %d", LevelCapacity(policy_, level));
      absl::StrAppendFormat(&text, ", score %.2f\n", CompactionScore(*version_, policy_, level));
    }
    return text;
  }
  std::string Split(const ScriptCommand& command) {
    std::vector<KeyStretch> stretches;
    for (const CompactionInput& in : last_.inputs) {
      for (const TableRef& table : in.tables) {
        const TableMetadata& m = table->metadata();
        stretches.push_back({m.smallest.user_key, m.largest.user_key, m.size_bytes});
      }
    }
    std::string text;
    for (const std::string& key : SubcompactionBoundaries(
             stretches, KeyOrder(), static_cast<int>(command.Number("parts")), command.Number("min", 1))) {
      text += key + "\n";
    }
    return text.empty() ? "whole\n" : text;
  }
  // A plan made by hand: all tables of the runs that the input names, into output= (and run=).
  std::string Check(const ScriptCommand& command) {
    CompactionPlan plan;
    plan.kind = CompactionPlan::Kind::kRewrite;
    plan.reason = "by hand";
    plan.output_level = static_cast<int>(command.Number("output"));
    if (command.Has("run")) plan.output_run = RunNumber(command.Number("run"));
    std::istringstream lines(command.input);
    int level = 0;
    for (uint64_t run = 0; lines >> level >> run;) {
      const Run* found = version_->FindRun(level, RunNumber(run));
      if (found == nullptr) return "no such run\n";
      plan.inputs.push_back({level, RunNumber(run), found->tables().ToVector()});
    }
    plan.smallest_user_key = "a";
    plan.largest_user_key = "z";
    const absl::Status status = CheckPlan(*version_, plan);
    return status.ok() ? "ok\n" : std::string(ToStd(status.message())) + "\n";
  }

  CompactionPolicy policy_;
  VersionRef version_ = std::make_shared<const Version>(KeyOrder());
  std::vector<CompactionPlan> running_;
  std::vector<const CompactionPlan*> running_views_;
  CompactionPlan last_;
};

void RunPickerScript(const std::string& name) {
  PickerScript script;
  RunScript("decide/" + name, [&script](const ScriptCommand& command) { return script.Answer(command); });
}

TEST(CompactionPickerTest, LazyLevelingDecidesAsTheScriptSays) { RunPickerScript("lazy_leveling.txt"); }
TEST(CompactionPickerTest, LeveledDecidesAsTheScriptSays) { RunPickerScript("leveled.txt"); }
TEST(CompactionPickerTest, UniversalDecidesAsTheScriptSays) { RunPickerScript("universal.txt"); }
TEST(CompactionPickerTest, TheSpaceBoundIsKeptAsTheScriptSays) { RunPickerScript("space.txt"); }
TEST(CompactionPickerTest, WhatNobodyReadsWaitsAsTheScriptSays) { RunPickerScript("unread.txt"); }
TEST(CompactionPickerTest, ManualRangesAreStepped) { RunPickerScript("manual_range.txt"); }
TEST(CompactionPlanTest, ChecksAndSplitsAsTheScriptSays) { RunPickerScript("plan.txt"); }

// As where a move takes the last level down, and what joins its run meets none of its tables.
TEST(CompactionPlanTest, TheRunThatAPlanJoinsMayGoDownWhileItRuns) {
  const VersionRef before = *Draw("L0 run 9: 9[x..z]\nL1 run 1: 1[a..c]\n");
  const VersionRef after = *Draw("L0 run 9: 9[x..z]\nL2 run 10: 1[a..c]\n");
  CompactionPlan plan;
  plan.kind = CompactionPlan::Kind::kMove;
  plan.output_level = 1;
  plan.output_run = RunNumber(1);
  plan.smallest_user_key = "x";
  plan.largest_user_key = "z";
  plan.inputs = {{0, RunNumber(9), before->level(0).front()->tables().ToVector()}};
  EXPECT_TRUE(CheckPlan(*before, plan).ok()) << CheckPlan(*before, plan);
  plan.inputs = {{0, RunNumber(9), after->level(0).front()->tables().ToVector()}};
  EXPECT_FALSE(CheckPlan(*after, plan).ok());
  EXPECT_TRUE(CheckPlan(*after, plan, /*adopted=*/true).ok()) << CheckPlan(*after, plan, /*adopted=*/true);
}

TEST(CompactionPlanTest, CarriedTablesMayOverlapNoOtherTableOfThePlan) {
  const VersionRef version = *Draw("L0 run 9: 9[a..d]\nL1 run 1: 1[c..f] 2[g..k]\n");
  const TableRef newer = version->level(0).front()->table(0);
  const TableRef met = version->level(1).front()->table(0);
  const TableRef apart = version->level(1).front()->table(1);
  CompactionPlan plan;
  plan.kind = CompactionPlan::Kind::kRewrite;
  plan.output_level = 1;
  plan.output_run = RunNumber(1);
  plan.smallest_user_key = "a";
  plan.largest_user_key = "k";
  plan.inputs = {{0, RunNumber(9), {newer}}, {1, RunNumber(1), {met}}};
  plan.carried = {{1, RunNumber(1), {apart}}};
  EXPECT_TRUE(CheckPlan(*version, plan).ok()) << CheckPlan(*version, plan);
  plan.inputs[1].tables = {apart};
  plan.carried[0].tables = {met};
  EXPECT_THAT(ToStd(CheckPlan(*version, plan).message()),
              testing::EndsWith("a table is carried, and tables 9 and 1 overlap"));
}

}  // namespace
}  // namespace sepal

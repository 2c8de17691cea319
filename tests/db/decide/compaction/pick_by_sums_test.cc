// What the picker finds by sums, against choices that draft every table and look at it, on random trees.
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_format.h"
#include "db/decide/compaction/level_targets.h"
#include "db/decide/compaction/plan_draft.h"
#include "db/decide/compaction/plan_totals.h"
#include "tests/db/version_text.h"
#include "util/base/hash.h"
#include "util/base/random.h"

namespace sepal {
namespace {

// The choices of the three styles where no level is full, one at a time.
class DraftedChoice {
 public:
  explicit DraftedChoice(const PickerInput& input) : input_(input), version_(*input.version) {
    for (const CompactionPlan* plan : input.running) {
      plan->ForEachHeld([this](const CompactionInput& in) {
        for (const TableRef& table : in.tables) held_.insert(table->number());
      });
    }
  }

  CompactionPlan Pick(const std::string& reason) const {
    std::optional<PlanDraft> draft;
    bool may_move = false;
    switch (input_.policy.style) {
      case CompactionStyle::kLazyLeveling:
        draft = DenseLevel();
        break;
      case CompactionStyle::kLeveled:
        may_move = true;
        if (version_.Bytes(1) > LevelCapacity(input_.policy, 1)) draft = BestTable(1);
        if (!draft.has_value()) draft = DenseTable();
        break;
      case CompactionStyle::kUniversal:
        draft = DenseTier();
        break;
    }
    if (!draft.has_value()) {
      may_move = false;
      draft = TableToRewrite();
    }
    return draft.has_value() ? std::move(*draft).Finish(reason, may_move) : CompactionPlan();
  }

 private:
  bool Dense(const CompactionPlan& drafted) const {
    TableTotals totals;
    for (const CompactionInput& in : drafted.inputs) {
      for (const TableRef& table : in.tables) totals = totals + TotalsOf(table->metadata());
    }
    return IsDense(input_.policy, totals);
  }
  bool Writes(int level) const {
    for (const CompactionPlan* plan : input_.running) {
      if (plan->output_level == level) return true;
    }
    return false;
  }
  bool Blocked(const PlanDraft& draft, int output_level) const {
    const CompactionPlan& drafted = draft.inputs();
    for (const CompactionInput& in : drafted.inputs) {
      for (const TableRef& table : in.tables) {
        if (held_.contains(table->number())) return true;
      }
    }
    if (!drafted.output_run.has_value()) return Writes(output_level);
    for (const CompactionPlan* plan : input_.running) {
      if (plan->output_level != output_level) continue;
      const bool apart =
          plan->largest_user_key < drafted.smallest_user_key || drafted.largest_user_key < plan->smallest_user_key;
      if (!apart) return true;
    }
    return false;
  }
  void AddLevel(int level, size_t runs, PlanDraft* draft) const {
    for (size_t i = 0; i < runs; ++i) {
      const Run& run = *version_.level(level)[i];
      draft->Add(level, run, run.tables().ToVector());
    }
  }

  std::optional<PlanDraft> DenseLevel() const {
    for (int level = 0; level < LastLevel(version_); ++level) {
      PlanDraft draft(input_, level + 1);
      AddLevel(level, version_.level(level).size(), &draft);
      if (draft.empty() || !Dense(draft.inputs())) continue;
      if (level + 1 == LastLevel(version_)) draft.JoinOutputRun();
      if (!Blocked(draft, level + 1) && Dense(draft.inputs())) return draft;
    }
    return std::nullopt;
  }
  std::optional<PlanDraft> DenseTier() const {
    const int target = std::max(1, version_.DeepestLevel());
    for (int first = 0; first <= version_.DeepestLevel(); ++first) {
      PlanDraft alone(input_, first);
      AddLevel(first, version_.level(first).size(), &alone);
      if (!Dense(alone.inputs())) continue;
      PlanDraft draft(input_, target);
      for (int level = first; level < target; ++level) AddLevel(level, version_.level(level).size(), &draft);
      if (!version_.level(target).empty()) AddLevel(target, version_.level(target).size() - 1, &draft);
      if (draft.empty()) continue;
      draft.JoinOutputRun();
      if (!Blocked(draft, target) && Dense(draft.inputs())) return draft;
    }
    return std::nullopt;
  }
  std::optional<PlanDraft> OneTable(int level, const TableRef& table) const {
    if (version_.NumRuns(level + 1) > 1) return std::nullopt;
    PlanDraft draft(input_, level + 1);
    draft.Add(level, *version_.level(level).front(), {table});
    draft.JoinOutputRun();
    if (Blocked(draft, level + 1)) return std::nullopt;
    return draft;
  }
  std::optional<PlanDraft> BestTable(int level) const {
    std::optional<PlanDraft> best;
    std::pair<bool, double> least;
    for (const TableRef& table : version_.level(level).front()->tables()) {
      std::optional<PlanDraft> draft = OneTable(level, table);
      if (!draft.has_value()) continue;
      const TableMetadata& m = table->metadata();
      const double rewritten = static_cast<double>(draft->inputs().InputBytes()) / static_cast<double>(m.size_bytes);
      const std::pair<bool, double> rank(!IsDense(input_.policy, TotalsOf(m)), rewritten);
      if (best.has_value() && rank >= least) continue;
      least = rank;
      best = std::move(draft);
    }
    return best;
  }
  std::optional<PlanDraft> DenseTable() const {
    for (int level = 1; level < version_.DeepestLevel(); ++level) {
      if (version_.NumRuns(level) != 1) continue;
      for (const TableRef& table : version_.level(level).front()->tables()) {
        if (!IsDense(input_.policy, TotalsOf(table->metadata()))) continue;
        std::optional<PlanDraft> draft = OneTable(level, table);
        if (draft.has_value() && Dense(draft->inputs())) return draft;
      }
    }
    return std::nullopt;
  }
  std::optional<PlanDraft> TableToRewrite() const {
    const int deepest = version_.DeepestLevel();
    if (deepest < 1 || version_.NumRuns(deepest) != 1 || Writes(deepest)) return std::nullopt;
    const Run& run = *version_.level(deepest).front();
    for (const TableRef& table : run.tables()) {
      const TableMetadata& m = table->metadata();
      if (m.highest_sequence > input_.oldest_snapshot || m.highest_sequence == SequenceNumber(0)) continue;
      const bool old = m.size_bytes >= input_.policy.min_rest_bytes &&
                       table->EntriesPerKey() > input_.policy.max_space_amplification;
      if (!old && !IsDense(input_.policy, TotalsOf(m))) continue;
      PlanDraft draft(input_, deepest);
      draft.Add(deepest, run, {table});
      draft.StayInRun(run.number());
      if (!Blocked(draft, deepest)) return draft;
    }
    return std::nullopt;
  }

  const PickerInput& input_;
  const Version& version_;
  absl::flat_hash_set<FileNumber> held_;
};

class PickBySumsTest : public testing::TestWithParam<CompactionStyle> {
 protected:
  // A level is rarely dense as a whole, if its tables are not alike.
  void AddRun(int level, uint64_t run, uint64_t most_tombstones, VersionEdit* edit) {
    const uint64_t tables = 1 + (random_.OneIn(3) ? random_.Uniform(900) : random_.Uniform(20));
    const bool with_versions = random_.OneIn(3);
    uint64_t place = random_.OneIn(4) ? 0 : random_.Uniform(200);
    for (uint64_t i = 0; i < tables; ++i) {
      const uint64_t last = place + random_.Uniform(random_.OneIn(10) ? 300 : 12);
      TableMetadata m = TableOf(next_table_++, run, place == 0 ? "" : PlaceText(place), PlaceText(last));
      m.size_bytes = 100 * (1 + random_.Uniform(2));
      m.tombstones = random_.Uniform(most_tombstones + 1);
      if (level > 0 && random_.OneIn(3)) SetSequence(SequenceNumber(0), &m);
      if (with_versions && random_.OneIn(20)) m.entries = 2'000'000;
      if (random_.OneIn(2)) m.key_sketch = SketchOf(random_.OneIn(20) ? 2 : 100);
      edit->added_tables.push_back({ColumnFamilyId(0), level, std::move(m)});
      place = last + 1 + random_.Uniform(6);
    }
  }
  VersionRef RandomTree() {
    const int deepest = 1 + static_cast<int>(random_.Uniform(3));
    const bool leveled = GetParam() == CompactionStyle::kLeveled;
    uint64_t run = 100;
    next_table_ = 1;
    VersionEdit edit;
    for (int level = 0; level <= deepest; ++level) {
      const uint64_t most_tombstones = random_.OneIn(2) ? 25 : 100;
      const uint64_t most = leveled && level > 0 ? 1 : 2;
      for (uint64_t runs = random_.OneIn(4) ? 0 : 1 + random_.Uniform(most); runs > 0; --runs) {
        AddRun(level, run--, most_tombstones, &edit);
      }
    }
    const absl::StatusOr<VersionRef> built = BuildOn(std::make_shared<const Version>(KeyOrder()), edit);
    EXPECT_TRUE(built.ok()) << built.status();
    return *built;
  }
  CompactionPolicy RandomPolicy() {
    CompactionPolicy policy;
    policy.style = GetParam();
    policy.runs_per_level = 100;
    policy.max_space_amplification = 100'000;  // of tables, that is: all are never over it
    policy.min_dense_tombstones = 10;
    policy.min_rest_bytes = 150;
    policy.memtable_bytes = uint64_t{1} << 30;
    if (policy.style == CompactionStyle::kLeveled) {
      policy.fanout = 1'000'000;  // only level 1 may be full
      if (random_.OneIn(2)) policy.memtable_bytes = 1;
    }
    return policy;
  }
  // Plans that were picked begin to run, beside some that hold a range.
  void Compare() {
    const VersionRef version = RandomTree();
    std::vector<std::unique_ptr<const CompactionPlan>> plans;
    std::vector<const CompactionPlan*> running;
    PickerInput input = {.version = version.get(), .policy = RandomPolicy()};
    input.oldest_snapshot = random_.OneIn(2) ? kMaxSequenceNumber : SequenceNumber(900 + random_.Uniform(120));
    input.sketches_sought = random_.OneIn(2);
    const auto start = [&](CompactionPlan plan) {
      plans.push_back(std::make_unique<const CompactionPlan>(std::move(plan)));
      running.push_back(plans.back().get());
      input.running = running;
    };
    if (random_.OneIn(3)) {
      const std::string begin = PlaceText(random_.Uniform(4000));
      const std::string end = begin + "z";
      RangeStep step = PlanRange(
          input,
          {.keys = {begin, end}, .first_new_file = FileNumber(1'000'000), .last_sequence = SequenceNumber(2000)});
      if (!step.plan.nothing()) start(std::move(step.plan));
    }
    for (int round = 0; round < 6; ++round) {
      CompactionPlan picked = PickCompaction(input);
      ASSERT_EQ(ToString(picked), ToString(DraftedChoice(input).Pick(picked.reason))) << version->ToString();
      if (picked.nothing()) return;
      ASSERT_TRUE(CheckPlan(*version, picked).ok()) << CheckPlan(*version, picked);
      ++picked_;
      start(std::move(picked));
    }
  }
  static std::string PlaceText(uint64_t place) { return absl::StrFormat("key%06d", place); }
  static void SetSequence(SequenceNumber sequence, TableMetadata* m) {
    m->lowest_sequence = m->highest_sequence = sequence;
    m->smallest.trailer = m->largest.trailer = PackTrailer(sequence, ValueKind::kPut);
  }
  static std::shared_ptr<const HyperLogLog> SketchOf(uint64_t keys) {
    HyperLogLog sketch;
    for (uint64_t i = 0; i < keys; ++i) sketch.Add(HashKey(PlaceText(i), 0));
    return std::make_shared<const HyperLogLog>(sketch);
  }

  Random random_{static_cast<uint64_t>(GetParam()) + 1};
  uint64_t next_table_ = 1;
  int picked_ = 0;
};

TEST_P(PickBySumsTest, ThePlanIsTheOneThatDraftsOfAllTablesGive) {
  for (int tree = 0; tree < 300; ++tree) {
    ASSERT_NO_FATAL_FAILURE(Compare()) << "tree " << tree;
  }
  EXPECT_GT(picked_, 80) << "few trees had anything to be picked";
}

// However the density is rounded.
TEST(PlanTotalsTest, SumsNeverHideATableThatIsDense) {
  Random random(1);
  CompactionPolicy policy;
  policy.min_dense_tombstones = 1;
  int dense = 0;
  for (int i = 0; i < 100'000; ++i) {
    TableMetadata m = TableOf(1, 1, "a", "b");
    m.entries = 1 + random.Uniform(random.OneIn(2) ? 100 : uint64_t{1} << 50);
    m.tombstones = random.Uniform(m.entries + 1);
    policy.tombstone_density = static_cast<double>(m.tombstones) / static_cast<double>(m.entries);
    if (random.OneIn(2)) policy.tombstone_density = static_cast<double>(random.Uniform(101)) / 100;
    TableSums sums;
    sums.Add(*MakeTable(m));
    if (!IsDense(policy, TotalsOf(m))) continue;
    ++dense;
    ASSERT_TRUE(MayHoldDense(policy, sums)) << m.tombstones << " of " << m.entries;
  }
  EXPECT_GT(dense, 10'000);
}

// Of a plan of the tables 1 and 2, once the edit has come and the job has not ended.
TEST(BusyTablesTest, WhatAJobMovedOrCarriedIsHeldUntilTheJobEnds) {
  const VersionRef before = *Draw("L1 run 5: 1[a..c] 2[d..f] 4[l..m]\nL2 run 3: 3[g..k]\n");
  const VersionRef after = *Draw("L1 run 5: 4[l..m]\nL2 run 3: 1[a..c] 2[d..f] 3[g..k]\n");
  const auto& upper = *before->level(1).front();
  CompactionPlan plan;
  plan.kind = CompactionPlan::Kind::kMove;
  plan.output_level = 2;
  plan.output_run = RunNumber(3);
  plan.inputs = {{1, RunNumber(5), {upper.table(0), upper.table(1)}}};
  const CompactionPlan* const running[] = {&plan};
  const auto held = [&](const VersionRef& version, int level) {
    const BusyTables busy({.version = version.get(), .running = running});
    const auto& run = *version->level(level).front();
    std::string numbers = busy.HasAny(level, run) ? "some:" : "none:";
    for (const TableRef& table : run.tables()) {
      if (busy.HasAny(level, run.number(), {&table, 1}))
        absl::StrAppendFormat(&numbers, " %d", table->number().value());
    }
    return numbers;
  };
  EXPECT_EQ(held(before, 1), "some: 1 2");
  EXPECT_EQ(held(before, 2), "none:");
  EXPECT_EQ(held(after, 1), "none:");
  EXPECT_EQ(held(after, 2), "some: 1 2");
  plan.kind = CompactionPlan::Kind::kRewrite;
  plan.carried = {{1, RunNumber(5), {plan.inputs[0].tables[1]}}};
  plan.inputs[0].tables.pop_back();
  EXPECT_EQ(held(before, 1), "some: 1 2");
  EXPECT_EQ(held(after, 2), "some: 2") << "what was rewritten is not there any more";
}

INSTANTIATE_TEST_SUITE_P(Styles, PickBySumsTest,
                         testing::Values(CompactionStyle::kLazyLeveling, CompactionStyle::kLeveled,
                                         CompactionStyle::kUniversal));

}  // namespace
}  // namespace sepal

// A compaction plan in the making, and what stands in its way: shared by the styles of the picker.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "db/decide/compaction/compaction_picker.h"

namespace sepal {

// What running plans hold. Nothing is made beforehand: a question goes to the plans' inputs, and searches those that
// may lie in the run that it is about.
class BusyTables {
 public:
  explicit BusyTables(const PickerInput& input) : order_(input.version->order()), running_(input.running) {}

  // Any of these tables of a run, in key order. Cost: a search among the more, asked or held, for each of the fewer at
  // most; none where their keys lie apart.
  bool HasAny(int level, RunNumber run, std::span<const TableRef> tables) const;
  // Any table of the run, or of one of the runs.
  bool HasAny(int level, const Run& run) const;
  bool HasAny(std::span<const LevelRun> runs) const;
  // Whether a running plan writes into `level`, within these keys.
  bool Writes(int level, std::string_view smallest, std::string_view largest) const;
  bool Writes(int level) const;

 private:
  const KeyOrder order_;
  const std::span<const CompactionPlan* const> running_;
};

class PlanDraft {
 public:
  // `input` must outlive the draft.
  PlanDraft(const PickerInput& input, int output_level) : input_(&input), output_level_(output_level) {}

  // Newest first. Adding nothing is allowed.
  void Add(int level, const Run& run, std::vector<TableRef> tables);
  void AddRuns(std::span<const LevelRun> runs);
  // The output joins the oldest run of the output level, if it has one, together with the tables of it that overlap
  // what was added. Newer runs of that level must have been added.
  void JoinOutputRun();
  // The output replaces tables of this run, which were added.
  void StayInRun(RunNumber run) { plan_.output_run = run; }

  bool empty() const { return plan_.inputs.empty(); }
  KeyRange hull() const { return {plan_.smallest_user_key, plan_.largest_user_key}; }
  const CompactionPlan& inputs() const { return plan_; }
  // Whether a running plan holds an input or writes where this would write.
  bool Blocked(const BusyTables& busy) const;

  // The merge, which reads no table of the output run that shares keys with no other input. With `may_move` no such
  // table of the other inputs either, unless a tombstone would come to rest where nothing is older, or too much lies
  // below; a move if that leaves nothing to be read.
  CompactionPlan Finish(std::string reason, bool may_move) &&;

 private:
  bool Holds(const TableFile& table) const { return held_.contains(table.number()); }
  bool IsBottommost() const;
  bool OverlapsTooMuchBelow() const;
  // Inputs that share keys with no other input.
  absl::flat_hash_set<FileNumber> TablesApart() const;
  void SpareWhatLiesApart(bool may_move);
  void CollectGrandparents();

  const PickerInput* input_;
  int output_level_;
  CompactionPlan plan_;
  bool joins_ = false;  // the last input is what lies in the output run
  absl::flat_hash_set<FileNumber> held_;
};

// The styles.
CompactionPlan PickLazyLeveling(const PickerInput& input, const BusyTables& busy);
CompactionPlan PickLeveled(const PickerInput& input, const BusyTables& busy);
CompactionPlan PickUniversal(const PickerInput& input, const BusyTables& busy);

// Lazy leveling and universal. The last level outgrew its capacity: what it holds is moved one deeper.
std::optional<CompactionPlan> MoveLastLevelDown(const PickerInput& input, const BusyTables& busy);
// Lazy leveling and universal. At the space bound all runs below level 0 become one; if there is only one, level 0
// joins it.
CompactionPlan ReduceSpace(const PickerInput& input, const BusyTables& busy);
// All runs from `first_level` on into the oldest; nullopt where running plans stand in the way, or there is no other.
std::optional<PlanDraft> AllFrom(const PickerInput& input, const BusyTables& busy, int first_level);
// What that would take, by the sums of its runs.
TableTotals TotalsOfAllFrom(const PickerInput& input, int first_level);

// All styles: a table of the last level whose tombstones, or old versions of keys, no snapshot needs any more is
// rewritten where it is.
CompactionPlan RewriteTable(const PickerInput& input, const BusyTables& busy);

// Lazy leveling and leveled: nothing is written and everything is in tables, so what lies above the last level (lazy
// leveling) or in level 0 (leveled) is merged down, if it is enough to be worth rewriting what it meets.
CompactionPlan MergeAtRest(const PickerInput& input, const BusyTables& busy);

std::string DenseReason(std::string_view what, const TableTotals& totals);
std::string SpaceReason(const Version& version);
std::string CapacityReason(int level, uint64_t bytes, uint64_t capacity);

}  // namespace sepal

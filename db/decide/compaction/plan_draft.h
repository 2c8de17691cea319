// A compaction plan in the making, what stands in its way, and the choices of the picker.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "db/decide/compaction/compaction_picker.h"
#include "db/decide/compaction/plan_totals.h"

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

  // A rewrite, which reads no table of the output run that shares keys with no other input. With `may_move` no such
  // table of the other inputs either, unless a tombstone would come to rest where nothing is older, or too much lies
  // below; a move if that leaves nothing to be read.
  CompactionPlan Finish(std::string reason, bool may_move) &&;

 private:
  bool Holds(const TableFile& table) const { return held_.contains(table.number()); }
  bool HoldsAll(const Run& run) const;
  bool IsBottommost() const;
  bool OverlapsTooMuchBelow() const;
  // Inputs that share keys with no other input.
  absl::flat_hash_set<FileNumber> TablesApart() const;
  void CarryNonOverlappingTables(bool may_move);
  void CollectGrandparents();

  const PickerInput* input_;
  int output_level_;
  CompactionPlan plan_;
  bool joins_ = false;  // the last input is what lies in the output run
  absl::flat_hash_set<FileNumber> held_;
};

// The plan for a descent. nullopt where it has no runs, or a running plan stands in the way.
std::optional<PlanDraft> DraftOf(const PickerInput& input, const BusyTables& busy, const Descent& descent);
// The same for one table of a level of one run, which joins the run of the next level.
std::optional<PlanDraft> DraftOfTable(const PickerInput& input, const BusyTables& busy, int level,
                                      const TableRef& table);

// The choices, of which the picker takes the first that is not nothing.

// The last level outgrew its capacity, and is moved one deeper.
CompactionPlan MoveLastLevelDown(const PickerInput& input, const BusyTables& busy);
// Where whole levels go down: at the space bound all runs below level 0 become one; if there is only one, level 0 joins
// it.
CompactionPlan ReduceSpace(const PickerInput& input, const BusyTables& busy);
// One step down from the fullest level that is due and free. Where tables go down one at a time, every level above the
// last is due at the space bound.
CompactionPlan StepDown(const PickerInput& input, const BusyTables& busy);
// A table that refers to values in files which are to be emptied is rewritten where it is, the oldest first.
CompactionPlan CollectValues(const PickerInput& input, const BusyTables& busy);
// A level, or a table, that is mostly tombstones goes down early, unless it would rewrite many times as many live
// entries: into the next level; where the last level has several runs, of which the oldest alone can drop tombstones,
// with all that lies between into that one.
CompactionPlan CompactTombstones(const PickerInput& input, const BusyTables& busy);
// Nothing is written and everything is in tables, or readers have asked for it: what lies above the level that is to be
// one run goes down into it, if it is enough to be worth rewriting what it meets.
CompactionPlan CompactAtRest(const PickerInput& input, const BusyTables& busy);
// A table of the last level whose tombstones, or old versions of keys, no snapshot needs any more is rewritten where it
// is.
CompactionPlan RewriteTable(const PickerInput& input, const BusyTables& busy);

// A step down from this level, due or not.
CompactionPlan StepDownFrom(const PickerInput& input, const BusyTables& busy, int level);
bool ReachesSpaceBound(const PickerInput& input);

// The first plan that `choose` makes of a table of the run. `may_hold` says of a run or chunk whether one of its tables
// can be worth a plan.
template <class MayHold, class Choose>
CompactionPlan FirstOf(const Run& run, const MayHold& may_hold, const Choose& choose) {
  if (!may_hold(run)) return {};
  for (const TableChunkRef& chunk : run.chunks()) {
    if (!may_hold(*chunk)) continue;
    for (const TableRef& table : chunk->items()) {
      if (CompactionPlan plan = choose(table); !plan.nothing()) return plan;
    }
  }
  return {};
}

std::string DenseReason(std::string_view what, const TableTotals& totals);
std::string SpaceReason(const PickerInput& input);
std::string CapacityReason(int level, uint64_t bytes, uint64_t capacity);

}  // namespace sepal

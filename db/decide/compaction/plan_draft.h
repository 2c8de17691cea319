// A compaction plan under construction, the conflicts with running plans, and the picker's choices.
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

// The tables that running plans hold. Nothing is computed in advance: a query checks the plans' inputs, and searches
// those that may be in the queried run.
class BusyTables {
 public:
  explicit BusyTables(const PickerInput& input) : order_(input.version->order()), running_(input.running) {}

  // Returns whether any of these tables of a run, in key order, is held. Cost: at most one search among the larger set,
  // queried or held, for each table of the smaller one; none if their keys are apart.
  bool HasAny(int level, RunNumber run, std::span<const TableRef> tables) const;
  // Returns whether any table of the run, or of one of the runs, is held.
  bool HasAny(int level, const Run& run) const;
  bool HasAny(std::span<const LevelRun> runs) const;
  // Returns whether a running plan writes into `level`, within these keys.
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

  // Adds inputs, newest first. Adding nothing is allowed.
  void Add(int level, const Run& run, std::vector<TableRef> tables);
  // Makes the output join the oldest run of the output level, if it has one, together with those tables of it that
  // overlap the inputs. Newer runs of that level must have been added.
  void JoinOutputRun();
  // Makes the output replace tables of this run, which were added.
  void StayInRun(RunNumber run) { plan_.output_run = run; }

  bool empty() const { return plan_.inputs.empty(); }
  KeyRange hull() const { return {plan_.smallest_user_key, plan_.largest_user_key}; }
  const CompactionPlan& inputs() const { return plan_; }
  // Returns whether a running plan holds an input, or writes where this one would.
  bool Blocked(const BusyTables& busy) const;

  // Returns a rewrite that reads no table of the output run that shares keys with no other input. With `may_move`, it
  // reads no such table of the other inputs either, unless a tombstone would stay where nothing is older, or the table
  // overlaps too much below; it is a move if nothing is left to be read.
  CompactionPlan Finish(std::string reason, bool may_move) &&;

 private:
  bool Holds(const TableFile& table) const { return held_.contains(table.number()); }
  bool HoldsAll(const Run& run) const;
  bool IsBottommost() const;
  bool OverlapsTooMuchBelow() const;
  // Returns inputs that share keys with no other input.
  absl::flat_hash_set<FileNumber> TablesApart() const;
  void CarryNonOverlappingTables(bool may_move);
  void CollectGrandparents();

  const PickerInput* input_;
  int output_level_;
  CompactionPlan plan_;
  bool joins_ = false;  // the last input is in the output run
  absl::flat_hash_set<FileNumber> held_;
};

// Returns the plan for a descent; nullopt if it has no runs, or conflicts with a running plan.
std::optional<PlanDraft> DraftOf(const PickerInput& input, const BusyTables& busy, const Descent& descent);
// The same for one table of a level of one run; it joins the run of the next level.
std::optional<PlanDraft> DraftOfTable(const PickerInput& input, const BusyTables& busy, int level,
                                      const TableRef& table);

// The choices; the picker takes the first that is not nothing.

// Moves the last level one deeper when it has outgrown its capacity.
CompactionPlan MoveLastLevelDown(const PickerInput& input, const BusyTables& busy);
// If whole levels are compacted: at the space bound, merges all runs below level 0 into one; if there is only one,
// level 0 joins it.
CompactionPlan ReduceSpace(const PickerInput& input, const BusyTables& busy);
// Compacts one step down from the fullest level that is due and free. If single tables are compacted, every level above
// the last is due at the space bound.
CompactionPlan StepDown(const PickerInput& input, const BusyTables& busy);
// Rewrites, in place, the oldest table that refers to values in files that are to be emptied.
CompactionPlan CollectValues(const PickerInput& input, const BusyTables& busy);
// Compacts a level, or a table, of mostly tombstones early, unless that would rewrite many times as many live entries:
// into the next level or, if the last level has several runs, of which only the oldest can drop tombstones, into that
// one with everything in between.
CompactionPlan CompactTombstones(const PickerInput& input, const BusyTables& busy);
// When there are no writes and everything is in tables, or reads have cost as much: compacts what lies above the level
// that is to be one run into it, if that is enough to justify rewriting what it overlaps.
CompactionPlan CompactAtRest(const PickerInput& input, const BusyTables& busy);
// Rewrites, in place, a table of the last level whose tombstones, or old versions of keys, no snapshot needs any more.
CompactionPlan RewriteTable(const PickerInput& input, const BusyTables& busy);

// Compacts one step down from this level, whether or not that is due.
CompactionPlan StepDownFrom(const PickerInput& input, const BusyTables& busy, int level);
bool ReachesSpaceBound(const PickerInput& input);

// Returns the first plan that `choose` makes for a table of the run. `may_hold` says whether a run or chunk may have a
// table that is worth a plan.
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

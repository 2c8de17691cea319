#include <optional>

#include "absl/strings/str_format.h"
#include "db/decide/compaction/level_targets.h"
#include "db/decide/compaction/plan_draft.h"
#include "db/decide/compaction/plan_totals.h"

namespace sepal {

namespace {

CompactionPlan CompactDenseLevel(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  const bool one_run_last = ShapeOf(input.policy).runs_in_last == 1;
  for (int level = 0; level < LastLevel(version); ++level) {
    const TableTotals alone = TotalsOf(RunsOf(version, level, level + 1));
    const Descent descent = one_run_last ? LevelDown(version, input.policy, level) : AllIntoOldest(version, level);
    if (!IsDense(input.policy, alone) || !IsDense(input.policy, TotalsOf(version, descent))) continue;
    std::optional<PlanDraft> draft = DraftOf(input, busy, descent);
    if (!draft.has_value()) continue;
    return std::move(*draft).Finish(DenseReason(absl::StrFormat("level %d", level), alone), false);
  }
  return {};
}

CompactionPlan CompactDenseTable(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  const auto may_hold = [&](const auto& tables) { return MayHoldDense(input.policy, tables.sums()); };
  for (int level = 1; level < version.DeepestLevel(); ++level) {
    if (version.NumRuns(level) != 1) continue;
    CompactionPlan plan = FirstOf(*version.level(level).front(), may_hold, [&](const TableRef& table) {
      const TableTotals totals = TotalsOf(table->metadata());
      if (!IsDense(input.policy, totals)) return CompactionPlan();
      if (!IsDense(input.policy, totals + TotalsBelow(version, level, *table))) return CompactionPlan();
      std::optional<PlanDraft> draft = DraftOfTable(input, busy, level, table);
      if (!draft.has_value()) return CompactionPlan();
      const std::string what = absl::StrFormat("table %d", table->number().value());
      return std::move(*draft).Finish(DenseReason(what, totals), true);
    });
    if (!plan.nothing()) return plan;
  }
  return {};
}

}  // namespace

CompactionPlan CompactTombstones(const PickerInput& input, const BusyTables& busy) {
  switch (ShapeOf(input.policy).step) {
    case CompactionStep::kWholeLevel:
      return CompactDenseLevel(input, busy);
    case CompactionStep::kOneTable:
      return CompactDenseTable(input, busy);
  }
  return {};
}

}  // namespace sepal

#include <optional>

#include "absl/strings/str_format.h"
#include "db/decide/compaction/level_targets.h"
#include "db/decide/compaction/plan_draft.h"
#include "db/decide/compaction/plan_totals.h"

namespace sepal {

namespace {

// All runs of a level that has enough of them become the newest one of the next. nullopt where a running plan holds
// some of them: a newer run must not pass.
std::optional<CompactionPlan> MergeTier(const PickerInput& input, const BusyTables& busy, int level) {
  const Version& version = *input.version;
  if (version.NumRuns(level) < RunsDue(input.policy, level)) return std::nullopt;
  const std::span<const LevelRun> runs = RunsOf(version, level, level + 1);
  if (busy.HasAny(runs)) return std::nullopt;
  PlanDraft draft(input, level + 1);
  draft.AddRuns(runs);
  if (level + 1 == kMaxLevels - 1) draft.JoinOutputRun();
  if (draft.Blocked(busy)) return std::nullopt;
  return std::move(draft).Finish(absl::StrFormat("level %d has %d runs", level, version.NumRuns(level)), true);
}

// Tombstones and what they hide, from a level that is mostly tombstones down, unless many times as many live entries
// would be rewritten.
std::optional<CompactionPlan> MergeDenseTier(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  for (int level = 0; level <= version.DeepestLevel(); ++level) {
    const TableTotals alone = TotalsOf(RunsOf(version, level, level + 1));
    if (!IsDense(input.policy, alone) || !IsDense(input.policy, TotalsOfAllFrom(input, level))) continue;
    std::optional<PlanDraft> draft = AllFrom(input, busy, level);
    if (!draft.has_value()) continue;
    return std::move(*draft).Finish(DenseReason(absl::StrFormat("level %d", level), alone), false);
  }
  return std::nullopt;
}

}  // namespace

// Level 0 first: it must not grow while others wait. Then space: it merges what the other tiers would merge twice.
CompactionPlan PickUniversal(const PickerInput& input, const BusyTables& busy) {
  if (auto plan = MoveLastLevelDown(input, busy)) return *std::move(plan);
  if (auto plan = MergeTier(input, busy, 0)) return *std::move(plan);
  if (CompactionPlan plan = ReduceSpace(input, busy); !plan.nothing()) return plan;
  for (int level = 1; level + 1 < kMaxLevels; ++level) {
    if (auto plan = MergeTier(input, busy, level)) return *std::move(plan);
  }
  if (auto plan = MergeDenseTier(input, busy)) return *std::move(plan);
  return RewriteTable(input, busy);
}

}  // namespace sepal

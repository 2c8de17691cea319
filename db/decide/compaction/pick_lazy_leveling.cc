#include <optional>

#include "absl/strings/str_format.h"
#include "db/decide/compaction/level_targets.h"
#include "db/decide/compaction/plan_draft.h"
#include "db/decide/compaction/plan_totals.h"

namespace sepal {

namespace {

// All of an upper level into the one below. nullopt where a running plan holds some of it: a newer run must not pass.
std::optional<PlanDraft> WholeLevel(const PickerInput& input, const BusyTables& busy, int level) {
  const Version& version = *input.version;
  const std::span<const LevelRun> runs = RunsOf(version, level, level + 1);
  if (runs.empty() || busy.HasAny(runs)) return std::nullopt;
  PlanDraft draft(input, level + 1);
  draft.AddRuns(runs);
  if (level + 1 == LastLevel(version)) draft.JoinOutputRun();
  if (draft.Blocked(busy)) return std::nullopt;
  return draft;
}

std::optional<CompactionPlan> MergeFullLevel(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  std::optional<CompactionPlan> best;
  int most_runs = 0;
  for (int level = 0; level < LastLevel(version); ++level) {
    if (version.NumRuns(level) < RunsDue(input.policy, level) || version.NumRuns(level) <= most_runs) continue;
    std::optional<PlanDraft> draft = WholeLevel(input, busy, level);
    if (!draft.has_value()) continue;
    most_runs = version.NumRuns(level);
    best = std::move(*draft).Finish(absl::StrFormat("level %d has %d runs", level, most_runs), true);
  }
  return best;
}

// An upper level that is mostly tombstones goes down early, unless it would rewrite many times as many live entries.
std::optional<CompactionPlan> MergeDenseLevel(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  for (int level = 0; level < LastLevel(version); ++level) {
    const std::span<const LevelRun> runs = RunsOf(version, level, level + 1);
    const bool joins = level + 1 == LastLevel(version);
    const TableTotals totals = joins ? TotalsJoined(version, runs, level + 1) : TotalsOf(runs);
    if (!IsDense(input.policy, totals)) continue;
    std::optional<PlanDraft> draft = WholeLevel(input, busy, level);
    if (!draft.has_value()) continue;
    return std::move(*draft).Finish(DenseReason(absl::StrFormat("level %d", level), totals), false);
  }
  return std::nullopt;
}

}  // namespace

CompactionPlan PickLazyLeveling(const PickerInput& input, const BusyTables& busy) {
  if (auto plan = MoveLastLevelDown(input, busy)) return *std::move(plan);
  if (auto plan = MergeFullLevel(input, busy)) return *std::move(plan);
  if (CompactionPlan plan = ReduceSpace(input, busy); !plan.nothing()) return plan;
  if (auto plan = MergeDenseLevel(input, busy)) return *std::move(plan);
  if (CompactionPlan plan = MergeAtRest(input, busy); !plan.nothing()) return plan;
  return RewriteTable(input, busy);
}

}  // namespace sepal

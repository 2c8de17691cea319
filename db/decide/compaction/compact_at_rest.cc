#include "absl/strings/str_format.h"
#include "db/decide/compaction/level_targets.h"
#include "db/decide/compaction/plan_draft.h"
#include "db/decide/compaction/plan_totals.h"

namespace sepal {

namespace {

// The level that what lies above it is merged into.
int RestingLevel(const PickerInput& input) {
  switch (input.policy.style) {
    case CompactionStyle::kLazyLeveling:
      return LastLevel(*input.version);
    case CompactionStyle::kLeveled:
    case CompactionStyle::kUniversal:
      return 1;
  }
  return 1;
}

}  // namespace

CompactionPlan MergeAtRest(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  const int target = RestingLevel(input);
  if (!input.at_rest || version.NumRuns(target) > 1) return {};
  const std::span<const LevelRun> runs = RunsOf(version, 0, target);
  const TableTotals above = TotalsOf(runs);
  const uint64_t below = version.Entries(target);
  const bool one_run = runs.size() + static_cast<size_t>(version.NumRuns(target)) < 2;
  if (runs.empty() || one_run || above.bytes < input.policy.min_rest_bytes) return {};
  if (static_cast<double>(above.entries) < input.policy.rest_fraction * static_cast<double>(below)) return {};
  if (busy.HasAny(runs)) return {};
  PlanDraft draft(input, target);
  draft.AddRuns(runs);
  draft.JoinOutputRun();
  if (draft.Blocked(busy)) return {};
  return std::move(draft).Finish(absl::StrFormat("at rest with %d entries above %d", above.entries, below), true);
}

}  // namespace sepal

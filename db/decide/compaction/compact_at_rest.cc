#include <optional>

#include "absl/strings/str_format.h"
#include "db/decide/compaction/level_targets.h"
#include "db/decide/compaction/plan_draft.h"
#include "db/decide/compaction/plan_totals.h"

namespace sepal {

CompactionPlan CompactAtRest(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  const int target = ShapeOf(input.policy).runs_in_upper == 1 ? 1 : LastLevel(version);
  const bool keeps_one_run = RunsDue(version, input.policy, target) == 1;
  if (!(input.at_rest || input.is_read) || !keeps_one_run || version.NumRuns(target) > 1) return {};
  const std::span<const LevelRun> runs = RunsOf(version, 0, target);
  const bool one_run = runs.size() + static_cast<size_t>(version.NumRuns(target)) < 2;
  const TableTotals above = TotalsOf(runs);
  const uint64_t below = version.Entries(target);
  if (one_run || above.bytes < input.policy.min_rest_bytes) return {};
  if (static_cast<double>(above.entries) < input.policy.rest_fraction * static_cast<double>(below)) return {};
  std::optional<PlanDraft> draft = DraftOf(input, busy, {runs, target, /*joins=*/true});
  if (!draft.has_value()) return {};
  return std::move(*draft).Finish(
      absl::StrFormat("%s with %d entries above %d", input.at_rest ? "at rest" : "read often", above.entries, below),
      true);
}

}  // namespace sepal

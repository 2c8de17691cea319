#include <optional>
#include <span>

#include "absl/strings/str_format.h"
#include "db/decide/compaction/level_targets.h"
#include "db/decide/compaction/plan_draft.h"
#include "db/decide/compaction/plan_totals.h"

namespace sepal {

namespace {

// No more is rewritten at once for readers, because it takes space, and seconds that writers may need.
constexpr uint64_t kMostMemtablesForReaders = 64;

// The runs that are compacted into the level that is to be one run.
struct RestStep {
  std::span<const LevelRun> runs;
  int target;
  uint64_t above;  // entries
  uint64_t below;
};

std::optional<RestStep> RestStepOf(const Version& version, const CompactionPolicy& policy, int first_level) {
  const int target = ShapeOf(policy).runs_in_upper == 1 ? 1 : LastLevel(version);
  if (RunsDue(version, policy, target) != 1 || version.NumRuns(target) > 1) return std::nullopt;
  const std::span<const LevelRun> runs = RunsOf(version, first_level, target);
  if (runs.size() + static_cast<size_t>(version.NumRuns(target)) < 2) return std::nullopt;
  const TableTotals above = TotalsOf(runs);
  const uint64_t below = version.Entries(target);
  if (above.bytes < policy.min_rest_bytes) return std::nullopt;
  if (static_cast<double>(above.entries) < policy.rest_fraction * static_cast<double>(below)) return std::nullopt;
  return RestStep{runs, target, above.entries, below};
}

// With concurrent writes, level 0 is left to ordinary compactions, unless it is next to the last level, which is small
// then.
std::optional<RestStep> ReadersStepOf(const Version& version, const CompactionPolicy& policy) {
  const int first_level = version.NumRuns() - version.NumRuns(0) > 1 ? 1 : 0;
  std::optional<RestStep> step = RestStepOf(version, policy, first_level);
  if (step.has_value() && TotalsOf(RunsOf(version, first_level, step->target + 1)).bytes >
                              kMostMemtablesForReaders * policy.memtable_bytes) {
    return std::nullopt;
  }
  return step;
}

}  // namespace

bool MayCompactForReaders(const Version& version, const CompactionPolicy& policy) {
  return ReadersStepOf(version, policy).has_value();
}

CompactionPlan CompactAtRest(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  std::optional<RestStep> step;
  if (input.at_rest) step = RestStepOf(version, input.policy, 0);
  if (!step.has_value() && input.is_read) step = ReadersStepOf(version, input.policy);
  if (!step.has_value()) return {};
  std::optional<PlanDraft> draft = DraftOf(input, busy, {step->runs, step->target, /*joins=*/true});
  if (!draft.has_value()) return {};
  return std::move(*draft).Finish(absl::StrFormat("%s with %d entries above %d",
                                                  input.at_rest ? "at rest" : "read often", step->above, step->below),
                                  true);
}

}  // namespace sepal

#include "absl/strings/str_format.h"
#include "db/decide/level_targets.h"
#include "db/decide/plan_draft.h"

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
  PlanDraft draft(input, target);
  uint64_t bytes = 0;
  uint64_t entries = 0;
  for (int level = 0; level < target; ++level) {
    draft.AddRuns(level, version.level(level));
    bytes += version.Bytes(level);
    entries += version.Entries(level);
  }
  const uint64_t below = version.Entries(target);
  const bool one_run = draft.inputs().inputs.size() + static_cast<size_t>(version.NumRuns(target)) < 2;
  if (draft.empty() || one_run || bytes < input.policy.min_rest_bytes) return {};
  if (static_cast<double>(entries) < input.policy.rest_fraction * static_cast<double>(below)) return {};
  draft.JoinOutputRun();
  if (draft.Blocked(busy)) return {};
  return std::move(draft).Finish(absl::StrFormat("at rest with %d entries above %d", entries, below), true);
}

}  // namespace sepal

#include <algorithm>
#include <optional>

#include "absl/strings/str_format.h"
#include "db/decide/compaction/level_targets.h"
#include "db/decide/compaction/live_bytes.h"
#include "db/decide/compaction/plan_draft.h"
#include "db/decide/compaction/plan_totals.h"

namespace sepal {

namespace {

int LevelOfOldest(const PickerInput& input) {
  const Version& version = *input.version;
  const bool universal = input.policy.style == CompactionStyle::kUniversal;
  return universal ? std::max(1, version.DeepestLevel()) : LastLevel(version);
}

// The runs from `first_level` on that AllFrom merges into the oldest.
std::span<const LevelRun> AllButOldest(const Version& version, int first_level, int target) {
  const std::span<const LevelRun> runs = RunsOf(version, first_level, target + 1);
  return version.level(target).empty() ? runs : runs.first(runs.size() - 1);
}

}  // namespace

std::optional<CompactionPlan> MoveLastLevelDown(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  const int last = LastLevel(version);
  if (last + 1 >= kMaxLevels || version.NumRuns(last) != 1) return std::nullopt;
  const uint64_t capacity = LastLevelCapacity(version, input.policy);
  if (version.Bytes(last) <= capacity) return std::nullopt;
  if (busy.Writes(last) || busy.Writes(last + 1)) return std::nullopt;
  const std::span<const LevelRun> runs = RunsOf(version, last, last + 1);
  if (busy.HasAny(runs)) return std::nullopt;
  PlanDraft draft(input, last + 1);
  draft.AddRuns(runs);
  if (draft.Blocked(busy)) return std::nullopt;
  CompactionPlan plan = std::move(draft).Finish(CapacityReason(last, version.Bytes(last), capacity), false);
  plan.kind = CompactionPlan::Kind::kMove;  // what tombstones it holds were in the last level before
  return plan;
}

std::optional<PlanDraft> AllFrom(const PickerInput& input, const BusyTables& busy, int first_level) {
  const int target = LevelOfOldest(input);
  const std::span<const LevelRun> runs = AllButOldest(*input.version, first_level, target);
  if (runs.empty() || busy.HasAny(runs)) return std::nullopt;
  PlanDraft draft(input, target);
  draft.AddRuns(runs);
  draft.JoinOutputRun();
  if (draft.Blocked(busy)) return std::nullopt;
  return draft;
}

TableTotals TotalsOfAllFrom(const PickerInput& input, int first_level) {
  const int target = LevelOfOldest(input);
  return TotalsJoined(*input.version, AllButOldest(*input.version, first_level, target), target);
}

std::string SpaceReason(const Version& version) {
  const double space = static_cast<double>(version.Bytes()) / static_cast<double>(EstimatedLiveBytes(version));
  return absl::StrFormat("space is %.2f times what should be live", space);
}

CompactionPlan ReduceSpace(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  if (!input.sketches_sought || !ExceedsSpace(version, input.policy)) return {};
  // Level 0 is left alone where that helps: it must be free to move down while a large merge runs.
  const int first_level = version.NumRuns() - version.NumRuns(0) > 1 ? 1 : 0;
  std::optional<PlanDraft> draft = AllFrom(input, busy, first_level);
  if (!draft.has_value()) return {};
  return std::move(*draft).Finish(SpaceReason(version), true);
}

}  // namespace sepal

#include <optional>

#include "absl/strings/str_format.h"
#include "db/decide/level_targets.h"
#include "db/decide/plan_draft.h"

namespace sepal {

namespace {

// The last level outgrew its capacity: what it holds becomes the last level's content one deeper.
std::optional<CompactionPlan> MoveLastLevelDown(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  const int last = LastLevel(version);
  if (last + 1 >= kMaxLevels || version.NumRuns(last) != 1) return std::nullopt;
  const uint64_t capacity = LevelCapacity(input.policy, last);
  if (version.Bytes(last) <= capacity) return std::nullopt;
  if (busy.Writes(last) || busy.Writes(last + 1)) return std::nullopt;
  PlanDraft draft(input, last + 1);
  draft.AddRuns(last, version.level(last));
  if (draft.Blocked(busy)) return std::nullopt;
  CompactionPlan plan = std::move(draft).Finish(CapacityReason(last, version.Bytes(last), capacity), false);
  plan.kind = CompactionPlan::Kind::kMove;  // what tombstones it holds were in the last level before
  return plan;
}

// All of an upper level into the one below. nullopt where a running plan holds some of it: a newer run must not pass.
std::optional<PlanDraft> WholeLevel(const PickerInput& input, const BusyTables& busy, int level) {
  const Version& version = *input.version;
  PlanDraft draft(input, level + 1);
  draft.AddRuns(level, version.level(level));
  if (level + 1 == LastLevel(version)) draft.JoinOutputRun();
  if (draft.empty() || draft.Blocked(busy)) return std::nullopt;
  return draft;
}

std::optional<CompactionPlan> MergeFullLevel(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  std::optional<CompactionPlan> best;
  int most_runs = input.policy.runs_per_level - 1;
  for (int level = 0; level < LastLevel(version); ++level) {
    if (version.NumRuns(level) <= most_runs) continue;
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
    std::optional<PlanDraft> draft = WholeLevel(input, busy, level);
    if (!draft.has_value() || !IsDense(input.policy, draft->Tombstones(), draft->Entries())) continue;
    const std::string reason = DenseReason(absl::StrFormat("level %d", level), draft->Tombstones(), draft->Entries());
    return std::move(*draft).Finish(reason, false);
  }
  return std::nullopt;
}

}  // namespace

CompactionPlan PickLazyLeveling(const PickerInput& input, const BusyTables& busy) {
  if (auto plan = MoveLastLevelDown(input, busy)) return *std::move(plan);
  if (auto plan = MergeFullLevel(input, busy)) return *std::move(plan);
  if (auto plan = MergeDenseLevel(input, busy)) return *std::move(plan);
  if (CompactionPlan plan = MergeAtRest(input, busy); !plan.nothing()) return plan;
  return RewriteDenseTable(input, busy);
}

}  // namespace sepal

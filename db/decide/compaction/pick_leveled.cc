#include <algorithm>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/decide/compaction/level_targets.h"
#include "db/decide/compaction/plan_draft.h"
#include "db/decide/compaction/plan_totals.h"

namespace sepal {

namespace {

// All runs of `level` into the next level's only run: level 0, and levels that another style left with several runs.
std::optional<PlanDraft> AllRuns(const PickerInput& input, const BusyTables& busy, int level) {
  const Version& version = *input.version;
  if (version.NumRuns(level + 1) > 1) return std::nullopt;  // first that one becomes one run
  const std::span<const LevelRun> runs = RunsOf(version, level, level + 1);
  if (busy.HasAny(runs)) return std::nullopt;
  PlanDraft draft(input, level + 1);
  draft.AddRuns(runs);
  draft.JoinOutputRun();
  if (draft.Blocked(busy)) return std::nullopt;
  return draft;
}

// One table of `level`, with what it overlaps below.
std::optional<PlanDraft> OneTable(const PickerInput& input, const BusyTables& busy, int level, const TableRef& table) {
  const Version& version = *input.version;
  if (version.NumRuns(level) != 1 || version.NumRuns(level + 1) > 1) return std::nullopt;
  const Run& run = *version.level(level).front();
  if (busy.HasAny(level, run.number(), {&table, 1})) return std::nullopt;
  PlanDraft draft(input, level + 1);
  draft.Add(level, run, {table});
  draft.JoinOutputRun();
  if (draft.Blocked(busy)) return std::nullopt;
  return draft;
}

// Those that are mostly tombstones come first, for what they free below; then the table that rewrites least below, for
// its own size; of equals the first. The ranks come from sums: only what running plans do not stand in the way of is
// drafted, and of it the best alone.
std::optional<PlanDraft> BestTable(const PickerInput& input, const BusyTables& busy, int level) {
  const Version& version = *input.version;
  const Run& run = *version.level(level).front();
  std::vector<std::tuple<bool, double, size_t>> ranks;
  ranks.reserve(run.size());
  for (const TableRef& table : run.tables()) {
    const TableTotals totals = TotalsOf(table->metadata());
    const uint64_t bytes = totals.bytes + TotalsBelow(version, level, *table).bytes;
    const double rewritten = static_cast<double>(bytes) / static_cast<double>(totals.bytes);
    ranks.emplace_back(!IsDense(input.policy, totals), rewritten, ranks.size());
  }
  std::make_heap(ranks.begin(), ranks.end(), std::greater<>());
  for (auto end = ranks.end(); end != ranks.begin(); --end) {
    std::pop_heap(ranks.begin(), end, std::greater<>());
    const size_t place = std::get<size_t>(*(end - 1));
    if (std::optional<PlanDraft> draft = OneTable(input, busy, level, run.table(place))) return draft;
  }
  return std::nullopt;
}

bool GoesDownWhole(const Version& version, int level) { return level == 0 || version.NumRuns(level) > 1; }

std::optional<PlanDraft> StepDown(const PickerInput& input, const BusyTables& busy, int level) {
  return GoesDownWhole(*input.version, level) ? AllRuns(input, busy, level) : BestTable(input, busy, level);
}

// At the space bound what lies above the last level goes down before it is due, the fullest level first.
std::optional<CompactionPlan> LowerSpace(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  if (!input.sketches_sought || !ExceedsSpace(version, input.policy)) return std::nullopt;
  std::vector<std::pair<uint64_t, int>> levels;
  for (int level = 0; level < version.DeepestLevel(); ++level) {
    if (version.NumRuns(level) > 0) levels.emplace_back(version.Bytes(level), level);
  }
  std::sort(levels.begin(), levels.end(), std::greater<>());
  for (const auto& [bytes, level] : levels) {
    if (auto draft = StepDown(input, busy, level)) return std::move(*draft).Finish(SpaceReason(version), true);
  }
  return std::nullopt;
}

// A table that is mostly tombstones, unless it would rewrite many times as many live entries.
std::optional<CompactionPlan> MergeDenseTableOf(const PickerInput& input, const BusyTables& busy, int level,
                                                std::span<const TableRef> tables) {
  for (const TableRef& table : tables) {
    const TableTotals totals = TotalsOf(table->metadata());
    if (!IsDense(input.policy, totals)) continue;
    if (!IsDense(input.policy, totals + TotalsBelow(*input.version, level, *table))) continue;
    std::optional<PlanDraft> draft = OneTable(input, busy, level, table);
    if (!draft.has_value()) continue;
    return std::move(*draft).Finish(DenseReason(absl::StrFormat("table %d", table->number().value()), totals), true);
  }
  return std::nullopt;
}

std::optional<CompactionPlan> MergeDenseTable(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  for (int level = 1; level < version.DeepestLevel(); ++level) {
    if (version.NumRuns(level) != 1) continue;
    const Run& run = *version.level(level).front();
    if (!MayHoldDense(input.policy, run.sums())) continue;
    for (const TableChunkRef& chunk : run.chunks()) {
      if (!MayHoldDense(input.policy, chunk->sums())) continue;
      if (auto plan = MergeDenseTableOf(input, busy, level, chunk->items())) return plan;
    }
  }
  return std::nullopt;
}

bool IsDue(const PickerInput& input, int level) {
  const Version& version = *input.version;
  if (level == 0) return version.NumRuns(0) >= RunsDue(input.policy, 0);
  return version.NumRuns(level) > 1 || version.Bytes(level) > LevelCapacity(input.policy, level);
}

std::string DueReason(const PickerInput& input, int level) {
  const Version& version = *input.version;
  if (!GoesDownWhole(version, level)) {
    return CapacityReason(level, version.Bytes(level), LevelCapacity(input.policy, level));
  }
  return absl::StrFormat("level %d has %d runs", level, version.NumRuns(level));
}

}  // namespace

CompactionPlan PickLeveled(const PickerInput& input, const BusyTables& busy) {
  std::vector<std::pair<double, int>> due;
  for (int level = 0; level + 1 < kMaxLevels; ++level) {
    if (IsDue(input, level)) due.emplace_back(CompactionScore(*input.version, input.policy, level), level);
  }
  // The fullest first; of equals the upper one.
  std::stable_sort(due.begin(), due.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [score, level] : due) {
    if (auto draft = StepDown(input, busy, level)) return std::move(*draft).Finish(DueReason(input, level), true);
  }
  if (auto plan = LowerSpace(input, busy)) return *std::move(plan);
  if (auto plan = MergeDenseTable(input, busy)) return *std::move(plan);
  if (CompactionPlan plan = MergeAtRest(input, busy); !plan.nothing()) return plan;
  return RewriteTable(input, busy);
}

}  // namespace sepal

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

std::optional<PlanDraft> DraftOfLevel(const PickerInput& input, const BusyTables& busy, int level) {
  const Descent descent = LevelDown(*input.version, input.policy, level);
  if (descent.joins && input.version->NumRuns(level + 1) > 1) return std::nullopt;  // that level is compacted first
  return DraftOf(input, busy, descent);
}

// Tables of mostly tombstones come first, for the space that they free below; then the table that rewrites least below,
// relative to its own size; of equal ones the first. The ranks come from sums, so that only the best table that no
// running plan blocks is drafted.
std::optional<PlanDraft> DraftOfBestTable(const PickerInput& input, const BusyTables& busy, int level) {
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
    if (std::optional<PlanDraft> draft = DraftOfTable(input, busy, level, run.table(place))) return draft;
  }
  return std::nullopt;
}

std::string StepReason(const PickerInput& input, int level) {
  const Version& version = *input.version;
  if (BytesDue(version, input.policy, level) == 0) return SpaceReason(input);
  if (GoesDownWhole(version, input.policy, level)) {
    return absl::StrFormat("level %d has %d runs", level, version.NumRuns(level));
  }
  return CapacityReason(level, version.Bytes(level), LevelCapacity(input.policy, level));
}

}  // namespace

std::optional<PlanDraft> DraftOfTable(const PickerInput& input, const BusyTables& busy, int level,
                                      const TableRef& table) {
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

CompactionPlan MoveLastLevelDown(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  if (!LastLevelMovesDown(version, input.policy)) return {};
  const int last = LastLevel(version);
  if (busy.Writes(last)) return {};
  std::optional<PlanDraft> draft = DraftOf(input, busy, {RunsOf(version, last, last + 1), last + 1, /*joins=*/false});
  if (!draft.has_value()) return {};
  const uint64_t capacity = LastLevelCapacity(version, input.policy);
  CompactionPlan plan = std::move(*draft).Finish(CapacityReason(last, version.Bytes(last), capacity), false);
  plan.kind = CompactionPlan::Kind::kMove;  // its tombstones were in the last level before
  return plan;
}

CompactionPlan StepDownFrom(const PickerInput& input, const BusyTables& busy, int level) {
  const bool whole = GoesDownWhole(*input.version, input.policy, level);
  std::optional<PlanDraft> draft = whole ? DraftOfLevel(input, busy, level) : DraftOfBestTable(input, busy, level);
  return draft.has_value() ? std::move(*draft).Finish(StepReason(input, level), true) : CompactionPlan();
}

CompactionPlan StepDown(const PickerInput& input, const BusyTables& busy) {
  const Version& version = *input.version;
  const bool early = ShapeOf(input.policy).step == CompactionStep::kOneTable && ReachesSpaceBound(input);
  // First the due levels by descending score, of equal ones the upper one; then the others by descending size, of equal
  // ones the lower one.
  std::vector<std::tuple<bool, double, int>> order;
  for (int level = 0; level + 1 < kMaxLevels; ++level) {
    if (BytesDue(version, input.policy, level) > 0) {
      order.emplace_back(false, -CompactionScore(version, input.policy, level), level);
    } else if (early && level < version.DeepestLevel() && version.NumRuns(level) > 0) {
      order.emplace_back(true, -static_cast<double>(version.Bytes(level)), -level);
    }
  }
  std::sort(order.begin(), order.end());
  for (const auto& [is_early, fullness, level] : order) {
    CompactionPlan plan = StepDownFrom(input, busy, is_early ? -level : level);
    if (!plan.nothing()) return plan;
  }
  return {};
}

}  // namespace sepal

#include "db/decide/compaction/plan_totals.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "db/decide/compaction/level_targets.h"

namespace sepal {

namespace {

std::string_view SmallestKey(const Run& run) { return run.chunks().front()->smallest_user_key(); }
std::string_view LargestKey(const Run& run) { return run.chunks().back()->largest_user_key(); }

}  // namespace

std::span<const LevelRun> RunsOf(const Version& version, int first_level, int end_level) {
  const std::span<const LevelRun> runs = version.runs();
  const auto first_of = [&runs](int level) {
    return std::partition_point(runs.begin(), runs.end(), [level](const LevelRun& r) { return r.level < level; });
  };
  return {first_of(first_level), first_of(end_level)};
}

Descent LevelDown(const Version& version, const CompactionPolicy& policy, int level) {
  return {RunsOf(version, level, level + 1), level + 1, JoinsRunBelow(version, policy, level)};
}

Descent AllIntoOldest(const Version& version, int first_level) {
  const std::span<const LevelRun> runs = RunsOf(version, first_level, kMaxLevels);
  const bool is_there = version.DeepestLevel() >= 1 && !runs.empty();
  return {is_there ? runs.first(runs.size() - 1) : runs, std::max(1, version.DeepestLevel()), true};
}

TableTotals TotalsOf(const TableMetadata& table) { return {table.size_bytes, table.entries, table.tombstones}; }

TableTotals TotalsOf(std::span<const LevelRun> runs) {
  TableTotals totals;
  for (const LevelRun& r : runs) totals = totals + r.run->sums().totals;
  return totals;
}

TableTotals TotalsOf(const Version& version, const Descent& descent) {
  const std::span<const LevelRun> runs = descent.runs;
  const TableTotals totals = TotalsOf(runs);
  const std::vector<RunRef>& beside = version.level(descent.output_level);
  if (!descent.joins || runs.empty() || beside.empty()) return totals;
  const KeyOrder order = version.order();
  std::string_view smallest = SmallestKey(*runs.front().run);
  std::string_view largest = LargestKey(*runs.front().run);
  for (const LevelRun& r : runs.subspan(1)) {
    if (order.Less(SmallestKey(*r.run), smallest)) smallest = SmallestKey(*r.run);
    if (order.Less(largest, LargestKey(*r.run))) largest = LargestKey(*r.run);
  }
  return totals + beside.back()->Overlapping({smallest, largest}).Totals();
}

TableTotals TotalsBelow(const Version& version, int level, const TableFile& table) {
  const std::vector<RunRef>& beside = version.level(level + 1);
  if (beside.empty()) return {};
  const TableMetadata& m = table.metadata();
  return beside.back()->Overlapping({m.smallest.user_key, m.largest.user_key}).Totals();
}

bool IsDense(const CompactionPolicy& policy, const TableTotals& totals) {
  return totals.tombstones >= std::max<uint64_t>(policy.min_dense_tombstones, 1) &&
         static_cast<double>(totals.tombstones) >= policy.tombstone_density * static_cast<double>(totals.entries);
}

bool MayHoldDense(const CompactionPolicy& policy, const TableSums& sums) {
  // IsDense multiplies where the sums were divided, and both are rounded.
  constexpr double kRoundedBy = 1e-9;
  return sums.most_tombstones >= std::max<uint64_t>(policy.min_dense_tombstones, 1) &&
         sums.most_tombstones_per_entry >= policy.tombstone_density * (1 - kRoundedBy);
}

}  // namespace sepal

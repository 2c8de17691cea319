// The cost of a plan, from the sums of its runs, which are known without visiting their tables. Pure.
#pragma once

#include <span>

#include "db/decide/compaction/compaction_policy.h"
#include "db/state/version/version.h"

namespace sepal {

// Returns the runs of the levels [first_level, end_level), newest first.
std::span<const LevelRun> RunsOf(const Version& version, int first_level, int end_level);

// Runs that are compacted together, newest first.
struct Descent {
  std::span<const LevelRun> runs = {};
  int output_level = 1;
  // The oldest run there is joined, if there is one, and is none of `runs`; otherwise the output is a new run.
  bool joins = true;
};
// All runs of a level into the next level.
Descent LevelDown(const Version& version, const CompactionPolicy& policy, int level);
// All runs from `first_level` on into the oldest run.
Descent AllIntoOldest(const Version& version, int first_level);

TableTotals TotalsOf(const TableMetadata& table);
TableTotals TotalsOf(std::span<const LevelRun> runs);
// The same, with the tables that those of the descent overlap in the run that it joins.
TableTotals TotalsOf(const Version& version, const Descent& descent);

// Returns what `table` of `level` overlaps in the oldest run of the next level, if it has one.
TableTotals TotalsBelow(const Version& version, int level, const TableFile& table);

// Returns whether compacting these entries is worth it for these tombstones.
bool IsDense(const CompactionPolicy& policy, const TableTotals& totals);
// Returns false if that is true of none of the tables summed.
bool MayHoldDense(const CompactionPolicy& policy, const TableSums& sums);

}  // namespace sepal

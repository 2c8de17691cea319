// What a plan would take, by the sums of its runs, which are known before any table of it is looked at. Pure.
#pragma once

#include <span>

#include "db/decide/compaction/compaction_policy.h"
#include "db/state/version/version.h"

namespace sepal {

// The runs of the levels [first_level, end_level), newest first.
std::span<const LevelRun> RunsOf(const Version& version, int first_level, int end_level);

// Runs that go down together, newest first.
struct Descent {
  std::span<const LevelRun> runs = {};
  int output_level = 1;
  // Into the oldest run there, if there is one, which is none of `runs`; else as a new run.
  bool joins = true;
};
// All runs of a level into the next.
Descent LevelDown(const Version& version, const CompactionPolicy& policy, int level);
// All runs from `first_level` on into the oldest.
Descent AllIntoOldest(const Version& version, int first_level);

TableTotals TotalsOf(const TableMetadata& table);
TableTotals TotalsOf(std::span<const LevelRun> runs);
// The same with the tables that all of the descent's meet in the run that it joins.
TableTotals TotalsOf(const Version& version, const Descent& descent);

// What `table` of `level` meets in the oldest run of the next level, if that has one.
TableTotals TotalsBelow(const Version& version, int level, const TableFile& table);

// Whether compacting these entries for the sake of these tombstones is worth it.
bool IsDense(const CompactionPolicy& policy, const TableTotals& totals);
// False where that holds of none of the tables summed.
bool MayHoldDense(const CompactionPolicy& policy, const TableSums& sums);

}  // namespace sepal

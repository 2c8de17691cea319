// What a plan would take, by the sums of its runs: known before any table of it is looked at. Pure.
#pragma once

#include <span>

#include "db/decide/compaction/compaction_policy.h"
#include "db/state/version/version.h"

namespace sepal {

// Those of the levels [first_level, end_level), newest first.
std::span<const LevelRun> RunsOf(const Version& version, int first_level, int end_level);

TableTotals TotalsOf(const TableMetadata& table);
TableTotals TotalsOf(std::span<const LevelRun> runs);
// The same with what a draft of all these tables meets in the oldest run of `output_level`, which is none of `runs`
// (PlanDraft::JoinOutputRun).
TableTotals TotalsJoined(const Version& version, std::span<const LevelRun> runs, int output_level);

// What `table` of `level` meets in the oldest run of the next level, if that has one.
TableTotals TotalsBelow(const Version& version, int level, const TableFile& table);

// Whether compacting these entries for the sake of these tombstones is worth it.
bool IsDense(const CompactionPolicy& policy, const TableTotals& totals);
// False where that holds of none of the tables summed.
bool MayHoldDense(const CompactionPolicy& policy, const TableSums& sums);

}  // namespace sepal

// Determines which level is the last, and how many runs and bytes each level may hold. Pure.
#pragma once

#include <cstdint>

#include "db/decide/compaction/compaction_policy.h"
#include "db/state/version/version.h"

namespace sepal {

// Returns the deepest level with data, at least 1. If that level has several runs it is an upper level, and the last
// one is the empty level below it.
int LastLevel(const Version& version);

// Returns the number of runs at which `level` is compacted into the next; 1 if it is to be one run, and is compacted by
// its bytes.
int RunsDue(const Version& version, const CompactionPolicy& policy, int level);

// Returns the bytes that are due to be compacted from `level`, which is not the deepest possible, once `arriving` bytes
// have been added to it; 0 if none are due. If whole levels are compacted, the last level is moved instead
// (LastLevelMovesDown).
uint64_t BytesDue(const Version& version, const CompactionPolicy& policy, int level, uint64_t arriving = 0);
// Returns whether a step takes all runs of `level` rather than one table.
bool GoesDownWhole(const Version& version, const CompactionPolicy& policy, int level);
// Returns whether the output of `level` joins a run of the next level rather than become its newest run.
bool JoinsRunBelow(const Version& version, const CompactionPolicy& policy, int level);

// Returns the bytes that `level` (>= 1) may hold at rest; as the last level, if whole levels are compacted. Saturates.
uint64_t LevelCapacity(const CompactionPolicy& policy, int level);

// Returns the bytes above which the last level is moved down, if whole levels are compacted: its capacity or, if that
// is less, as many bytes as the number of batches that it holds, each like the next one. Batches are what flushes make
// of memtables, and may be much smaller.
uint64_t LastLevelCapacity(const Version& version, const CompactionPolicy& policy);
bool LastLevelMovesDown(const Version& version, const CompactionPolicy& policy);

// Returns the bytes of tables, and of the values that they refer to, above what the space bound allows, by the estimate
// of live bytes; 0 if no compaction would help.
uint64_t BytesOverSpaceBound(const Version& version, const CompactionPolicy& policy);
// Returns whether the bound would be exceeded if only the oldest run were live. If not, the live bytes need not be
// known.
bool MayExceedSpace(const Version& version, const CompactionPolicy& policy);

// Returns whether tables refer to so many values of overwritten or deleted keys that the runs should be merged
// (value_collection.h), by the estimate of live entries. False if one run has them all. While MayShadowValues is false,
// the live entries need not be known.
bool ShadowsValues(const Version& version, const CompactionPolicy& policy);
bool MayShadowValues(const Version& version, const CompactionPolicy& policy);

// The bytes of the next level that one table should overlap at most.
uint64_t MaxOverlapBytes(const CompactionPolicy& policy);

}  // namespace sepal

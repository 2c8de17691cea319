// Which level is the last, and how many runs and bytes each level may hold. Pure.
#pragma once

#include <cstdint>

#include "db/decide/compaction/compaction_policy.h"
#include "db/state/version/version.h"

namespace sepal {

// The deepest level with data, at least 1. If that level has several runs it is an upper level, and the last one is the
// empty level below it.
int LastLevel(const Version& version);

// The number of runs at which `level` goes down; 1: it is to be one run, and goes down by its bytes.
int RunsDue(const Version& version, const CompactionPolicy& policy, int level);

// The bytes that are due to go down from `level`, not the deepest that there can be, once `arriving` bytes have come
// down into it; 0: it is not due. The last level of a tree whose levels go down whole is moved instead
// (LastLevelMovesDown).
uint64_t BytesDue(const Version& version, const CompactionPolicy& policy, int level, uint64_t arriving = 0);
// Whether a step down takes all runs of `level` rather than one table.
bool GoesDownWhole(const Version& version, const CompactionPolicy& policy, int level);
// Whether what goes down from `level` joins a run of the next level rather than become its newest run.
bool JoinsRunBelow(const Version& version, const CompactionPolicy& policy, int level);

// The bytes that `level` (>= 1) may hold at rest. Where whole levels go down: as the last level. Saturates.
uint64_t LevelCapacity(const CompactionPolicy& policy, int level);

// The bytes over which the last level is moved down, where whole levels go down: its capacity, or, if that is less, as
// many bytes as it takes batches like the one that is about to come down. Batches are what flushes make of memtables,
// and may be much smaller.
uint64_t LastLevelCapacity(const Version& version, const CompactionPolicy& policy);
bool LastLevelMovesDown(const Version& version, const CompactionPolicy& policy);

// The bytes of tables, and of the values that they refer to, over what the space bound allows, by the estimate of live
// bytes; 0 if no compaction would help.
uint64_t BytesOverSpaceBound(const Version& version, const CompactionPolicy& policy);
// Whether the bound would be exceeded if nothing but the oldest run were live. While it would not, what is live need
// not be known.
bool MayExceedSpace(const Version& version, const CompactionPolicy& policy);

// Whether tables refer to so many values of keys that were overwritten or deleted that the runs are to be merged for
// it (value_collection.h), by the estimate of live entries. False where one run has them all. While MayShadowValues is
// false, what is live need not be known.
bool ShadowsValues(const Version& version, const CompactionPolicy& policy);
bool MayShadowValues(const Version& version, const CompactionPolicy& policy);

// The bytes of the next level that one table should overlap at most.
uint64_t MaxOverlapBytes(const CompactionPolicy& policy);

}  // namespace sepal

// Which level is the last, and how much each may hold. Pure.
#pragma once

#include <cstdint>

#include "db/decide/compaction/compaction_policy.h"
#include "db/state/version/version.h"

namespace sepal {

// Lazy leveling: the deepest level with data, 1 at least; one deeper if that level has several runs (what was below it
// is gone).
int LastLevel(const Version& version);

// Runs at which `level` is merged down.
int RunsDue(const CompactionPolicy& policy, int level);

// The bytes that `level` (>= 1) may hold at rest. Lazy leveling: as the last level, over which it is moved down.
// Leveled: its target. Universal: as the only level below level 0, over which it is moved down: its run is as large as
// one of the next. Saturates.
uint64_t LevelCapacity(const CompactionPolicy& policy, int level);

// The bytes over which the last level is moved down, with lazy leveling: its capacity, or `fanout` times the batch that
// is about to be merged into it, if that is less. Batches are what flushes make of memtables, and may be much smaller.
uint64_t LastLevelCapacity(const Version& version, const CompactionPolicy& policy);

// The bytes of tables over what the space bound allows, by the estimate of live bytes; 0 if no merge would help.
uint64_t BytesOverSpaceBound(const Version& version, const CompactionPolicy& policy);
bool ExceedsSpace(const Version& version, const CompactionPolicy& policy);
// The same if nothing but the oldest run were live. While that is not so, what is live need not be known.
bool MayExceedSpace(const Version& version, const CompactionPolicy& policy);

// Of the next level, that one table should overlap.
uint64_t MaxOverlapBytes(const CompactionPolicy& policy);

}  // namespace sepal

// Adds a range tombstone to a family's active memtable.
#pragma once

#include "db/engine/core/database_state.h"
#include "db/engine/core/family_state.h"
#include "db/format/batch_format.h"
#include "db/state/memtable/memtable.h"
#include "util/base/numbers.h"

namespace sepal {

// InvalidArgument: the range ends before it begins.
absl::Status CheckRange(const Family& family, const BatchEntry& entry);

// Called with the commit mutex held; `entry` has passed CheckRange. Tombstones that no reader can distinguish from
// newer ones are merged, so that repeated deletes of one range keep a single tombstone.
void DeleteRangeInMemTable(EngineState* state, Family* family, MemTable* active, SequenceNumber sequence,
                           const BatchEntry& entry);

}  // namespace sepal

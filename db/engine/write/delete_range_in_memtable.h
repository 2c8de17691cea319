// A delete of a range, into a family's active memtable.
#pragma once

#include "db/engine/core/database_state.h"
#include "db/engine/core/family_state.h"
#include "db/format/batch_format.h"
#include "db/state/memtable/memtable.h"
#include "util/base/numbers.h"

namespace sepal {

// InvalidArgument: the range ends before it begins.
absl::Status CheckRange(const Family& family, const BatchEntry& entry);

// Under the commit mutex. `entry` has passed CheckRange. Deletes that no reader can tell from newer ones are merged
// away, so that many of one range stay one.
void DeleteRangeInMemTable(EngineState* state, Family* family, MemTable* active, SequenceNumber sequence,
                           const BatchEntry& entry);

}  // namespace sepal

// Adds special entries to a memtable: operands of merges, and references to separated values.
#pragma once

#include <cstdint>

#include "db/act/files/value_store.h"
#include "db/engine/core/family_state.h"
#include "db/format/batch_format.h"
#include "db/format/value_reference.h"
#include "db/state/memtable/memtable.h"

namespace sepal {

void AddOperand(const Family& family, MemTable* memtable, SequenceNumber sequence, const BatchEntry& entry,
                uint64_t hash, const InsertHint& hint);
// From now on the memtable keeps the value file alive. Returns the reference.
ValueReference AddReference(ValueStore* values, MemTable* memtable, SequenceNumber sequence, const BatchEntry& entry,
                            uint64_t hash, const InsertHint& hint);

// A part of each separated value counts as if it lay in the memtable, so that memtables of references are flushed from
// time to time: an opening reads the values that only logs refer to (except for chunked ones, which do not count).
inline constexpr uint64_t kSeparatedShare = 8;
inline size_t CountedBytes(const MemTable& memtable) {
  return memtable.MemoryBytes() + memtable.SeparatedBytes() / kSeparatedShare;
}

}  // namespace sepal

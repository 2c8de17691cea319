// How entries go into a memtable that are neither plain nor deletes: operands of merges, and references to values.
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
// The memtable holds the value file from now on. Returns the reference.
ValueReference AddReference(ValueStore* values, MemTable* memtable, SequenceNumber sequence, const BatchEntry& entry,
                            uint64_t hash, const InsertHint& hint);

// Of separated values a part counts as if it lay in the memtable, so that memtables of references are flushed at times:
// an opening reads the values that logs alone refer to (but chunked ones, which count nothing).
inline constexpr uint64_t kSeparatedShare = 8;
inline size_t CountedBytes(const MemTable& memtable) {
  return memtable.MemoryBytes() + memtable.SeparatedBytes() / kSeparatedShare;
}

}  // namespace sepal

// Decides when memtables are flushed before they are full. Pure: bytes in, a bool out.
//
// Usually they are not: each flush makes a run of level 0, and fewer runs are compacted more cheaply. But data in key
// order makes tables that overlap nothing, which lower levels take as they are. So if such a writer is faster than
// flushes, a memtable is flushed when it is half full, if fewer flushes run than may at a time: that one, the one
// before it and the one being filled take as much as two full ones, and neither a core nor the writer waits until a
// flush has ended. The first flush after the opening, when nothing is known, comes early, and the following ones double
// in size; a writer that turns out to be slower than flushes fills memtables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace sepal {

struct MemtableFill {
  uint64_t memory_bytes = 0;
  uint64_t data_bytes = 0;  // of keys and values
};

struct LastFlush {
  uint64_t data_bytes = 0;  // of keys and values
  // Bytes that were written after those, until the flush ended.
  uint64_t data_bytes_behind = 0;
};

// Returns whether `fill`, which was written in key order, is enough for a flush, if one could begin. `memtable_bytes`:
// what memtables may take. `last`: the last flush since the database was opened.
constexpr bool EnoughInOrder(uint64_t memtable_bytes, const MemtableFill& fill, const std::optional<LastFlush>& last) {
  const uint64_t least = memtable_bytes / 8;
  if (!last.has_value()) return fill.data_bytes >= least;
  if (last->data_bytes_behind < last->data_bytes / 2) return false;
  return fill.data_bytes >= std::max(least, 2 * last->data_bytes) || fill.memory_bytes >= memtable_bytes / 2;
}

}  // namespace sepal

// When memtables are flushed before they are full. Pure: bytes in, a bool out.
//
// As a rule they are not: each flush makes a run of level 0, and fewer runs are compacted more cheaply. But what came
// in the order of its keys makes tables that overlap nothing, which the levels below take as they are. So where such a
// writer is faster than flushes, a memtable is flushed when it is half full, if fewer flushes run than may at a time:
// that one, the one before it and the one that is being filled take what two full ones would, and neither a core nor
// the writer waits until a flush has ended. The first flush since the opening, of which nothing is known, comes early,
// and those that follow grow by doubling; a writer that turns out to be slower than flushes fills memtables.
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
  // Written behind those, until it ended.
  uint64_t data_bytes_behind = 0;
};

// Whether `fill`, which came in order, is enough for a flush, if one could begin. `memtable_bytes`: what memtables
// may take. `last`: since the database was opened.
constexpr bool EnoughInOrder(uint64_t memtable_bytes, const MemtableFill& fill, const std::optional<LastFlush>& last) {
  const uint64_t least = memtable_bytes / 8;
  if (!last.has_value()) return fill.data_bytes >= least;
  if (last->data_bytes_behind < last->data_bytes / 2) return false;
  return fill.data_bytes >= std::max(least, 2 * last->data_bytes) || fill.memory_bytes >= memtable_bytes / 2;
}

}  // namespace sepal

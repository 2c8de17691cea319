// How much is written to memtables before they are flushed. Pure: bytes in, bytes out.
//
// As much as they may take, as a rule: each flush makes a run of level 0, and fewer runs are merged more cheaply. But
// what came in the order of its keys makes tables that overlap nothing, and merges pass those on as they are, whatever
// their size. So where such a writer is faster than flushes, the next flush begins as soon as the last has ended: until
// the memtable is full the writer would have been slowed before, and a core would have nothing to do now. It is twice
// as large as the last one then, within bounds. The first since the opening, of which nothing is known, comes early;
// who turns out to be slower than flushes fills memtables from then on.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace sepal {

struct LastFlush {
  uint64_t data_bytes = 0;  // keys and values in its memtables
  // Those that were written meanwhile.
  uint64_t data_bytes_meanwhile = 0;
};

// Of keys and values that came in order, what is flushed next, while nothing is being flushed. `memtable_bytes`: what
// memtables may take in all. `last`: since the database was opened.
constexpr uint64_t EnoughInOrder(uint64_t memtable_bytes, const std::optional<LastFlush>& last) {
  const uint64_t least = memtable_bytes / 8;
  if (!last.has_value()) return least;
  if (last->data_bytes_meanwhile < last->data_bytes / 4 * 3) return UINT64_MAX;
  return std::clamp(2 * last->data_bytes, least, memtable_bytes / 2);
}

}  // namespace sepal

// How much memory memtables may take if there are many column families. Pure.
//
// A memtable takes some memory besides its entries, which its flush does not free, because the next one takes as much.
// If that of all families would leave little room for entries, memtables may have more, as far as the limit of all
// memory allows; otherwise tiny flushes would follow each other.
#pragma once

#include <algorithm>
#include <cstddef>

namespace sepal {

struct MemtableShare {
  // The limit of the entries of active memtables.
  size_t entry_bytes = 0;
  // What active and flushing memtables may take together.
  size_t limit_bytes = 0;
};

// `memtable_bytes` and `memtable_limit_bytes`: as for few families (Tuning). `fixed_bytes`: what the active memtables
// take besides entries.
constexpr MemtableShare ShareOfMemtables(size_t memtable_bytes, size_t memtable_limit_bytes, size_t fixed_bytes,
                                         size_t memory_limit) {
  const size_t wanted = std::min(fixed_bytes + memtable_bytes / 2, memory_limit / 8 * 3);
  const size_t active = std::max(memtable_bytes, wanted);
  const size_t least = memtable_bytes / 8;
  return {.entry_bytes = active > fixed_bytes + least ? active - fixed_bytes : least,
          .limit_bytes = memtable_limit_bytes + 2 * (active - memtable_bytes)};
}

}  // namespace sepal

// The place in a memtable's tree where the next entry of a key goes. It is found before the entry exists, so that its
// memory is prefetched while the log is written. Valid until a node of the tree is split.
#pragma once

#include <cstdint>

namespace sepal {

struct InsertHint {
  const void* tree = nullptr;  // null: nothing is known
  void* leaf = nullptr;
  uint64_t splits = 0;  // the number of node splits when the hint was made
};

}  // namespace sepal

// Where in a memtable's tree the next entry of a key goes, found out before the entry is there, so that the memory of
// that place is fetched while the log is written. Holds until a node of the tree is split.
#pragma once

#include <cstdint>

namespace sepal {

struct InsertHint {
  const void* tree = nullptr;  // none: nothing is known
  void* leaf = nullptr;
  uint64_t splits = 0;  // of nodes, when it was found out
};

}  // namespace sepal

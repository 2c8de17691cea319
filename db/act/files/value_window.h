// Values that a scan will reach next, read together into a window of a pool, which may take it back at any time.
//
// It only improves speed: a value that could not be read, is damaged or was taken back is missing, and the caller reads
// it by itself, so that errors are those of single reads.
//
// Not safe for concurrent use. The caller holds the files that its references name.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "db/act/files/value_store.h"
#include "db/format/value_reference.h"
#include "sepal/file_system.h"
#include "util/cache/block_cache.h"
#include "util/memory/window_pool.h"

namespace sepal {

class ValueWindow {
 public:
  ValueWindow(ValueStore* store, WindowPool* pool) : store_(store), window_(pool) {}

  // Reads the values of the first `references` for which there is room, in place of the previous ones, and returns
  // their number. Skips values that are in the cache, and large ones; neighbours in a file are read at once.
  size_t Fill(std::span<const ValueReference> references);
  // Returns the value of reference `index` of the last Fill, as ValueStore::Fetch does; empty if it is missing.
  CachePin Take(size_t index, const ValueReference& reference, bool fill_cache);
  // Forgets the values; the memory stays for the next Fill, or until the pool needs it.
  void Forget() { pieces_.clear(); }

 private:
  static constexpr size_t kMostBytesOfRead = size_t{256} << 10;

  struct Piece {
    size_t place = 0;  // in the window
    bool wanted = false;
    bool there = false;
  };
  // Neighbours in a file: the elements of `order_` from `first` on.
  struct Extent {
    size_t first = 0;
    size_t last = 0;
  };

  size_t Choose(std::span<const ValueReference> references);
  void Gather(std::span<const ValueReference> references);
  void NoteRead(std::span<const ValueReference> references, const Extent& extent, const ReadRequest& request);

  ValueStore* const store_;
  WindowPool::Window window_;
  std::vector<Piece> pieces_;
  // Used only by Fill.
  std::vector<size_t> order_;
  std::vector<Extent> extents_;
  std::vector<ReadRequest> requests_;
  std::vector<ValueFileRef> files_;
};

}  // namespace sepal

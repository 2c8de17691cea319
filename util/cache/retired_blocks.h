// Blocks that a cache has evicted while readers inside an epoch guard may still use them.
//
// They are freed once the epoch of their eviction has passed, and are not charged until then. A reader that stays
// inside for long (preempted, or waiting for the disk) holds back everything that others evict meanwhile; so the cache
// calls `MoreThan` before it evicts for a new block.
//
// Safe for concurrent use. Retiring takes a short lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "util/thread/epoch.h"
#include "util/thread/sync.h"

namespace sepal {

class RetiredBlocks {
 public:
  // `epochs` must outlive it; if null, there are no such readers, and blocks are freed at once.
  explicit RetiredBlocks(EpochGroup* epochs) : epochs_(epochs) {}
  // Frees all blocks: requires that no reader is inside.
  ~RetiredBlocks();
  RetiredBlocks(const RetiredBlocks&) = delete;
  RetiredBlocks& operator=(const RetiredBlocks&) = delete;

  // Takes a block of a BlockBuffer that new readers cannot find (EpochDomain::Stamp requires that order).
  void Add(char* data, size_t size);
  // Returns whether more than `most_bytes` wait; if so, the caller does not cache its block of `size` bytes. Costs a
  // load if not.
  bool MoreThan(size_t most_bytes, size_t size) {
    if (bytes_.load(std::memory_order_relaxed) <= most_bytes) [[likely]]
      return false;
    Count(size);
    return bytes_.load(std::memory_order_relaxed) > most_bytes;
  }
  // Frees what no reader can be using any more.
  void Free();

 private:
  // After this many bytes that were retired, or not cached, it checks what can be freed.
  static constexpr size_t kBytesToLook = size_t{128} << 10;

  struct Block {
    uint64_t stamp;
    char* data;
    size_t size;
  };
  void Count(size_t size);
  // Returns whether it is time to check, after `size` more bytes.
  bool ShouldLook(size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  EpochGroup* const epochs_;
  std::atomic<size_t> bytes_{0};  // not freed yet, or about to be freed by a thread
  Mutex mutex_;
  std::deque<Block> blocks_ ABSL_GUARDED_BY(mutex_);  // oldest first
  size_t bytes_since_look_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sepal

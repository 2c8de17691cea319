// Blocks that a cache has evicted, but that readers inside an epoch guard may still be looking at.
//
// They are freed once the epoch has passed in which they were evicted, and are charged to nobody until then. A reader
// that stays inside for long (the system took its processor away, or it waits for the disk) holds back all that others
// evict meanwhile: so the cache asks `MoreThan` before it evicts for a new block.
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
  // `epochs` must outlive it; null: nobody looks, and blocks are freed at once.
  explicit RetiredBlocks(EpochGroup* epochs) : epochs_(epochs) {}
  // Frees them all: requires that no reader is inside.
  ~RetiredBlocks();
  RetiredBlocks(const RetiredBlocks&) = delete;
  RetiredBlocks& operator=(const RetiredBlocks&) = delete;

  // Takes a block of a BlockBuffer that no new reader can find (EpochDomain::Stamp says in which order).
  void Add(char* data, size_t size);
  // Whether more than `most_bytes` wait, for which the caller does not keep a block of `size` bytes. Costs a load where
  // they do not.
  bool MoreThan(size_t most_bytes, size_t size) {
    if (bytes_.load(std::memory_order_relaxed) <= most_bytes) [[likely]]
      return false;
    Count(size);
    return bytes_.load(std::memory_order_relaxed) > most_bytes;
  }
  // Frees what nobody can be looking at any more.
  void Free();

 private:
  // Bytes that came, or were not kept, after which it looks what may be freed.
  static constexpr size_t kBytesToLook = size_t{128} << 10;

  struct Block {
    uint64_t stamp;
    char* data;
    size_t size;
  };
  void Count(size_t size);
  // Whether it is time to look, after `size` bytes more.
  bool ShouldLook(size_t size) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  EpochGroup* const epochs_;
  std::atomic<size_t> bytes_{0};  // not freed yet, be it that a thread is about to
  Mutex mutex_;
  std::deque<Block> blocks_ ABSL_GUARDED_BY(mutex_);  // the oldest first
  size_t bytes_since_look_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace sepal

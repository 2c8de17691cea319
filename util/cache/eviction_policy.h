// Decides which blocks a full cache evicts first, so that a scan does not evict what is read repeatedly.
//
// A data block is *on probation* when it is new, and *trusted* once it was found in the cache. While more blocks are on
// probation than their share, only they are evicted: blocks that are read once pass through that share, and the trusted
// ones stay (after S3-FIFO: Yang, Zhang, Qiu, Yue, Rashmi, "FIFO queues are all you need for cache eviction", 2023).
// The share adapts to the blocks that come back (after ARC: Megiddo and Modha, 2003): it grows with every block that
// was evicted on probation and is wanted again, and shrinks with every such trusted one.
//
// A new block is trusted at once if it comes back soon after its eviction. docs/internals/decisions/0025 compares this
// with alternatives.
//
// A hit writes nothing here: only inserts, evictions and the hand call this. Nothing is refused either: every block
// that is read gets its frame. Safe for concurrent use, without locks; concurrent changes may make the numbers slightly
// wrong for a moment.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "util/cache/ghost_filter.h"

namespace sepal {

class EvictionPolicy {
 public:
  // `blocks`: the number of blocks in a full cache.
  explicit EvictionPolicy(size_t blocks) : evicted_on_probation_(blocks), evicted_trusted_(blocks) {}

  // The memory that this takes for each block of the cache.
  static constexpr size_t kBytesPerBlock = 4;

  // Returns whether an inserted data block is trusted at once. `hash`: of its key, well mixed.
  bool Trusts(uint64_t hash);
  // Notes changes of the cache's contents. All counts are of data blocks.
  void Inserted(bool on_probation) {
    data_blocks_.fetch_add(1, std::memory_order_relaxed);
    if (on_probation) on_probation_.fetch_add(1, std::memory_order_relaxed);
  }
  void Promoted() { on_probation_.fetch_sub(1, std::memory_order_relaxed); }
  void Removed(bool on_probation) {
    data_blocks_.fetch_sub(1, std::memory_order_relaxed);
    if (on_probation) on_probation_.fetch_sub(1, std::memory_order_relaxed);
  }
  // Notes, in addition to Removed, a block evicted for lack of memory.
  void Evicted(uint64_t hash, bool on_probation) {
    (on_probation ? evicted_on_probation_ : evicted_trusted_).Add(hash);
  }
  // Returns whether more blocks are on probation than their share.
  bool ProbationIsOverFull() const;

 private:
  int64_t HalfShare() const;

  GhostFilter evicted_on_probation_;
  GhostFilter evicted_trusted_;
  std::atomic<int64_t> data_blocks_{0};
  std::atomic<int64_t> on_probation_{0};
  // The share in halves of a block, before it is limited by bounds that depend on `data_blocks_`.
  std::atomic<int64_t> half_share_{0};
};

}  // namespace sepal

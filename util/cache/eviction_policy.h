// Which blocks a full cache gives up first, so that a scan does not push out what is read again and again.
//
// A data block is *on probation* when it is new, and *trusted* once it was found there. While more blocks are on
// probation than their share, only they are evicted: blocks that are read once pass through that share, and the trusted
// ones stay (after S3-FIFO: Yang, Zhang, Qiu, Yue, Rashmi, "FIFO queues are all you need for cache eviction", 2023).
// The share follows what comes back (after ARC: Megiddo and Modha, 2003): it grows with every block that was evicted on
// probation and is wanted again, and shrinks with every trusted one.
//
// A new block is trusted at once if it comes back soon after it was evicted. docs/internals/decisions/0025 has what
// this and other ways gave.
//
// Nothing is written when a block is found: only inserts, evictions and the hand that looks for blocks to evict come
// here. Nothing is refused either: every block that is read gets its frame. Safe for concurrent use, without locks;
// numbers that threads change at the same moment may be off by little, for a moment.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "util/cache/ghost_filter.h"

namespace sepal {

class EvictionPolicy {
 public:
  // `blocks`: how many the cache holds when it is full.
  explicit EvictionPolicy(size_t blocks) : evicted_on_probation_(blocks), evicted_trusted_(blocks) {}

  // What a cache of one block more takes for this.
  static constexpr size_t kBytesPerBlock = 4;

  // Whether a data block that is put in is trusted at once. `hash`: of its key, well mixed.
  bool Trusts(uint64_t hash);
  // What is in the cache changed. All numbers are of data blocks.
  void Inserted(bool on_probation) {
    data_blocks_.fetch_add(1, std::memory_order_relaxed);
    if (on_probation) on_probation_.fetch_add(1, std::memory_order_relaxed);
  }
  void Promoted() { on_probation_.fetch_sub(1, std::memory_order_relaxed); }
  void Removed(bool on_probation) {
    data_blocks_.fetch_sub(1, std::memory_order_relaxed);
    if (on_probation) on_probation_.fetch_sub(1, std::memory_order_relaxed);
  }
  // Evicted for want of memory, beside Removed.
  void Evicted(uint64_t hash, bool on_probation) {
    (on_probation ? evicted_on_probation_ : evicted_trusted_).Add(hash);
  }
  // Whether more blocks are on probation than their share.
  bool ProbationIsOverFull() const;

 private:
  int64_t HalfShare() const;

  GhostFilter evicted_on_probation_;
  GhostFilter evicted_trusted_;
  std::atomic<int64_t> data_blocks_{0};
  std::atomic<int64_t> on_probation_{0};
  // The share in halves of a block; used within bounds that depend on `data_blocks_`.
  std::atomic<int64_t> half_share_{0};
};

}  // namespace sepal

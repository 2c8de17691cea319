// Counts how much of the one memory limit each holder has.
//
// Every large holder charges what it takes and releases what it returns. Charging never fails: callers that can be
// refused ask `Fits` first, and the cache, which can always evict something, is asked to shrink when the sum exceeds
// the limit: holders that have charged a large piece call `Relieve`. Safe for concurrent use; a charge is one relaxed
// addition to a counter.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

namespace sepal {

enum class MemoryPart : uint8_t {
  kMemtables,
  kDataBlocks,
  kLeafPages,
  kGuards,
  kTables,        // open table readers, their roots and hints
  kCompaction,    // buffers of flushes and compactions
  kReadAhead,     // windows of the users' iterators (util/memory/window_pool.h)
  kLog,           // and values that are streamed into files
  kPins,          // values too large for the cache, while a reader holds them
  kTransactions,  // what open transactions have written, read and locked
  kCount,
};

std::string_view Name(MemoryPart part);

class MemoryBudget {
 public:
  explicit MemoryBudget(size_t limit_bytes) : limit_bytes_(limit_bytes) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  // `relieve` schedules a shrinking of the cache, but does not shrink it itself, because writers wait during the call.
  // Set before the budget is used by others; null if there is nothing to shrink.
  void RelieveBy(std::function<void()> relieve) { relieve_ = std::move(relieve); }

  size_t limit_bytes() const { return limit_bytes_; }
  void Charge(MemoryPart part, size_t bytes) {
    used_[static_cast<size_t>(part)].fetch_add(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }
  void Release(MemoryPart part, size_t bytes) {
    used_[static_cast<size_t>(part)].fetch_sub(static_cast<int64_t>(bytes), std::memory_order_relaxed);
  }
  // Asks for relief if clearly more is charged than the limit; a full cache exceeds it by a few blocks at any time.
  void Relieve() const {
    if (!relieve_) return;
    const size_t charged = total();
    if (charged > limit_bytes_ && charged - limit_bytes_ > ReliefSlack(limit_bytes_)) relieve_();
  }
  static constexpr size_t ReliefSlack(size_t limit_bytes) {
    return std::max(limit_bytes / 256, std::min(limit_bytes / 32, size_t{256} << 10));
  }
  size_t used(MemoryPart part) const {
    const int64_t bytes = used_[static_cast<size_t>(part)].load(std::memory_order_relaxed);
    return bytes > 0 ? static_cast<size_t>(bytes) : 0;
  }
  size_t total() const;
  // Returns the sum of the parts that the cache cannot evict.
  size_t unreclaimable() const;
  // Checks whether an iterator may pin a value that is too large for the cache, as long as it stays there. It may if
  // nothing else is pinned, or if that leaves a quarter of the limit to writers; beyond that, all such iterators
  // together may hold another quarter. ResourceExhausted says what is held.
  absl::Status CheckRoomToPin(size_t bytes) const;
  // Returns what the cache (data blocks, leaf pages and guards together) may hold besides the other parts.
  size_t CacheCapacity() const;

  std::string ToString() const;

 private:
  const size_t limit_bytes_;
  std::function<void()> relieve_;
  std::array<std::atomic<int64_t>, static_cast<size_t>(MemoryPart::kCount)> used_ = {};
};

}  // namespace sepal

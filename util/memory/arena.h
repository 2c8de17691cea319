// Memory that is allocated piece by piece and freed all at once.
//
// A chunk has about a quarter of the memory held so far, up to 1 MiB, and chunks are huge pages from then on, so that
// at most about a fifth of an arena is unused; all but the first half MiB returns to the system with the arena. A piece
// that would waste much of a chunk is allocated separately, as are all of the first 2 KiB, because there may be
// thousands of arenas with a few pieces each. The memory is charged to a budget, if one is given.
//
// One thread allocates at a time; any thread may read `memory_bytes`. Pieces stay in place until the arena is
// destroyed; other threads may use them once their addresses were published. Nothing is constructed or destroyed in
// them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <string_view>
#include <vector>

#include "util/memory/mapped_memory.h"
#include "util/memory/memory_budget.h"
#include "util/memory/ready_pages.h"

namespace sepal {

class Arena {
 public:
  // `budget`, and `pool`, with which large chunks are exchanged, may be null; otherwise they must outlive the arena.
  explicit Arena(MemoryBudget* budget = nullptr, MemoryPart part = MemoryPart::kMemtables, ReadyPages* pool = nullptr)
      : budget_(budget), part_(part), pool_(pool) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Returns `bytes` uninitialised bytes at any address; never null, not even for 0.
  char* Allocate(size_t bytes) {
    if (bytes <= static_cast<size_t>(end_ - next_) && bytes > 0) [[likely]] {
      char* piece = next_;
      next_ += bytes;
      return piece;
    }
    return AllocateSlowly(bytes, 1);
  }
  // The same at a multiple of `alignment`, a power of two up to 4096.
  char* AllocateAligned(size_t bytes, size_t alignment = alignof(std::max_align_t)) {
    const size_t skip = -reinterpret_cast<uintptr_t>(next_) & (alignment - 1);
    const auto left = static_cast<size_t>(end_ - next_);
    if (bytes > 0 && bytes <= left && skip <= left - bytes) [[likely]] {
      char* piece = next_ + skip;
      next_ = piece + bytes;
      return piece;
    }
    return AllocateSlowly(bytes, alignment);
  }
  // Returns a copy of `bytes` in the arena.
  std::string_view Copy(std::string_view bytes);

  // The memory that the arena holds: its chunks, used or not.
  size_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }

 private:
  char* AllocateSlowly(size_t bytes, size_t alignment);
  // A large one is added to `large`.
  char* NewChunk(size_t bytes, std::vector<LargeBuffer>* large);

  MemoryBudget* const budget_;
  const MemoryPart part_;
  ReadyPages* const pool_;
  char* next_ = nullptr;
  char* end_ = nullptr;
  // Chunks begin at multiples of a cache line, so that the bytes skipped for alignment, and thereby the sum of memory,
  // do not depend on addresses: simulations stay reproducible.
  static constexpr std::align_val_t kChunkAlignment{64};
  struct FreeChunk {
    void operator()(char* chunk) const { ::operator delete(chunk, kChunkAlignment); }
  };
  std::vector<std::unique_ptr<char, FreeChunk>> chunks_;
  std::vector<LargeBuffer> grown_chunks_;  // the last ones are huge pages
  std::vector<LargeBuffer> lone_chunks_;   // one piece each
  std::atomic<size_t> memory_bytes_{0};
};

}  // namespace sepal

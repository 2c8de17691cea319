// Memory that is handed out piece by piece and given back all at once.
//
// Chunks are about a quarter of what is held, up to 1 MiB, and are huge pages from then on, so that at most about a
// fifth of an arena is unused; all but the first half MiB goes back to the system with the arena. A piece that would
// waste much of a chunk gets memory of its own: so do all of the first 2 KiB, since there may be thousands of arenas
// with a few pieces each. What is held is charged to a memory budget, where one is given.
//
// One thread allocates at a time; `memory_bytes` may be read by any. Pieces stay where they are until the arena goes;
// other threads may use them once their addresses were published to them. Nothing is constructed or destroyed in them.
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
  // `budget` and `pool`, where large chunks come from and go to, may be null; else they must outlive the arena.
  explicit Arena(MemoryBudget* budget = nullptr, MemoryPart part = MemoryPart::kMemtables, ReadyPages* pool = nullptr)
      : budget_(budget), part_(part), pool_(pool) {}
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // `bytes` uninitialised bytes at any address; never null, not even for 0.
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
  // A copy of `bytes` in the arena.
  std::string_view Copy(std::string_view bytes);

  // What the arena holds of memory: its chunks, used or not.
  size_t memory_bytes() const { return memory_bytes_.load(std::memory_order_relaxed); }

 private:
  char* AllocateSlowly(size_t bytes, size_t alignment);
  // A large one goes into `large`.
  char* NewChunk(size_t bytes, std::vector<LargeBuffer>* large);

  MemoryBudget* const budget_;
  const MemoryPart part_;
  ReadyPages* const pool_;
  char* next_ = nullptr;
  char* end_ = nullptr;
  // Chunks begin at multiples of a cache line, so that how much is skipped to align a piece, and with it the sum of
  // memory, does not depend on addresses: a simulation comes out the same every time.
  static constexpr std::align_val_t kChunkAlignment{64};
  struct FreeChunk {
    void operator()(char* chunk) const { ::operator delete(chunk, kChunkAlignment); }
  };
  std::vector<std::unique_ptr<char, FreeChunk>> chunks_;
  std::vector<LargeBuffer> grown_chunks_;  // the last ones are huge pages
  std::vector<LargeBuffer> lone_chunks_;   // for one piece each
  std::atomic<size_t> memory_bytes_{0};
};

}  // namespace sepal

// Memory for blocks: pieces of up to 32 KiB, cut from huge pages.
//
// The blocks of a large cache are accessed at random: on pages of 4 KiB nearly every access misses the TLB, which costs
// twice as much in a virtual machine. On huge pages it does not (docs/internals/decisions/0030).
//
// The system provides *chunks* of 2 MiB. A chunk is cut into *spans* of 128 KiB, and a span, when it is first needed,
// into n pieces of one size, n from 4 to 256 (a chunk's first span is shorter, and has fewer): so sizes are a
// thirty-second apart at 4 KiB, and a quarter at 32 KiB. A span whose pieces are all free can be cut anew; chunks
// without a used span, except for one, go back to the system.
//
// Pieces that are freed at random leave free ones in every chunk, and no chunk empty. A caller that can move its pieces
// has chunks *drained*: no piece comes from a draining chunk as long as another one has room, and it goes back to the
// system with its last piece. Before mapping a chunk, the heap takes a draining one back into use if it has room for
// the piece.
//
// One heap serves the process, as malloc does. Safe for concurrent use; a call takes a short lock. Under
// AddressSanitizer, free pieces and the slack after a piece may not be touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "util/memory/mapped_memory.h"
#include "util/thread/sync.h"

#if defined(__SANITIZE_ADDRESS__)
#define SEPAL_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SEPAL_ADDRESS_SANITIZER 1
#endif
#endif

namespace sepal {

class BlockHeap {
 public:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kLargestPiece = size_t{32} << 10;

  BlockHeap() = default;
  // Requires that all pieces have been freed.
  ~BlockHeap();
  BlockHeap(const BlockHeap&) = delete;
  BlockHeap& operator=(const BlockHeap&) = delete;
  // The heap of the process; never destroyed.
  static BlockHeap& OfProcess();

  // Returns the memory that a piece of `bytes`, at most kLargestPiece, takes.
  static constexpr size_t SizeFor(size_t bytes) { return SizeOfClass(ClassFor(bytes)); }

  // Returns a piece of `bytes`, from 1 to kLargestPiece, aligned to kAlignment.
  char* Allocate(size_t bytes);
  // `bytes` is the size that was allocated.
  void Free(char* piece, size_t bytes);
  // Allocates a piece of `bytes` to replace `piece`, outside of draining chunks; returns `piece` itself if its chunk
  // does not drain, or no longer. Null if that would need a new chunk or, without `from_drained`, a draining chunk with
  // a free span.
  char* AllocateElsewhere(char* piece, size_t bytes, bool from_drained);

  static constexpr size_t kChunkBytes = MappedMemory::kHugePageBytes;
  size_t MappedBytes() const;
  // Returns the mapped memory that is in no piece.
  size_t FreeBytes() const;

  // A set of chunks that tells whether a piece lies in one of them, whatever has become of the chunks since.
  class ChunkSet {
   public:
    bool Holds(const void* piece) const;
    bool empty() const { return chunks_.empty(); }

   private:
    friend class BlockHeap;
    std::vector<uintptr_t> chunks_;  // ascending
  };
  // Lets the least used chunks drain: as many as leave at least `kept_bytes` free once they are gone, and no others, so
  // a second call replaces the first. Visits every chunk under the lock.
  ChunkSet Drain(size_t kept_bytes);

 private:
  static constexpr size_t kSpanBytes = size_t{128} << 10;
  static constexpr size_t kSpans = kChunkBytes / kSpanBytes;
  static constexpr uint32_t kAllSpans = (uint32_t{1} << kSpans) - 1;
  static constexpr size_t kMostPieces = 256;  // of a span
  // A chunk's descriptor lies at its beginning, so the first span is shorter by this.
  static constexpr size_t kHeaderBytes = 4096;

  struct Span {
    uint64_t free[kMostPieces / 64];  // a bit for each piece
    Span* previous;
    Span* next;
    uint16_t pieces;  // 0 if not cut
    uint16_t used;
    uint16_t size_class;
  };
  struct Chunk {
    Span spans[kSpans];
    uint32_t uncut_spans;  // a bit for each
    bool drains;           // its spans are in no list, and it is not in open_chunks_
    size_t used_bytes;     // of its allocated pieces
    MappedMemory memory;
  };
  static_assert(sizeof(Chunk) <= kHeaderBytes);

  static void LockForFork() ABSL_NO_THREAD_SAFETY_ANALYSIS;
  static void UnlockAfterFork() ABSL_NO_THREAD_SAFETY_ANALYSIS;

  // A class is the number of pieces in a whole span.
  static constexpr size_t ClassFor(size_t bytes) {
    const size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return kSpanBytes / rounded < kMostPieces ? kSpanBytes / rounded : kMostPieces;
  }
  static constexpr size_t SizeOfClass(size_t pieces) { return kSpanBytes / pieces / kAlignment * kAlignment; }
  static Chunk* ChunkOf(const void* address);
  static size_t IndexOf(const Span* span);
  static char* BytesOf(const Span* span);

  char* Take(size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Chunk* GiveBack(char* piece, size_t bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Span* CutSpan(size_t size_class) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Chunk* UncutSpan(Span* span) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Chunk* DrainingChunkFor(size_t bytes, bool any_room) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void StartToDrain(Chunk* chunk) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void UseAgain(Chunk* chunk) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Returns whether the chunk, which is empty, was added.
  bool Add(Chunk* chunk) ABSL_LOCKS_EXCLUDED(mutex_);
  static Chunk* MapChunk();
  static void Unmap(Chunk* chunk);
  // Called for a chunk without pieces: returns it if it is to be unmapped, or null if it stays.
  Chunk* LetGo(Chunk* chunk) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Link(Span* span, size_t size_class) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Unlink(Span* span, size_t size_class) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable AllocatorMutex mutex_;
  // Spans of each class that have a free piece.
  Span* partial_[kMostPieces + 1] ABSL_GUARDED_BY(mutex_) = {};
  std::set<Chunk*> chunks_ ABSL_GUARDED_BY(mutex_);
  // Chunks with an uncut span. The lowest is used first, so that the others may become empty.
  std::set<Chunk*> open_chunks_ ABSL_GUARDED_BY(mutex_);
  std::set<Chunk*> draining_chunks_ ABSL_GUARDED_BY(mutex_);
  size_t used_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  size_t empty_chunks_ ABSL_GUARDED_BY(mutex_) = 0;  // among the open chunks
};

}  // namespace sepal

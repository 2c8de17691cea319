// The block cache: data blocks, leaf pages and guards of open tables, under one memory limit.
//
// A cached block is a *frame*: bytes that never change after their insertion, and a key that names their origin. A
// `CachePin` keeps a frame's bytes alive; an unpinned frame may be evicted whenever memory is needed. Frames are
// type-stable: the descriptors are never freed while the cache lives, so a (frame, generation) pair, a `FrameHint`, may
// be stored anywhere and tried later: it either pins the very block that it was taken from, or fails.
//
// Law: charged bytes of cached blocks stay within `MemoryBudget::CacheCapacity()` whenever eviction can achieve it;
// pinned frames are never evicted. When everything is pinned, `Insert` still succeeds, with a frame that belongs only
// to its pins and is freed with the last of them. The same happens when nearly everything is pinned, because an insert
// does not repeat a search of all frames that failed shortly before.
//
// The key of a block determines its bytes, so it does not matter which of two blocks with one key is found: if two
// threads insert the same key at the same moment, both blocks may stay.
//
// A reader inside an epoch guard may also *peek*: use a block without a reference. Its bytes stay until the guard ends,
// even if the block is evicted meanwhile; that memory is then no longer charged. When readers hold back about a
// sixteenth of the limit in this way, new blocks belong only to their pins until some readers have left.
//
// Safe for concurrent use. A hit takes no lock: a peek only loads; a pin is one atomic addition, and one subtraction
// when it is released (util/cache/block_cache_impl.h has the protocol). An eviction takes a short lock if peeks are
// possible.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "util/memory/block_buffer.h"
#include "util/memory/block_heap.h"
#include "util/memory/memory_budget.h"
#include "util/thread/epoch.h"

namespace sepal {

// Names a block for good: `file` is unique among all tables that were ever opened with this cache.
struct CacheKey {
  uint64_t file = 0;
  uint64_t offset = 0;
  friend bool operator==(const CacheKey&, const CacheKey&) = default;
};

class BlockCache;

// The descriptor of a cached block. Only the cache changes it; it is defined here so that pins need no function calls.
//
// `meta`, from the lowest bit: 26 bits of references, 3 of clock, 2 of state, 1 of probation, 32 of generation.
struct alignas(64) CacheFrame {
  static constexpr uint64_t kReferenceUnit = 1;
  static constexpr uint64_t kReferenceMask = (uint64_t{1} << 26) - 1;
  static constexpr uint64_t kClockUnit = uint64_t{1} << 26;
  static constexpr uint64_t kClockMask = 7 * kClockUnit;
  static constexpr uint64_t kStateUnit = uint64_t{1} << 29;
  static constexpr uint64_t kStateMask = 3 * kStateUnit;
  static constexpr uint64_t kEmpty = 0 * kStateUnit;
  static constexpr uint64_t kOwned = 1 * kStateUnit;
  static constexpr uint64_t kVisible = 2 * kStateUnit;
  static constexpr uint64_t kAlone = 3 * kStateUnit;
  static constexpr uint64_t kProbation = uint64_t{1} << 31;
  static constexpr uint64_t kGenerationUnit = uint64_t{1} << 32;
  // The bits that do not change while the frame holds a block.
  static constexpr uint64_t kOfBlock = kStateMask | ~(kGenerationUnit - 1);

  std::atomic<uint64_t> meta;
  // Written only by the owner. Read first without a reference, as a guess, and then again with one or, in a peek,
  // before `meta` is read again.
  std::atomic<uint64_t> file;
  std::atomic<uint64_t> offset;
  std::atomic<char*> data;
  std::atomic<size_t> size;
  // How many blocks lie beyond this frame that would have been put here, had it been empty.
  std::atomic<uint32_t> displaced;
  std::atomic<MemoryPart> part;

  // The number of sweeps that an unused block survives: when it is new and trusted, and after it was found. A block on
  // probation begins with 0, so that a higher clock shows that it was found.
  static constexpr uint64_t kMostClock = 6;
  static uint64_t ClockWhenNew(MemoryPart part) { return part == MemoryPart::kDataBlocks ? 1 : 4; }
  static uint64_t ClockWhenFound(MemoryPart part) { return part == MemoryPart::kDataBlocks ? 3 : kMostClock; }

  bool Has(const CacheKey& key) const {
    return offset.load(std::memory_order_acquire) == key.offset && file.load(std::memory_order_acquire) == key.file;
  }
  // Notes that its block, seen visible as `seen`, was found.
  void Use(uint64_t seen) {
    const uint64_t clock = ClockWhenFound(part.load(std::memory_order_relaxed));
    if ((seen & kClockMask) < clock * kClockUnit) [[unlikely]]
      RaiseClock(seen, clock);
  }

 private:
  void RaiseClock(uint64_t seen, uint64_t clock);
};

// A frame and its generation then; 0 is no hint. It is one word, so that it fits in an atomic.
struct FrameHint {
  uint64_t word = 0;
};
// The word of a FrameHint, where a reader remembers the frame of a block.
using HintWord = std::atomic<uint64_t>;

// Where a block was seen; it may be gone since, so both fields serve only for attempts and prefetches.
struct CacheSighting {
  FrameHint frame = {};
  const char* end = nullptr;  // after its bytes; null if it was not seen
};

// A block that is used without a reference; valid until the end of the epoch guard under which it was taken.
struct CachePeek {
  std::string_view bytes = {};
  CacheFrame* frame = nullptr;
  uint32_t generation = 0;
  explicit operator bool() const { return frame != nullptr; }
};

// Keeps a frame's bytes alive. Move-only; releasing is one atomic operation. Must not outlive the cache.
class CachePin {
 public:
  CachePin() = default;
  CachePin(CachePin&& other) noexcept
      : cache_(std::exchange(other.cache_, nullptr)), frame_(std::exchange(other.frame_, nullptr)) {}
  CachePin& operator=(CachePin&& other) noexcept {
    if (this != &other) {
      Reset();
      cache_ = std::exchange(other.cache_, nullptr);
      frame_ = std::exchange(other.frame_, nullptr);
    }
    return *this;
  }
  ~CachePin() { Reset(); }

  explicit operator bool() const { return frame_ != nullptr; }
  // Requires a frame. The bytes live as long as the pin.
  std::string_view bytes() const {
    return {frame_->data.load(std::memory_order_relaxed), frame_->size.load(std::memory_order_relaxed)};
  }
  // Returns no hint for a frame that belongs only to its pins.
  FrameHint hint() const;
  inline void Reset();
  // For passing a pin as a pair of plain pointers; the caller must then call BlockCache::Unpin(frame).
  std::pair<BlockCache*, CacheFrame*> Detach() {
    return {std::exchange(cache_, nullptr), std::exchange(frame_, nullptr)};
  }

 private:
  friend class BlockCache;
  CachePin(BlockCache* cache, CacheFrame* frame) : cache_(cache), frame_(frame) {}
  BlockCache* cache_ = nullptr;
  CacheFrame* frame_ = nullptr;
};

class BlockCache {
 public:
  // `budget` must outlive the cache, and nothing else may charge the cache's parts. `expected_block_bytes`, the typical
  // size of a block, determines the size of the hash table; smaller blocks fill the table before the memory. `epochs`:
  // the domain whose guards readers hold when they peek; if null, a peek finds nothing. Must outlive the cache.
  // `drains_in_simulation`: whether Shrink moves blocks on simulated threads too, although the heap that it uses
  // belongs to the process and not to the simulation.
  BlockCache(MemoryBudget* budget, size_t expected_block_bytes, EpochDomain* epochs = nullptr,
             bool drains_in_simulation = false);
  // The same for readers of several domains.
  BlockCache(MemoryBudget* budget, size_t expected_block_bytes, EpochGroup* epochs, bool drains_in_simulation);
  // A part of a cache that several databases share: the same blocks and frames, with file numbers of its own. `shared`
  // must outlive it.
  explicit BlockCache(const BlockCache* shared);
  // Requires that no pin is left; for a part, none of its own. A part erases the files noted as gone.
  ~BlockCache();
  // Returns the address space that such a cache maps at once, before it holds anything.
  static size_t TableBytes(size_t limit_bytes, size_t expected_block_bytes);
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // Returns a number for CacheKey::file, above those that callers choose themselves (below 2^63).
  uint64_t NewFileId();
  // Returns the number for CacheKey::file of the file that a database knows as `number`. In a part, no file of another
  // part, past or present, has it.
  uint64_t FileOf(uint64_t number) {
    if (first_file_ == 0) return number;
    return number < kFilesOfPart && first_file_ < kPartsEnd ? first_file_ + number : NewFileId();
  }

  // Returns the block, or an empty pin.
  CachePin Lookup(const CacheKey& key);
  // Returns the block that `hint` was taken from, or an empty pin.
  CachePin Lookup(FrameHint hint, const CacheKey& key) { return PinHinted</*uses=*/true>(hint, key); }
  // The same, but does not count as a use: for callers that read each block once.
  CachePin LookupUnused(FrameHint hint, const CacheKey& key) { return PinHinted</*uses=*/false>(hint, key); }
  // The same without a reference. Only inside a guard of the cache's epoch domain.
  CachePeek Peek(const CacheKey& key);
  // Tries the frame that `*hint` names first, and remembers the one in which the block was found. The frame may hold
  // the block in a later generation than the hint's; its bytes are the same.
  CachePeek Peek(const CacheKey& key, HintWord* hint) {
    const uint64_t place = hint->load(std::memory_order_relaxed) % CacheFrame::kGenerationUnit;
    if (place - 1 < peekable_frames_) [[likely]] {
      if (const CachePeek peek = TryPeek(&frames_[place - 1], key)) [[likely]]
        return peek;
    }
    return PeekAndRemember(key, hint);
  }
  // Returns where the block is now. Neither takes a reference nor counts as a use.
  CacheSighting Sight(const CacheKey& key) const;
  // Returns a reference to the block, or an empty pin if it was evicted.
  CachePin Pin(const CachePeek& peek);
  // Returns a pin of LookupUnused, and evicts the block unless it is held elsewhere or was found lately: for callers
  // that read the block in order to replace it.
  void ReleaseReplaced(CachePin pin) {
    CacheFrame* const frame = std::exchange(pin.frame_, nullptr);
    const uint64_t clock = CacheFrame::ClockWhenNew(frame->part.load(std::memory_order_relaxed));
    const uint64_t meta =
        frame->meta.fetch_sub(CacheFrame::kReferenceUnit, std::memory_order_release) - CacheFrame::kReferenceUnit;
    const bool unused = (meta & CacheFrame::kClockMask) <= clock * CacheFrame::kClockUnit;
    if (unused && (meta & CacheFrame::kReferenceMask) == 0) Evict(frame, meta);
  }
  // Prefetches the frame that a Lookup or Peek will check first.
  void Prefetch(const CacheKey& key) const;
  void Prefetch(FrameHint hint) const {
    const uint64_t place = hint.word % CacheFrame::kGenerationUnit;
    if (place - 1 < frame_count_) __builtin_prefetch(&frames_[place - 1]);
  }

  // Inserts a block and pins it. If another thread inserted the same key first, pins that block and drops `buffer`.
  // `part` must be kDataBlocks, kLeafPages or kGuards; the latter two are kept longer than data blocks. New data blocks
  // are evicted before those that were found again (util/cache/eviction_policy.h).
  CachePin Insert(const CacheKey& key, BlockBuffer buffer, MemoryPart part);
  // Inserts a copy of a block that is likely to be read soon, if there is unused memory: nothing is evicted for it, and
  // a quarter of the cache stays free. Returns whether it did.
  bool InsertWhereFree(const CacheKey& key, std::string_view bytes, MemoryPart part);
  // Makes a pin for a block that is not cached: charged to kPins until released.
  CachePin PinUncached(BlockBuffer buffer);
  // Notes that a file is gone, without dropping its blocks yet, because that takes a scan of all blocks, which one scan
  // can do for all such files. The caller that releases files calls EraseGone afterwards. Otherwise, when there are as
  // many notes as groups of frames, the next note does it; so a note costs a scan of one group in the long run. Takes a
  // short lock; may be called with any lock of the engine held.
  void NoteGone(uint64_t file);
  // Drops all unpinned blocks of the noted files, unless another thread is doing so, and forgets the notes; a file that
  // was opened again meanwhile loses its blocks once. Blocks that are pinned, or being moved by Shrink at that moment,
  // age like unused ones later. Costs nothing if no file was noted.
  void EraseGone();
  // Drops blocks of gone files, then evicts until the cache fits its capacity or nothing more can be evicted, and
  // returns the free memory to the system: in the end less than a twentieth of the limit is free in the block heap,
  // besides what readers still use. Called after others charged the budget. Moves blocks if the free memory is
  // scattered, after which hints to them, and pins from peeks at them, may fail.
  void Shrink();

  void Unpin(CacheFrame* frame) {
    const uint64_t before = frame->meta.fetch_sub(CacheFrame::kReferenceUnit, std::memory_order_release);
    if ((before & CacheFrame::kStateMask) == CacheFrame::kAlone) [[unlikely]]
      UnpinAlone(frame, before);
  }

 private:
  friend class CachePin;
  struct Impl;
  // Peeks at the frame if it holds the block `key`.
  static CachePeek TryPeek(CacheFrame* frame, const CacheKey& key) {
    const uint64_t before = frame->meta.load(std::memory_order_acquire);
    if ((before & CacheFrame::kStateMask) != CacheFrame::kVisible || !frame->Has(key)) return {};
    const char* const data = frame->data.load(std::memory_order_acquire);
    const size_t size = frame->size.load(std::memory_order_acquire);
    const uint64_t after = frame->meta.load(std::memory_order_seq_cst);
    if (((before ^ after) & CacheFrame::kOfBlock) != 0) return {};
    frame->Use(after);
    return {.bytes = {data, size},
            .frame = frame,
            .generation = static_cast<uint32_t>(after / CacheFrame::kGenerationUnit)};
  }
  template <bool uses>
  CachePin PinHinted(FrameHint hint, const CacheKey& key) {
    const uint64_t place = hint.word % CacheFrame::kGenerationUnit;
    if (place - 1 >= frame_count_) return {};
    CacheFrame* const frame = &frames_[place - 1];
    const uint64_t wanted = (hint.word - place) | CacheFrame::kVisible;
    if ((frame->meta.load(std::memory_order_relaxed) & CacheFrame::kOfBlock) != wanted) return {};
    const uint64_t before = frame->meta.fetch_add(CacheFrame::kReferenceUnit, std::memory_order_acquire);
    CachePin pin(this, frame);
    if ((before & CacheFrame::kOfBlock) != wanted || !frame->Has(key)) [[unlikely]]
      return {};
    if constexpr (uses) frame->Use(before + CacheFrame::kReferenceUnit);
    return pin;
  }
  CachePeek PeekAndRemember(const CacheKey& key, HintWord* hint);
  void UnpinAlone(CacheFrame* frame, uint64_t meta_before);
  // The number of file names in each part. Once the names of all possible parts are used, each file gets a new name at
  // each opening.
  static constexpr uint64_t kFilesOfPart = uint64_t{1} << 40;
  static constexpr uint64_t kPartsEnd = uint64_t{1} << 62;
  // Evicts unless the frame has changed since it was seen as `meta`, visible and without references.
  void Evict(CacheFrame* frame, uint64_t meta);

  const std::shared_ptr<Impl> impl_;
  const uint64_t first_file_ = 0;  // of a part
  // The table of frames; `peekable_frames_` is 0 without epochs.
  CacheFrame* const frames_;
  const size_t frame_count_;
  const size_t peekable_frames_;
};

inline void CachePin::Reset() {
  if (frame_ != nullptr) cache_->Unpin(std::exchange(frame_, nullptr));
}

}  // namespace sepal

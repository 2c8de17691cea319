// The block cache: data blocks, leaf pages and guards of open tables, under one memory limit.
//
// A cached block is a *frame*: bytes that are never changed after they were inserted, and a key that names where they
// came from. A `CachePin` keeps a frame's bytes alive; an unpinned frame may go whenever memory is wanted. Frames are
// type-stable: the descriptors are never freed while the cache lives, so that a (frame, generation) pair, a
// `FrameHint`, may be kept anywhere and tried later: it either pins the very block it was taken from, or fails.
//
// Law: charged bytes of cached blocks stay within `MemoryBudget::CacheCapacity()` whenever eviction can make it so;
// pinned frames are never evicted. When everything is pinned, `Insert` still succeeds, as a frame that belongs to its
// pins alone and is gone with the last of them. So it does while nearly everything is: an insert does not look at all
// frames again that one before it has looked at in vain.
//
// The key of a block decides its bytes, so that it does not matter which of two blocks under one key is found: when two
// threads put the same key in at the same moment, both may stay.
//
// A reader that is inside an epoch guard may also *peek*: look at a block without a reference. Its bytes stay until the
// guard ends, even if the block is evicted meanwhile; that memory is no longer charged then. When readers inside hold
// back about a sixteenth of the limit so, new blocks belong to their pins alone until some have left.
//
// Safe for concurrent use. A hit takes no lock: a peek only loads, a pin is one atomic addition, and one subtraction
// when it goes (util/cache/block_cache_impl.h has the protocol). An eviction takes a short lock where peeks are
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

// The descriptor of a cached block. Only the cache itself changes one; it is laid open here so that pins cost no calls.
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
  // Of which nothing changes while the frame holds a block.
  static constexpr uint64_t kOfBlock = kStateMask | ~(kGenerationUnit - 1);

  std::atomic<uint64_t> meta;
  // Written by the owner alone. Read as a guess without a reference, and again with one or, by a peek, before `meta`
  // is read again.
  std::atomic<uint64_t> file;
  std::atomic<uint64_t> offset;
  std::atomic<char*> data;
  std::atomic<size_t> size;
  // How many blocks in the table lie beyond this frame that would have been put here, had it been empty.
  std::atomic<uint32_t> displaced;
  std::atomic<MemoryPart> part;

  // Sweeps that an unused block outlives: when it is new and trusted, and after it was found. On probation it begins
  // with none, so that the clock tells whether it was found.
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

// A frame and the generation it had; 0 is no hint. One word, so that it can be kept in an atomic.
struct FrameHint {
  uint64_t word = 0;
};
// The word of a FrameHint, where a reader remembers the frame of one block.
using HintWord = std::atomic<uint64_t>;

// Where a block was seen, which may have gone since: both are for trying and fetching ahead alone.
struct CacheSighting {
  FrameHint frame = {};
  const char* end = nullptr;  // behind its bytes; null: nowhere
};

// A block that was looked at without a reference: valid as long as the epoch guard under which it was taken.
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
  // No hint for a frame that belongs to its pins alone.
  FrameHint hint() const;
  inline void Reset();
  // For handing a pin through a pair of plain pointers: after this the caller calls BlockCache::Unpin(frame).
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
  // `budget` must outlive the cache, and nothing else charges the cache's parts. `expected_block_bytes` sizes the hash
  // table: the typical size of a block; smaller blocks fill the table before the memory. `epochs`: whose guards readers
  // hold when they peek; null: a peek finds nothing. Must outlive the cache. `drains_in_simulation`: whether Shrink
  // moves blocks on simulated threads too, although the heap that it looks at is the process's and not the
  // simulation's.
  BlockCache(MemoryBudget* budget, size_t expected_block_bytes, EpochDomain* epochs = nullptr,
             bool drains_in_simulation = false);
  // The same for readers of several domains.
  BlockCache(MemoryBudget* budget, size_t expected_block_bytes, EpochGroup* epochs, bool drains_in_simulation);
  // A part of a cache that several databases share: the same blocks and frames, under names of its own. `shared` must
  // outlive it.
  explicit BlockCache(const BlockCache* shared);
  // Requires that no pin is left; a part, that none of its own is, and it erases what was noted as gone.
  ~BlockCache();
  // Of address space that such a cache maps at once, before it holds anything.
  static size_t TableBytes(size_t limit_bytes, size_t expected_block_bytes);
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // A number for CacheKey::file, above those that callers choose by themselves (below 2^63).
  uint64_t NewFileId();
  // The number for CacheKey::file of the file that a database knows by `number`. Of a part, it names no file of another
  // part, whether that is still there or not.
  uint64_t FileOf(uint64_t number) {
    if (first_file_ == 0) return number;
    return number < kFilesOfPart && first_file_ < kPartsEnd ? first_file_ + number : NewFileId();
  }

  // The block, or an empty pin.
  CachePin Lookup(const CacheKey& key);
  // The block that `hint` was taken from, or an empty pin.
  CachePin Lookup(FrameHint hint, const CacheKey& key) { return PinHinted</*uses=*/true>(hint, key); }
  // The same, but does not count as a use: for who reads each block once.
  CachePin LookupUnused(FrameHint hint, const CacheKey& key) { return PinHinted</*uses=*/false>(hint, key); }
  // The same without a reference. Only inside a guard of the cache's epoch domain.
  CachePeek Peek(const CacheKey& key);
  // Tries the frame that `*hint` names first, and remembers the one where the block was found. The frame may hold the
  // block in a later generation than that of the hint; its bytes are the same then.
  CachePeek Peek(const CacheKey& key, HintWord* hint) {
    const uint64_t place = hint->load(std::memory_order_relaxed) % CacheFrame::kGenerationUnit;
    if (place - 1 < peekable_frames_) [[likely]] {
      if (const CachePeek peek = TryPeek(&frames_[place - 1], key)) [[likely]]
        return peek;
    }
    return PeekAndRemember(key, hint);
  }
  // Where the block lies now. Neither takes a reference nor counts as a use.
  CacheSighting Sight(const CacheKey& key) const;
  // A reference to the block, or an empty pin if it has been evicted since.
  CachePin Pin(const CachePeek& peek);
  // Gives back a pin of LookupUnused, and evicts the block if nobody else holds it or has found it lately: for who
  // reads it in order to replace it.
  void ReleaseReplaced(CachePin pin) {
    CacheFrame* const frame = std::exchange(pin.frame_, nullptr);
    const uint64_t clock = CacheFrame::ClockWhenNew(frame->part.load(std::memory_order_relaxed));
    const uint64_t meta =
        frame->meta.fetch_sub(CacheFrame::kReferenceUnit, std::memory_order_release) - CacheFrame::kReferenceUnit;
    const bool unused = (meta & CacheFrame::kClockMask) <= clock * CacheFrame::kClockUnit;
    if (unused && (meta & CacheFrame::kReferenceMask) == 0) Evict(frame, meta);
  }
  // Starts to fetch the frame that a Lookup or Peek will look at first.
  void Prefetch(const CacheKey& key) const;
  void Prefetch(FrameHint hint) const {
    const uint64_t place = hint.word % CacheFrame::kGenerationUnit;
    if (place - 1 < frame_count_) __builtin_prefetch(&frames_[place - 1]);
  }

  // Puts a block in and pins it. If another thread put the same key in first, pins that one and drops `buffer`. `part`
  // must be kDataBlocks, kLeafPages or kGuards; the latter two are kept longer than data blocks. A data block that is
  // new goes before those that were found again (util/cache/eviction_policy.h).
  CachePin Insert(const CacheKey& key, BlockBuffer buffer, MemoryPart part);
  // Copies a block in that is likely to be read soon, if there is memory that nobody uses: nothing is evicted for it,
  // and a quarter of the cache stays free. Whether it did.
  bool InsertWhereFree(const CacheKey& key, std::string_view bytes, MemoryPart part);
  // Makes a pin for a block that is not kept: charged to kPins until released.
  CachePin PinUncached(BlockBuffer buffer);
  // Notes that a file is gone, and drops no block yet: that takes a look at all blocks, one for all files together. Who
  // lets go of files calls EraseGone afterwards. Where nobody does, one note in so many does it: no more notes are kept
  // than there are groups of frames, and a note costs a look at one group in the long run. Takes a short lock; may be
  // called with any lock of the engine held.
  void NoteGone(uint64_t file);
  // Drops all unpinned blocks of the files that were noted, unless another thread is at that, and forgets the notes:
  // one that was opened again meanwhile loses its blocks once. Pinned blocks go first once they are unpinned, and one
  // that Shrink is moving at that moment as one that nobody asks for. Costs nothing where no file was noted.
  void EraseGone();
  // Drops blocks of gone files, then evicts until the cache fits its capacity, or nothing more can go, and gives back
  // to the system what that left free: in the end less than a twentieth of the limit is free in the block heap, beside
  // what readers still look at. Called after others charged the budget. Moves blocks where evicting left little free in
  // one place, so that hints to them and peeks at them may not be pinned any more.
  void Shrink();

  void Unpin(CacheFrame* frame) {
    const uint64_t before = frame->meta.fetch_sub(CacheFrame::kReferenceUnit, std::memory_order_release);
    if ((before & CacheFrame::kStateMask) == CacheFrame::kAlone) [[unlikely]]
      UnpinAlone(frame, before);
  }

 private:
  friend class CachePin;
  struct Impl;
  // Looks at the frame if it holds the block `key`.
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
  // The files of a part have so many names; where the names of parts end, each file has a new one at each opening.
  static constexpr uint64_t kFilesOfPart = uint64_t{1} << 40;
  static constexpr uint64_t kPartsEnd = uint64_t{1} << 62;
  // Unless the frame has changed since it was seen as `meta`, visible and without references.
  void Evict(CacheFrame* frame, uint64_t meta);

  const std::shared_ptr<Impl> impl_;
  const uint64_t first_file_ = 0;  // of a part
  // The table of frames, of which those that may be peeked at are none without epochs.
  CacheFrame* const frames_;
  const size_t frame_count_;
  const size_t peekable_frames_;
};

inline void CachePin::Reset() {
  if (frame_ != nullptr) cache_->Unpin(std::exchange(frame_, nullptr));
}

}  // namespace sepal

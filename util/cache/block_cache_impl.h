// The implementation of the block cache (util/cache/block_cache.h): a lock-free clock cache, after ideas of RocksDB's
// HyperClockCache (P. Dillinger, 2022).
//
// The table is an array of frames, a power of two of them, probed linearly from a block's home. A frame's `displaced`
// counts the blocks that lie beyond it although their home is at it or before it, so that a search may stop at the
// first frame that displaced nothing. Everything that determines a frame's state is in the one word `meta`:
//
// | state   | references      | what the frame holds                                                       |
// |---------|-----------------|----------------------------------------------------------------------------|
// | empty   | strays          | nothing                                                                    |
// | owned   | strays          | one thread fills or empties it                                             |
// | visible | pins and strays | a block that is in the table; the other fields do not change               |
// | alone   | pins            | a block outside the table, on the heap, freed with its last pin            |
//
// | transition       | by         | operation on meta                       | order   | why                              |
// |------------------|------------|-----------------------------------------|---------|----------------------------------|
// | empty -> owned   | Claim      | CAS, keeps strays                       | acquire | sees the last owner's work done  |
// | owned -> visible | Insert     | add state, clock and one reference      | release | publishes the other fields       |
// | visible: pin     | TryPin,    | add a reference, look at the state      | acquire | sees what was published          |
// |                  | Lookup     | (with a hint, at the generation too)    |         |                                  |
// | visible: unpin   | Unpin      | subtract a reference                    | release | reads end before the bytes go    |
// | visible: used    | Use        | CAS of the clock, may fail              | relaxed | a guess only                     |
// | visible: aged    | Sweep      | CAS of the clock, may fail              | relaxed | a guess only                     |
// | visible: trusted | Sweep      | CAS, ends the probation, may fail       | relaxed | the thread that did it counts it |
// | visible -> owned | TryEvict   | CAS, only with 0 references             | seq_cst | sees that all reads have ended;  |
// |                  |            |                                         |         | peeks: util/thread/epoch.h       |
// | owned -> empty   | Vacate     | subtract state, add a generation        | release | the frame is the next owner's    |
// | visible -> owned | TryMove    | as TryEvict's                           | seq_cst | as TryEvict's                    |
// | owned -> visible | TryMove    | add state, clock and a generation       | release | the bytes lie elsewhere          |
// | alone: freed     | UnpinAlone | subtracted the last reference           | acquire | sees that all reads have ended   |
//
// A *stray* is a reference that a thread took to a frame that was no longer visible, or had another key by then, and
// drops at once. So no transition stores `meta`: all are read-modify-write operations that keep the references, which
// also makes every acquire see all releases before it. A key is compared twice: first as a guess without a reference,
// and then with one, when it cannot change.
//
// A *peek* takes no reference: it reads `meta`, then the other fields (acquire; owners store them with release), then
// `meta` again. If any field had been another owner's, the second read would see a later generation. The bytes are
// freed only once the epoch in which the block was evicted has passed. While a reader that stays inside holds back many
// such bytes, inserted blocks get frames outside the table, whose bytes need no epoch; so nothing must be evicted for
// them.
//
// Memory is charged, and a place in the table reserved, before a frame is claimed, so that the limits are never
// exceeded unnoticed; a block for which eviction makes no room gets a frame outside the table.
//
// Evictions leave free pieces in every chunk of the block heap. Once there are many, Shrink moves blocks out of the
// least used chunks, which then go back to the system (docs/internals/decisions/0031).
//
// The hand passes over the frames in one of two modes (util/cache/eviction_policy.h). While too many blocks are on
// probation, it evicts those, or trusts those that were found, and skips all others. Otherwise it ages and evicts the
// others, and evicts none on probation.
//
// The public functions are in block_cache.cc, evictions in block_eviction.cc.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "util/cache/block_cache.h"
#include "util/cache/eviction_limits.h"
#include "util/cache/eviction_policy.h"
#include "util/cache/retired_blocks.h"
#include "util/memory/block_heap.h"
#include "util/memory/mapped_memory.h"
#include "util/thread/sync.h"

namespace sepal {

static_assert(sizeof(CacheFrame) == 64);

inline uint64_t StateOf(uint64_t meta) { return meta & CacheFrame::kStateMask; }
inline uint64_t ReferencesOf(uint64_t meta) { return meta & CacheFrame::kReferenceMask; }

struct BlockCache::Impl {
  static constexpr size_t kFewestFrames = 64;
  static constexpr size_t kMostFrames = size_t{1} << 31;
  // The table's bytes for each entry, at the load that the table is sized for.
  static constexpr size_t kTableBytesPerBlock = 2 * sizeof(CacheFrame);

  Impl(MemoryBudget* memory_budget, size_t block_bytes, EpochGroup* group, bool simulates)
      : budget(memory_budget),
        epochs(group),
        drains_in_simulation(simulates),
        frame_count(FramesFor(memory_budget->limit_bytes() / ChargeFor(block_bytes))),
        home_shift(64 - std::countr_zero(frame_count)),
        most_blocks(frame_count / 10 * 7),
        memory(frame_count * sizeof(CacheFrame)),
        frames(reinterpret_cast<CacheFrame*>(memory.data())),
        claimed(frame_count),
        admission(memory_budget->limit_bytes() / ChargeFor(block_bytes)),
        retired(group) {}

  static size_t ChargeFor(size_t block_size) {
    return BlockBuffer::ChargeFor(block_size) + kTableBytesPerBlock + EvictionPolicy::kBytesPerBlock;
  }
  // A power of two.
  static size_t FramesFor(size_t blocks) { return std::bit_ceil(std::clamp(2 * blocks, kFewestFrames, kMostFrames)); }
  static uint64_t HashOf(const CacheKey& key) {
    uint64_t h = key.file * 0x9e3779b97f4a7c15u + key.offset;
    h ^= h >> 32;
    h *= 0xd6e8feb86659fd93u;
    h ^= h >> 32;
    return h * 0xd6e8feb86659fd93u;
  }
  size_t HomeOf(uint64_t hash) const { return static_cast<size_t>(hash >> home_shift); }
  size_t HomeOf(const CacheKey& key) const { return HomeOf(HashOf(key)); }
  size_t After(size_t index) const { return (index + 1) & (frame_count - 1); }
  size_t IndexOf(const CacheFrame* frame) const { return static_cast<size_t>(frame - frames); }
  FrameHint HintOf(const CacheFrame* frame, uint32_t generation) const {
    return {.word = generation * CacheFrame::kGenerationUnit + IndexOf(frame) + 1};
  }

  // Returns where the file names of a new part begin.
  uint64_t NextPart() {
    const uint64_t part = parts.fetch_add(1, std::memory_order_relaxed) + 1;
    return std::min(part, kPartsEnd / kFilesOfPart) * kFilesOfPart;
  }
  size_t UsedBytes() const;
  // Calls `body(frame)` for every frame that may hold a block.
  template <typename Body>
  void ForEachClaimed(const Body& body) {
    claimed.ForEach([&](size_t index) { body(&frames[index]); });
  }
  bool InRoom() const;
  bool HasFree(size_t block_size) const;
  bool MakeRoom();
  bool WalkForRoom();
  bool SweepForRoom(size_t most_frames);
  bool Reserve(MemoryPart part, size_t block_size);
  void Unreserve(MemoryPart part, size_t block_size);
  CacheFrame* Claim(size_t home);
  void Undisplace(size_t home, size_t end);
  size_t Sweep(bool only_probation);
  bool TryEvict(CacheFrame* frame, uint64_t meta, bool remember);
  void Vacate(CacheFrame* frame, bool on_probation, bool remember);
  bool TryMove(CacheFrame* frame, const BlockHeap::ChunkSet& out_of, bool data_blocks);
  void DrainHeap();

  MemoryBudget* const budget;
  EpochGroup* const epochs;
  const bool drains_in_simulation;
  const size_t frame_count;
  const int home_shift;
  const size_t most_blocks;
  const MappedMemory memory;  // zeroed bytes are empty frames
  CacheFrame* const frames;
  std::atomic<uint64_t> next_file{uint64_t{1} << 63};
  std::atomic<uint64_t> parts{0};  // the number of parts so far
  ClaimedFrames claimed;
  EvictionPolicy admission;
  // Frames that are not empty, including those that inserts are about to claim.
  alignas(64) std::atomic<size_t> blocks{0};
  alignas(64) std::atomic<size_t> hand{0};
  SweepLimit sweep_limit{frame_count};  // for inserts

  std::atomic<bool> drains{false};                    // set by the one thread that drains
  WalkBackoff drain_backoff{BlockHeap::kChunkBytes};  // used by that thread

  RetiredBlocks retired;

  Mutex gone_mutex;  // a leaf lock: nothing is called with it held
  std::vector<uint64_t> gone ABSL_GUARDED_BY(gone_mutex);
};

}  // namespace sepal

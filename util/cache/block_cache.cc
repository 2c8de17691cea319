// A clock cache without locks, after ideas of RocksDB's HyperClockCache (P. Dillinger, 2022).
//
// The table is an array of frames, a power of two of them, probed linearly from a block's home. `displaced` of a frame
// counts the blocks that lie beyond it although their home is at it or before it, so that a search may stop at the
// first frame that displaced nothing. Everything that decides about a frame is in the one word `meta`:
//
// | state   | references      | what the frame holds                                                       |
// |---------|-----------------|----------------------------------------------------------------------------|
// | empty   | strays          | nothing                                                                    |
// | owned   | strays          | one thread fills or empties it                                             |
// | visible | pins and strays | a block that is in the table; the other fields do not change               |
// | alone   | pins            | a block outside the table, on the heap, freed with its last pin            |
//
// | transition       | by         | operation on meta                       | order   | why                             |
// |------------------|------------|-----------------------------------------|---------|---------------------------------|
// | empty -> owned   | Claim      | CAS, keeps strays                       | acquire | sees the last owner's work done |
// | owned -> visible | Insert     | add state, clock and one reference      | release | publishes the other fields      |
// | visible: pin     | TryPin,    | add a reference, look at the state      | acquire | sees what was published         |
// |                  | Lookup     | (with a hint, at the generation too)    |         |                                 |
// | visible: unpin   | Unpin      | subtract a reference                    | release | reads end before the bytes go   |
// | visible: used    | Use        | CAS of the clock, may fail              | relaxed | a guess only                    |
// | visible: aged    | Sweep      | CAS of the clock, may fail              | relaxed | a guess only                    |
// | visible: trusted | Sweep      | CAS, ends the probation, may fail       | relaxed | who does it counts it           |
// | visible -> owned | TryEvict   | CAS, only with 0 references             | seq_cst | sees that all reads have ended; |
// |                  |            |                                         |         | peeks: util/thread/epoch.h             |
// | owned -> empty   | Vacate     | subtract state, add a generation        | release | the frame is the next owner's   |
// | visible -> owned | TryMove    | as TryEvict's                           | seq_cst | as TryEvict's                   |
// | owned -> visible | TryMove    | add state, clock and a generation       | release | the bytes lie elsewhere         |
// | alone: freed     | UnpinAlone | subtracted the last reference           | acquire | sees that all reads have ended  |
//
// A *stray* is a reference that one of them took of a frame that was no longer visible, or had got another key, and
// gives back at once. So no transition stores `meta`: all are read-modify-write operations that keep the references,
// which also makes every acquire see all releases before it. A key is compared twice, first as a guess without a
// reference and then with one, when it cannot change.
//
// A *peek* takes no reference: it reads `meta`, then the other fields (acquire; owners store them with release), then
// `meta` again. Had any field been another owner's, the second look would see a later generation. The bytes it saw are
// freed only once the epoch in which the block was evicted has passed. While a reader that stays inside holds back many
// such bytes, blocks that are inserted are frames alone, whose bytes need no epoch; so nothing has to be evicted for
// them.
//
// Memory is charged and a place in the table reserved before a frame is claimed, so that the sum is never passed
// unnoticed; what cannot be had by evicting is a frame alone.
//
// Evictions leave free pieces in every chunk of the block heap. Once they are many, Shrink, though no insert, moves
// blocks out of chunks of which least is used, so that these go back to the system (docs/internals/decisions/0031).
//
// The hand goes over the frames in one of two ways (util/cache/admission.h). While too many blocks are on probation, it
// evicts those, or trusts those that were found, and passes by all others. Else it ages and evicts the others, and
// evicts none on probation. Where admission counts how often blocks are asked for, the hand tells it of those that were
// found since it came by: a hit does not.
#include "util/cache/block_cache.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "util/base/check.h"
#include "util/base/hash.h"
#include "util/cache/admission.h"
#include "util/cache/retired_blocks.h"
#include "util/cache/sweep_limit.h"
#include "util/cache/touched_groups.h"
#include "util/cache/walk_backoff.h"
#include "util/memory/mapped_memory.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

static_assert(sizeof(CacheFrame) == 64);

constexpr size_t kFewestFrames = 64;
constexpr size_t kMostFrames = size_t{1} << 31;
// The table's share of an entry, at the load that the table is sized for.
constexpr size_t kTableBytesPerBlock = 2 * sizeof(CacheFrame);
// Frames that a sweep takes on at once.
constexpr size_t kSweepFrames = 8;
// Of a block alone for which the cache gives way.
constexpr size_t kLargePin = size_t{64} << 10;
// Evicted bytes that readers hold back, as a share of the limit, beyond which no leaf page or guard is kept; data
// blocks are not beyond three quarters of that, so that what many reads want is not read again and again.
constexpr size_t kRetiredShare = 16;
// What may be free in the block heap's chunks, as shares of the limit: a walk over all frames begins above both
// together, or a chunk and the first, and leaves the first.
constexpr size_t kFreeShareKept = 64, kFreeShareToStart = 64;

uint64_t StateOf(uint64_t meta) { return meta & CacheFrame::kStateMask; }
uint64_t ReferencesOf(uint64_t meta) { return meta & CacheFrame::kReferenceMask; }
uint64_t ClockOf(uint64_t meta) { return (meta & CacheFrame::kClockMask) / CacheFrame::kClockUnit; }
uint32_t GenerationOf(uint64_t meta) { return static_cast<uint32_t>(meta / CacheFrame::kGenerationUnit); }

CacheKey KeyOf(const CacheFrame& frame) {
  return {.file = frame.file.load(std::memory_order_relaxed), .offset = frame.offset.load(std::memory_order_relaxed)};
}

size_t ChargeFor(size_t block_size, CacheAdmissionKind admission) {
  return BlockBuffer::ChargeFor(block_size) + kTableBytesPerBlock + CacheAdmission::BytesPerBlock(admission);
}

// A power of two.
size_t FramesFor(size_t blocks) { return std::bit_ceil(std::clamp(2 * blocks, kFewestFrames, kMostFrames)); }

}  // namespace

struct BlockCache::Impl {
  Impl(MemoryBudget* memory_budget, size_t block_bytes, EpochDomain* domain, CacheAdmissionKind kind, bool simulates)
      : budget(memory_budget),
        epochs(domain),
        admission_kind(kind),
        drains_in_simulation(simulates),
        frame_count(FramesFor(memory_budget->limit_bytes() / ChargeOf(block_bytes))),
        home_shift(64 - std::countr_zero(frame_count)),
        most_blocks(frame_count / 10 * 7),
        memory(frame_count * sizeof(CacheFrame)),
        frames(reinterpret_cast<CacheFrame*>(memory.data())),
        touched(frame_count),
        admission(memory_budget->limit_bytes() / ChargeOf(block_bytes), kind),
        retired(domain) {}

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

  size_t ChargeOf(size_t block_size) const { return ChargeFor(block_size, admission_kind); }
  size_t UsedBytes() const;
  // `body(frame)` for every frame that may hold a block.
  template <typename Body>
  void ForEachTouched(const Body& body) {
    touched.ForEachFrame([&](size_t index) { body(&frames[index]); });
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
  void TellUse(const CacheFrame& frame, uint64_t meta);
  bool TryEvict(CacheFrame* frame, uint64_t meta, bool remember);
  void Vacate(CacheFrame* frame, bool on_probation, bool remember);
  bool TryMove(CacheFrame* frame, const BlockHeap::ChunkSet& out_of, bool data_blocks);
  void DrainHeap();

  MemoryBudget* const budget;
  EpochDomain* const epochs;
  const CacheAdmissionKind admission_kind;
  const bool drains_in_simulation;
  const size_t frame_count;
  const int home_shift;
  const size_t most_blocks;
  const MappedMemory memory;  // zero bytes are empty frames
  CacheFrame* const frames;
  std::atomic<uint64_t> next_file{uint64_t{1} << 63};
  TouchedGroups touched;
  CacheAdmission admission;
  // Frames that are not empty, and those that inserts are about to claim.
  alignas(64) std::atomic<size_t> blocks{0};
  alignas(64) std::atomic<size_t> hand{0};
  SweepLimit sweep_limit{frame_count};  // of inserts

  std::atomic<bool> drains{false};                    // one thread at a time
  WalkBackoff drain_backoff{BlockHeap::kChunkBytes};  // that thread's

  RetiredBlocks retired;

  Mutex gone_mutex;  // a leaf: nothing is called with it held
  std::vector<uint64_t> gone ABSL_GUARDED_BY(gone_mutex);
};

namespace {

// Pins the frame if it holds the block `key`.
bool TryPin(CacheFrame* frame, const CacheKey& key) {
  const uint64_t before = frame->meta.fetch_add(CacheFrame::kReferenceUnit, std::memory_order_acquire);
  if (StateOf(before) != CacheFrame::kVisible || !frame->Has(key)) {
    frame->meta.fetch_sub(CacheFrame::kReferenceUnit, std::memory_order_release);
    return false;
  }
  SEPAL_DCHECK(ReferencesOf(before) < CacheFrame::kReferenceMask / 2);
  frame->Use(before + CacheFrame::kReferenceUnit);
  return true;
}

}  // namespace

size_t BlockCache::Impl::UsedBytes() const {
  return budget->used(MemoryPart::kDataBlocks) + budget->used(MemoryPart::kLeafPages) +
         budget->used(MemoryPart::kGuards);
}

bool BlockCache::Impl::HasFree(size_t block_size) const {
  return UsedBytes() + ChargeOf(block_size) <= budget->CacheCapacity() / 4 * 3 &&
         blocks.load(std::memory_order_relaxed) < most_blocks / 4 * 3;
}

bool BlockCache::Impl::InRoom() const {
  return UsedBytes() <= budget->CacheCapacity() && blocks.load(std::memory_order_relaxed) <= most_blocks;
}

// Evicts until there is room, for an insert.
bool BlockCache::Impl::MakeRoom() {
  if (InRoom()) return true;
  if (sweep_limit.none()) return WalkForRoom();
  const bool made = SweepForRoom(sweep_limit.most());
  sweep_limit.Swept(made);
  return made;
}

// Gives up after as many rounds of the hand as the most used block outlives in both ways of going, or a round of each
// way in which nothing could be evicted or aged.
bool BlockCache::Impl::WalkForRoom() {
  size_t progress = 0;
  size_t idle_rounds = 0;
  for (size_t swept = 0; !InRoom();) {
    // After a round for nothing the other way: what it would evict may be pinned.
    progress += Sweep(admission.ProbationIsOverFull() != (idle_rounds == 1));
    swept += kSweepFrames;
    if (swept % frame_count != 0) continue;
    idle_rounds = progress == 0 ? idle_rounds + 1 : 0;
    if (idle_rounds == 2 || swept > 2 * frame_count * (CacheFrame::kMostClock + 1)) {
      if (InRoom()) return true;
      sweep_limit.WalkedInVain();
      return false;
    }
    progress = 0;
  }
  return true;
}

// Goes half of it each way: which half changes with the rounds of the hand, so that every block is come by both ways.
bool BlockCache::Impl::SweepForRoom(size_t most_frames) {
  for (size_t swept = 0; !InRoom(); swept += kSweepFrames) {
    if (swept >= most_frames) return false;
    const bool odd_round = (hand.load(std::memory_order_relaxed) / frame_count) % 2 == 1;
    Sweep(admission.ProbationIsOverFull() != ((swept >= most_frames / 2) != odd_round));
  }
  return true;
}

bool BlockCache::Impl::Reserve(MemoryPart part, size_t block_size) {
  const size_t most_retired = budget->limit_bytes() / kRetiredShare;
  if (retired.MoreThan(part == MemoryPart::kDataBlocks ? most_retired / 4 * 3 : most_retired, block_size)) return false;
  blocks.fetch_add(1, std::memory_order_relaxed);
  budget->Charge(part, ChargeOf(block_size));
  if (MakeRoom()) return true;
  Unreserve(part, block_size);
  return false;
}

void BlockCache::Impl::Unreserve(MemoryPart part, size_t block_size) {
  budget->Release(part, ChargeOf(block_size));
  blocks.fetch_sub(1, std::memory_order_relaxed);
}

// Makes the first empty frame from `home` on the caller's. Null if it went round without meeting one, which takes other
// threads that fill and empty frames at the same pace.
CacheFrame* BlockCache::Impl::Claim(size_t home) {
  size_t index = home;
  for (size_t probes = 0; probes < frame_count; ++probes, index = After(index)) {
    CacheFrame& frame = frames[index];
    uint64_t meta = frame.meta.load(std::memory_order_relaxed);
    while (StateOf(meta) == CacheFrame::kEmpty) {
      if (frame.meta.compare_exchange_weak(meta, meta + CacheFrame::kOwned, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
        touched.Touch(index);
        return &frame;
      }
    }
    frame.displaced.fetch_add(1, std::memory_order_relaxed);
  }
  for (size_t i = 0; i < frame_count; ++i) frames[i].displaced.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}

// Takes back the traces of a block whose home is `home` and whose frame is `end`.
void BlockCache::Impl::Undisplace(size_t home, size_t end) {
  for (size_t index = home; index != end; index = After(index)) {
    frames[index].displaced.fetch_sub(1, std::memory_order_relaxed);
  }
}

// Moves the hand over a few frames. Returns how many it evicted or aged.
size_t BlockCache::Impl::Sweep(bool only_probation) {
  const size_t first = hand.fetch_add(kSweepFrames, std::memory_order_relaxed);
  size_t progress = 0;
  for (size_t i = 0; i < kSweepFrames; ++i) {
    CacheFrame& frame = frames[(first + i) & (frame_count - 1)];
    uint64_t meta = frame.meta.load(std::memory_order_relaxed);
    const bool on_probation = (meta & CacheFrame::kProbation) != 0;
    if (StateOf(meta) != CacheFrame::kVisible || ReferencesOf(meta) != 0 || on_probation != only_probation) continue;
    if (ClockOf(meta) != 0 && admission.HearsOfUse(on_probation)) TellUse(frame, meta);
    if (ClockOf(meta) == 0) {
      progress += TryEvict(&frame, meta, /*remember=*/true) ? 1 : 0;
    } else if (on_probation) {
      const bool trusted =
          frame.meta.compare_exchange_strong(meta, meta - CacheFrame::kProbation, std::memory_order_relaxed);
      if (trusted) admission.Promoted();
      ++progress;
    } else {
      frame.meta.compare_exchange_strong(meta, meta - CacheFrame::kClockUnit, std::memory_order_relaxed);
      ++progress;
    }
  }
  return progress;
}

// Tells the admission of a data block whose clock is that of one that was found. The key is read as a guess: another
// block's, which took the frame meanwhile, was asked for as well.
void BlockCache::Impl::TellUse(const CacheFrame& frame, uint64_t meta) {
  constexpr MemoryPart kPart = MemoryPart::kDataBlocks;
  if (frame.part.load(std::memory_order_relaxed) != kPart || ClockOf(meta) != CacheFrame::ClockWhenFound(kPart)) return;
  admission.Used(HashOf(KeyOf(frame)));
}

// Empties a frame that was seen visible and without references as `meta`, if it still is. `remember`: the block may be
// wanted again.
bool BlockCache::Impl::TryEvict(CacheFrame* frame, uint64_t meta, bool remember) {
  const bool on_probation = (meta & CacheFrame::kProbation) != 0;
  const uint64_t owned =
      (meta & ~(CacheFrame::kStateMask | CacheFrame::kClockMask | CacheFrame::kProbation)) | CacheFrame::kOwned;
  if (!frame->meta.compare_exchange_strong(meta, owned, std::memory_order_seq_cst, std::memory_order_relaxed)) {
    return false;
  }
  Vacate(frame, on_probation, remember);
  return true;
}

// Frees the block of a frame that the caller owns.
void BlockCache::Impl::Vacate(CacheFrame* frame, bool on_probation, bool remember) {
  const uint64_t hash = HashOf(KeyOf(*frame));
  char* const data = frame->data.load(std::memory_order_relaxed);
  const size_t size = frame->size.load(std::memory_order_relaxed);
  const MemoryPart part = frame->part.load(std::memory_order_relaxed);
  Undisplace(HomeOf(hash), IndexOf(frame));
  frame->meta.fetch_add(CacheFrame::kGenerationUnit - CacheFrame::kOwned, std::memory_order_release);
  retired.Add(data, size);
  Unreserve(part, size);
  if (part != MemoryPart::kDataBlocks) return;
  admission.Removed(on_probation);
  if (remember) admission.Evicted(hash, on_probation);
}

// Has a data block, or else a leaf page or guard, that nobody refers to leave its chunk, if that is one of `out_of` and
// still drains. Where the heap has no room for it, a data block is evicted and another one stays: their sizes are
// seldom the same. False if somebody is about to use the frame.
bool BlockCache::Impl::TryMove(CacheFrame* frame, const BlockHeap::ChunkSet& out_of, bool data_blocks) {
  uint64_t meta = frame->meta.load(std::memory_order_acquire);
  if (StateOf(meta) != CacheFrame::kVisible || !out_of.Holds(frame->data.load(std::memory_order_acquire))) return true;
  const bool is_data = frame->part.load(std::memory_order_relaxed) == MemoryPart::kDataBlocks;
  if (is_data != data_blocks) return true;
  if (ReferencesOf(meta) != 0) return false;
  const uint64_t standing = meta & (CacheFrame::kClockMask | CacheFrame::kProbation);
  const uint64_t owned = meta - standing - CacheFrame::kVisible + CacheFrame::kOwned;
  if (!frame->meta.compare_exchange_strong(meta, owned, std::memory_order_seq_cst, std::memory_order_relaxed)) {
    return false;
  }
  char* const data = frame->data.load(std::memory_order_relaxed);
  const size_t size = frame->size.load(std::memory_order_relaxed);
  char* const copy = BlockBuffer::CopyElsewhere(data, size, /*from_drained=*/!is_data);
  if (copy == data || (copy == nullptr && !is_data)) {
    frame->meta.fetch_add(CacheFrame::kVisible - CacheFrame::kOwned + standing, std::memory_order_release);
    return true;
  }
  if (copy == nullptr) {
    Vacate(frame, (standing & CacheFrame::kProbation) != 0, /*remember=*/true);
    return true;
  }
  frame->data.store(copy, std::memory_order_release);
  SchedulePoint(frame);
  frame->meta.fetch_add(CacheFrame::kGenerationUnit + CacheFrame::kVisible - CacheFrame::kOwned + standing,
                        std::memory_order_release);
  retired.Add(data, size);
  return true;
}

// Leaf pages and guards last: then drained chunks have whole spans free. Looks once more at a frame that is in use.
void BlockCache::Impl::DrainHeap() {
  if (Scheduler::Current() != nullptr && !drains_in_simulation) return;
  BlockHeap& heap = BlockHeap::OfProcess();
  const size_t kept = budget->limit_bytes() / kFreeShareKept;
  const size_t free = heap.FreeBytes(), mapped = heap.MappedBytes();
  if (free < kept + std::max(budget->limit_bytes() / kFreeShareToStart, BlockHeap::kChunkBytes)) return;
  if (drains.exchange(true, std::memory_order_acquire)) return;
  if (const auto chunks = drain_backoff.ShouldWalk(free) ? heap.Drain(kept) : BlockHeap::ChunkSet(); !chunks.empty()) {
    for (const bool data_blocks : {true, false}) {
      ForEachTouched([&](CacheFrame* frame) {
        (void)(TryMove(frame, chunks, data_blocks) || TryMove(frame, chunks, data_blocks));
      });
      retired.Free();
    }
    drain_backoff.Walked(heap.MappedBytes() < mapped, heap.FreeBytes());
  }
  drains.store(false, std::memory_order_release);
}

BlockCache::BlockCache(MemoryBudget* budget, size_t expected_block_bytes, EpochDomain* epochs,
                       CacheAdmissionKind admission, bool drains_in_simulation)
    : impl_(std::make_unique<Impl>(budget, expected_block_bytes, epochs, admission, drains_in_simulation)),
      frames_(impl_->frames),
      frame_count_(impl_->frame_count),
      peekable_frames_(epochs == nullptr ? 0 : impl_->frame_count) {}

void CacheFrame::RaiseClock(uint64_t seen, uint64_t clock) {
  const uint64_t used = (seen & ~kClockMask) | clock * kClockUnit;
  meta.compare_exchange_strong(seen, used, std::memory_order_relaxed);
}

size_t BlockCache::TableBytes(size_t limit_bytes, size_t expected_block_bytes, CacheAdmissionKind admission) {
  const size_t blocks = limit_bytes / ChargeFor(expected_block_bytes, admission);
  return FramesFor(blocks) * sizeof(CacheFrame) + blocks * CacheAdmission::BytesPerBlock(admission);
}

BlockCache::~BlockCache() {
  impl_->ForEachTouched([this](CacheFrame* frame) {
    const uint64_t meta = frame->meta.load(std::memory_order_acquire);
    if (StateOf(meta) == CacheFrame::kEmpty) return;
    SEPAL_CHECK(ReferencesOf(meta) == 0);
    SEPAL_CHECK(impl_->TryEvict(frame, meta, /*remember=*/false));
  });
}

CacheAdmissionKind BlockCache::admission() const { return impl_->admission_kind; }

uint64_t BlockCache::NewFileId() { return impl_->next_file.fetch_add(1, std::memory_order_relaxed); }

CachePin BlockCache::Lookup(const CacheKey& key) {
  size_t index = impl_->HomeOf(key);
  for (size_t probes = 0; probes < impl_->frame_count; ++probes, index = impl_->After(index)) {
    CacheFrame& frame = impl_->frames[index];
    if (frame.Has(key) && StateOf(frame.meta.load(std::memory_order_relaxed)) == CacheFrame::kVisible &&
        TryPin(&frame, key)) {
      return CachePin(this, &frame);
    }
    if (frame.displaced.load(std::memory_order_relaxed) == 0) break;
  }
  return CachePin();
}

CachePeek BlockCache::Peek(const CacheKey& key) {
  if (impl_->epochs == nullptr) return {};
  size_t index = impl_->HomeOf(key);
  for (size_t probes = 0; probes < impl_->frame_count; ++probes, index = impl_->After(index)) {
    CacheFrame& frame = impl_->frames[index];
    if (frame.Has(key)) {
      if (const CachePeek peek = TryPeek(&frame, key)) return peek;
    }
    if (frame.displaced.load(std::memory_order_relaxed) == 0) break;
  }
  return {};
}

CachePeek BlockCache::PeekAndRemember(const CacheKey& key, HintWord* hint) {
  const CachePeek peek = Peek(key);
  if (peek) {
    hint->store(impl_->HintOf(peek.frame, peek.generation).word, std::memory_order_relaxed);
  }
  return peek;
}

CacheSighting BlockCache::Sight(const CacheKey& key) const {
  size_t index = impl_->HomeOf(key);
  for (size_t probes = 0; probes < impl_->frame_count; ++probes, index = impl_->After(index)) {
    const CacheFrame& frame = impl_->frames[index];
    const uint64_t meta = frame.meta.load(std::memory_order_acquire);
    if (StateOf(meta) == CacheFrame::kVisible && frame.Has(key)) {
      return {.frame = impl_->HintOf(&frame, GenerationOf(meta)),
              .end = frame.data.load(std::memory_order_relaxed) + frame.size.load(std::memory_order_relaxed)};
    }
    if (frame.displaced.load(std::memory_order_relaxed) == 0) break;
  }
  return {};
}

CachePin BlockCache::Pin(const CachePeek& peek) {
  const uint64_t before = peek.frame->meta.fetch_add(CacheFrame::kReferenceUnit, std::memory_order_acquire);
  CachePin pin(this, peek.frame);
  return StateOf(before) == CacheFrame::kVisible && GenerationOf(before) == peek.generation ? std::move(pin)
                                                                                            : CachePin();
}

void BlockCache::Evict(CacheFrame* frame, uint64_t meta) { impl_->TryEvict(frame, meta, /*remember=*/false); }

void BlockCache::Prefetch(const CacheKey& key) const { __builtin_prefetch(&impl_->frames[impl_->HomeOf(key)]); }

CachePin BlockCache::Insert(const CacheKey& key, BlockBuffer buffer, MemoryPart part) {
  SEPAL_CHECK(part == MemoryPart::kDataBlocks || part == MemoryPart::kLeafPages || part == MemoryPart::kGuards);
  if (CachePin present = Lookup(key)) return present;
  const bool is_data = part == MemoryPart::kDataBlocks;
  const bool on_probation = is_data && !impl_->admission.Trusts(Impl::HashOf(key));
  if (!impl_->Reserve(part, buffer.size())) return PinAlone(std::move(buffer));
  CacheFrame* const frame = impl_->Claim(impl_->HomeOf(key));
  if (frame == nullptr) {
    impl_->Unreserve(part, buffer.size());
    return PinAlone(std::move(buffer));
  }
  frame->file.store(key.file, std::memory_order_release);
  frame->offset.store(key.offset, std::memory_order_release);
  frame->part.store(part, std::memory_order_relaxed);
  frame->size.store(buffer.size(), std::memory_order_release);
  frame->data.store(buffer.Release(), std::memory_order_release);
  if (is_data) impl_->admission.Inserted(on_probation);
  SchedulePoint(frame);
  const uint64_t standing =
      on_probation ? uint64_t{CacheFrame::kProbation} : CacheFrame::ClockWhenNew(part) * CacheFrame::kClockUnit;
  frame->meta.fetch_add(CacheFrame::kVisible - CacheFrame::kOwned + standing + CacheFrame::kReferenceUnit,
                        std::memory_order_release);
  return CachePin(this, frame);
}

bool BlockCache::InsertWhereFree(const CacheKey& key, std::string_view bytes, MemoryPart part) {
  if (!impl_->HasFree(bytes.size())) return false;
  BlockBuffer buffer(bytes.size(), HugePages::Wish::kCheap);
  std::memcpy(buffer.data(), bytes.data(), bytes.size());
  (void)Insert(key, std::move(buffer), part);
  return true;
}

CachePin BlockCache::PinAlone(BlockBuffer buffer) {
  impl_->budget->Charge(MemoryPart::kPins, buffer.charge() + sizeof(CacheFrame));
  if (buffer.size() >= kLargePin) impl_->sweep_limit.none() ? impl_->budget->Relieve() : (void)impl_->MakeRoom();
  auto frame = std::make_unique<CacheFrame>();
  frame->size.store(buffer.size(), std::memory_order_relaxed);
  frame->data.store(buffer.Release(), std::memory_order_relaxed);
  frame->meta.store(CacheFrame::kAlone + CacheFrame::kReferenceUnit, std::memory_order_relaxed);
  return CachePin(this, frame.release());
}

void BlockCache::UnpinAlone(CacheFrame* frame, uint64_t meta_before) {
  if (ReferencesOf(meta_before) != 1) return;
  SEPAL_CHECK(ReferencesOf(frame->meta.load(std::memory_order_acquire)) == 0);
  const std::unique_ptr<CacheFrame> dropped(frame);
  char* const data = dropped->data.load(std::memory_order_relaxed);
  const size_t size = dropped->size.load(std::memory_order_relaxed);
  impl_->budget->Release(MemoryPart::kPins, (data == nullptr ? 0 : BlockBuffer::ChargeFor(size)) + sizeof(CacheFrame));
  BlockBuffer::Free(data, size);
}

void BlockCache::NoteGone(uint64_t file) {
  bool many;
  {
    MutexLock lock(&impl_->gone_mutex);
    impl_->gone.push_back(file);
    many = impl_->gone.size() >= impl_->frame_count / TouchedGroups::kFrames;
  }
  if (many) EraseGone();
}

void BlockCache::EraseGone() {
  std::vector<uint64_t> gone;
  {
    MutexLock lock(&impl_->gone_mutex);
    gone.swap(impl_->gone);
  }
  if (gone.empty()) return;
  const absl::flat_hash_set<uint64_t> files(gone.begin(), gone.end());
  impl_->ForEachTouched([&](CacheFrame* frame) {
    uint64_t meta = frame->meta.load(std::memory_order_acquire);
    while (StateOf(meta) == CacheFrame::kVisible && files.contains(frame->file.load(std::memory_order_relaxed))) {
      if (ReferencesOf(meta) == 0
              ? impl_->TryEvict(frame, meta, /*remember=*/false)
              : frame->meta.compare_exchange_strong(meta, meta & ~CacheFrame::kClockMask, std::memory_order_relaxed)) {
        return;
      }
      meta = frame->meta.load(std::memory_order_acquire);
    }
  });
}

void BlockCache::Shrink() {
  EraseGone();
  impl_->WalkForRoom();
  impl_->retired.Free();
  impl_->DrainHeap();
}

FrameHint CachePin::hint() const {
  const uint64_t meta = frame_->meta.load(std::memory_order_relaxed);
  if (StateOf(meta) != CacheFrame::kVisible) return FrameHint();
  return cache_->impl_->HintOf(frame_, GenerationOf(meta));
}

}  // namespace sepal

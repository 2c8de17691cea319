// Evictions from the block cache: to make room for an insert, and to return memory to the system.
#include <algorithm>

#include "util/cache/block_cache_impl.h"

namespace sepal {
namespace {

// The number of frames that a sweep claims at once.
constexpr size_t kSweepFrames = 8;
// The share of the limit for evicted bytes that readers hold back. Beyond it no leaf page or guard is cached; beyond
// three quarters of it no data block, so that the pages that many reads need are not read again and again.
constexpr size_t kRetiredShare = 16;
// Shares of the limit that may be free in the block heap's chunks: a walk over all frames begins when more is free than
// both together (or than the first plus a chunk), and leaves the first.
constexpr size_t kFreeShareKept = 64, kFreeShareToStart = 64;

uint64_t ClockOf(uint64_t meta) { return (meta & CacheFrame::kClockMask) / CacheFrame::kClockUnit; }

CacheKey KeyOf(const CacheFrame& frame) {
  return {.file = frame.file.load(std::memory_order_relaxed), .offset = frame.offset.load(std::memory_order_relaxed)};
}

}  // namespace

size_t BlockCache::Impl::UsedBytes() const {
  return budget->used(MemoryPart::kDataBlocks) + budget->used(MemoryPart::kLeafPages) +
         budget->used(MemoryPart::kGuards);
}

bool BlockCache::Impl::HasFree(size_t block_size) const {
  return UsedBytes() + ChargeFor(block_size) <= budget->CacheCapacity() / 4 * 3 &&
         blocks.load(std::memory_order_relaxed) < most_blocks / 4 * 3;
}

bool BlockCache::Impl::InRoom() const {
  return UsedBytes() <= budget->CacheCapacity() && blocks.load(std::memory_order_relaxed) <= most_blocks;
}

// Evicts until there is room for an insert.
bool BlockCache::Impl::MakeRoom() {
  if (InRoom()) return true;
  if (sweep_limit.none()) return WalkForRoom();
  const bool made = SweepForRoom(sweep_limit.most());
  sweep_limit.Swept(made);
  return made;
}

// Gives up after as many rounds of the hand as the most used block survives in both modes, or after a round in each
// mode that evicted and aged nothing.
bool BlockCache::Impl::WalkForRoom() {
  size_t progress = 0;
  size_t idle_rounds = 0;
  for (size_t swept = 0; !InRoom();) {
    // After an idle round the other mode is tried, because the blocks that this one would evict may be pinned.
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

// Uses each mode for half of the frames. The halves swap with each round of the hand, so that both modes reach every
// block.
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
  budget->Charge(part, ChargeFor(block_size));
  if (MakeRoom()) return true;
  Unreserve(part, block_size);
  return false;
}

void BlockCache::Impl::Unreserve(MemoryPart part, size_t block_size) {
  budget->Release(part, ChargeFor(block_size));
  blocks.fetch_sub(1, std::memory_order_relaxed);
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

// Empties a frame that was seen as `meta`, visible and without references, if it has not changed. `remember`: the block
// may be wanted again.
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

// Moves an unreferenced block out of its chunk, if that is one of `out_of` and still drains: a data block if
// `data_blocks`, else a leaf page or guard. If the heap has no room for it, a data block is evicted, and another one
// stays, because sizes rarely match. Returns false if another thread is about to use the frame.
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

// Moves leaf pages and guards last, when drained chunks have whole free spans. Tries twice for a frame that is in use.
void BlockCache::Impl::DrainHeap() {
  if (Scheduler::Current() != nullptr && !drains_in_simulation) return;
  BlockHeap& heap = BlockHeap::OfProcess();
  const size_t kept = budget->limit_bytes() / kFreeShareKept;
  const size_t free = heap.FreeBytes(), mapped = heap.MappedBytes();
  if (free < kept + std::max(budget->limit_bytes() / kFreeShareToStart, BlockHeap::kChunkBytes)) return;
  if (drains.exchange(true, std::memory_order_acquire)) return;
  if (const auto chunks = drain_backoff.ShouldWalk(free) ? heap.Drain(kept) : BlockHeap::ChunkSet(); !chunks.empty()) {
    for (const bool data_blocks : {true, false}) {
      ForEachClaimed([&](CacheFrame* frame) {
        (void)(TryMove(frame, chunks, data_blocks) || TryMove(frame, chunks, data_blocks));
      });
      retired.Free();
    }
    drain_backoff.Walked(heap.MappedBytes() < mapped, heap.FreeBytes());
  }
  drains.store(false, std::memory_order_release);
}

}  // namespace sepal

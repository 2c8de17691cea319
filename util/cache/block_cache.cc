#include "util/cache/block_cache.h"

#include <cstring>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "util/base/check.h"
#include "util/cache/block_cache_impl.h"

namespace sepal {
namespace {

// The size from which a single block makes the cache evict.
constexpr size_t kLargePin = size_t{64} << 10;

uint32_t GenerationOf(uint64_t meta) { return static_cast<uint32_t>(meta / CacheFrame::kGenerationUnit); }

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

// Claims the first empty frame from `home` on for the caller. Null after a full round without one, which takes other
// threads that fill and empty frames at the same pace.
CacheFrame* BlockCache::Impl::Claim(size_t home) {
  size_t index = home;
  for (size_t probes = 0; probes < frame_count; ++probes, index = After(index)) {
    CacheFrame& frame = frames[index];
    uint64_t meta = frame.meta.load(std::memory_order_relaxed);
    while (StateOf(meta) == CacheFrame::kEmpty) {
      if (frame.meta.compare_exchange_weak(meta, meta + CacheFrame::kOwned, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
        claimed.Claim(index);
        return &frame;
      }
    }
    frame.displaced.fetch_add(1, std::memory_order_relaxed);
  }
  for (size_t i = 0; i < frame_count; ++i) frames[i].displaced.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}

// Removes the `displaced` counts of a block whose home is `home` and whose frame is `end`.
void BlockCache::Impl::Undisplace(size_t home, size_t end) {
  for (size_t index = home; index != end; index = After(index)) {
    frames[index].displaced.fetch_sub(1, std::memory_order_relaxed);
  }
}

BlockCache::BlockCache(MemoryBudget* budget, size_t expected_block_bytes, EpochDomain* epochs,
                       bool drains_in_simulation)
    : BlockCache(budget, expected_block_bytes, epochs == nullptr ? nullptr : epochs->group(), drains_in_simulation) {}

BlockCache::BlockCache(MemoryBudget* budget, size_t expected_block_bytes, EpochGroup* epochs, bool drains_in_simulation)
    : impl_(std::make_shared<Impl>(budget, expected_block_bytes, epochs, drains_in_simulation)),
      frames_(impl_->frames),
      frame_count_(impl_->frame_count),
      peekable_frames_(epochs == nullptr ? 0 : impl_->frame_count) {}

BlockCache::BlockCache(const BlockCache* shared)
    : impl_(shared->impl_),
      first_file_(impl_->NextPart()),
      frames_(shared->frames_),
      frame_count_(shared->frame_count_),
      peekable_frames_(shared->peekable_frames_) {}

void CacheFrame::RaiseClock(uint64_t seen, uint64_t clock) {
  const uint64_t used = (seen & ~kClockMask) | clock * kClockUnit;
  meta.compare_exchange_strong(seen, used, std::memory_order_relaxed);
}

size_t BlockCache::TableBytes(size_t limit_bytes, size_t expected_block_bytes) {
  const size_t blocks = limit_bytes / Impl::ChargeFor(expected_block_bytes);
  return Impl::FramesFor(blocks) * sizeof(CacheFrame) + blocks * EvictionPolicy::kBytesPerBlock;
}

BlockCache::~BlockCache() {
  if (first_file_ != 0) {
    EraseGone();
    return;
  }
  impl_->ForEachClaimed([this](CacheFrame* frame) {
    const uint64_t meta = frame->meta.load(std::memory_order_acquire);
    if (StateOf(meta) == CacheFrame::kEmpty) return;
    SEPAL_CHECK(ReferencesOf(meta) == 0);
    SEPAL_CHECK(impl_->TryEvict(frame, meta, /*remember=*/false));
  });
}

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
  if (!impl_->Reserve(part, buffer.size())) return PinUncached(std::move(buffer));
  CacheFrame* const frame = impl_->Claim(impl_->HomeOf(key));
  if (frame == nullptr) {
    impl_->Unreserve(part, buffer.size());
    return PinUncached(std::move(buffer));
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
  BlockBuffer buffer(bytes.size());
  std::memcpy(buffer.data(), bytes.data(), bytes.size());
  (void)Insert(key, std::move(buffer), part);
  return true;
}

CachePin BlockCache::PinUncached(BlockBuffer buffer) {
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
    many = impl_->gone.size() >= impl_->frame_count / ClaimedFrames::kGroupFrames;
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
  impl_->ForEachClaimed([&](CacheFrame* frame) {
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

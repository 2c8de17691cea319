#include "util/memory/block_heap.h"

#include <pthread.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>
#include <utility>

#include "util/base/check.h"
#include "util/memory/forbidden_bytes.h"

namespace sepal {
namespace {

constexpr size_t kWordBits = 64;

}  // namespace

BlockHeap& BlockHeap::OfProcess() {
  static BlockHeap* const heap = [] {
    auto* made = new BlockHeap;
    // A child that was forked while another thread held the lock must still be able to free its memory.
    SEPAL_CHECK(pthread_atfork(LockForFork, UnlockAfterFork, UnlockAfterFork) == 0);
    return made;
  }();
  return *heap;
}

void BlockHeap::LockForFork() { OfProcess().mutex_.Lock(); }
void BlockHeap::UnlockAfterFork() { OfProcess().mutex_.Unlock(); }

BlockHeap::~BlockHeap() {
  AllocatorMutexLock lock(&mutex_);
  SEPAL_CHECK(used_bytes_ == 0 && chunks_.size() == empty_chunks_);
  for (Chunk* chunk : open_chunks_) Unmap(chunk);
}

BlockHeap::Chunk* BlockHeap::ChunkOf(const void* address) {
  return reinterpret_cast<Chunk*>(reinterpret_cast<uintptr_t>(address) & ~(uintptr_t{kChunkBytes} - 1));
}

size_t BlockHeap::IndexOf(const Span* span) { return static_cast<size_t>(span - ChunkOf(span)->spans); }

char* BlockHeap::BytesOf(const Span* span) {
  const size_t index = IndexOf(span);
  return reinterpret_cast<char*>(ChunkOf(span)) + (index == 0 ? kHeaderBytes : index * kSpanBytes);
}

char* BlockHeap::Allocate(size_t bytes) {
  SEPAL_DCHECK(bytes > 0 && bytes <= kLargestPiece);
  while (true) {
    {
      AllocatorMutexLock lock(&mutex_);
      if (char* const piece = Take(bytes)) return piece;
      if (Chunk* const chunk = DrainingChunkFor(bytes, /*any_room=*/true)) {
        UseAgain(chunk);
        return Take(bytes);
      }
    }
    // Mapped without the lock, because the system zeroes two megabytes.
    Chunk* const chunk = MapChunk();
    if (!Add(chunk)) Unmap(chunk);
  }
}

// Fails if another thread has meanwhile added a chunk or left one empty; otherwise two empty ones would stay.
bool BlockHeap::Add(Chunk* chunk) {
  AllocatorMutexLock lock(&mutex_);
  if (empty_chunks_ > 0) return false;
  open_chunks_.insert(chunk);
  chunks_.insert(chunk);
  ++empty_chunks_;
  return true;
}

char* BlockHeap::AllocateElsewhere(char* piece, size_t bytes, bool from_drained) {
  SEPAL_DCHECK(bytes > 0 && bytes <= kLargestPiece);
  AllocatorMutexLock lock(&mutex_);
  if (!ChunkOf(piece)->drains) return piece;
  if (char* const taken = Take(bytes)) return taken;
  Chunk* const chunk = from_drained ? DrainingChunkFor(bytes, /*any_room=*/false) : nullptr;
  if (chunk == nullptr) return nullptr;
  UseAgain(chunk);
  return chunk == ChunkOf(piece) ? piece : Take(bytes);
}

// Returns one with an uncut span or, with `any_room`, a free piece of that size; null if there is none.
BlockHeap::Chunk* BlockHeap::DrainingChunkFor(size_t bytes, bool any_room) {
  const size_t size_class = ClassFor(bytes);
  const auto has_room = [&](const Span& span) { return span.used < span.pieces && span.size_class == size_class; };
  for (Chunk* chunk : draining_chunks_) {
    if (chunk->uncut_spans != 0) return chunk;
    if (any_room && std::any_of(std::begin(chunk->spans), std::end(chunk->spans), has_room)) return chunk;
  }
  return nullptr;
}

// Returns null if chunks that do not drain have no room for a piece.
char* BlockHeap::Take(size_t bytes) {
  const size_t size_class = ClassFor(bytes);
  Span* span = partial_[size_class];
  if (span == nullptr) span = CutSpan(size_class);
  if (span == nullptr) return nullptr;
  size_t word = 0;
  while (span->free[word] == 0) ++word;
  const auto bit = static_cast<size_t>(std::countr_zero(span->free[word]));
  span->free[word] &= span->free[word] - 1;
  if (++span->used == span->pieces) Unlink(span, size_class);
  ChunkOf(span)->used_bytes += SizeOfClass(size_class);
  used_bytes_ += SizeOfClass(size_class);
  char* const piece = BytesOf(span) + (word * kWordBits + bit) * SizeOfClass(size_class);
  Allow(piece, bytes);
  return piece;
}

void BlockHeap::Free(char* piece, size_t bytes) {
  Chunk* unused;
  {
    AllocatorMutexLock lock(&mutex_);
    unused = GiveBack(piece, bytes);
  }
  if (unused != nullptr) Unmap(unused);
}

// Returns the chunk to be unmapped, if there is one.
BlockHeap::Chunk* BlockHeap::GiveBack(char* piece, size_t bytes) {
  const size_t size_class = ClassFor(bytes);
  const size_t size = SizeOfClass(size_class);
  Chunk* const chunk = ChunkOf(piece);
  Span* const span = &chunk->spans[static_cast<size_t>(piece - reinterpret_cast<char*>(chunk)) / kSpanBytes];
  const auto offset = static_cast<size_t>(piece - BytesOf(span));
  const size_t place = offset / size;
  SEPAL_CHECK(offset % size == 0 && place < span->pieces);
  uint64_t& word = span->free[place / kWordBits];
  const uint64_t bit = uint64_t{1} << (place % kWordBits);
  SEPAL_CHECK((word & bit) == 0);
  word |= bit;
  Forbid(piece, size);
  chunk->used_bytes -= size;
  used_bytes_ -= size;
  if (span->used-- == span->pieces && !chunk->drains) Link(span, size_class);
  if (span->used > 0) return nullptr;
  if (!chunk->drains) Unlink(span, size_class);
  return UncutSpan(span);
}

size_t BlockHeap::MappedBytes() const {
  AllocatorMutexLock lock(&mutex_);
  return chunks_.size() * kChunkBytes;
}

size_t BlockHeap::FreeBytes() const {
  AllocatorMutexLock lock(&mutex_);
  return chunks_.size() * kChunkBytes - used_bytes_;
}

bool BlockHeap::ChunkSet::Holds(const void* piece) const {
  return std::binary_search(chunks_.begin(), chunks_.end(), reinterpret_cast<uintptr_t>(ChunkOf(piece)));
}

BlockHeap::ChunkSet BlockHeap::Drain(size_t kept_bytes) {
  ChunkSet drained;
  AllocatorMutexLock lock(&mutex_);
  while (!draining_chunks_.empty()) UseAgain(*draining_chunks_.begin());
  const size_t free_bytes = chunks_.size() * kChunkBytes - used_bytes_;
  if (free_bytes < kept_bytes + kChunkBytes) return drained;
  std::vector<std::pair<size_t, Chunk*>> used;
  for (Chunk* chunk : chunks_) {
    if (chunk->used_bytes > 0) used.emplace_back(chunk->used_bytes, chunk);
  }
  const size_t count = std::min((free_bytes - kept_bytes) / kChunkBytes, used.size());
  const auto end = used.begin() + static_cast<ptrdiff_t>(count);
  std::partial_sort(used.begin(), end, used.end());
  for (auto it = used.begin(); it != end; ++it) {
    StartToDrain(it->second);
    drained.chunks_.push_back(reinterpret_cast<uintptr_t>(it->second));
  }
  std::sort(drained.chunks_.begin(), drained.chunks_.end());
  return drained;
}

void BlockHeap::StartToDrain(Chunk* chunk) {
  for (Span& span : chunk->spans) {
    if (span.used < span.pieces) Unlink(&span, span.size_class);
  }
  if (chunk->uncut_spans != 0) open_chunks_.erase(chunk);
  draining_chunks_.insert(chunk);
  chunk->drains = true;
}

void BlockHeap::UseAgain(Chunk* chunk) {
  chunk->drains = false;
  draining_chunks_.erase(chunk);
  if (chunk->uncut_spans != 0) open_chunks_.insert(chunk);
  for (Span& span : chunk->spans) {
    if (span.used < span.pieces) Link(&span, span.size_class);
  }
}

// Returns null if no chunk has an uncut span.
BlockHeap::Span* BlockHeap::CutSpan(size_t size_class) {
  if (open_chunks_.empty()) return nullptr;
  Chunk* const chunk = *open_chunks_.begin();
  if (chunk->uncut_spans == kAllSpans) --empty_chunks_;
  Span* const span = &chunk->spans[__builtin_ctz(chunk->uncut_spans)];
  chunk->uncut_spans &= chunk->uncut_spans - 1;
  if (chunk->uncut_spans == 0) open_chunks_.erase(chunk);
  const size_t bytes = IndexOf(span) == 0 ? kSpanBytes - kHeaderBytes : kSpanBytes;
  *span = {};
  span->pieces = static_cast<uint16_t>(bytes / SizeOfClass(size_class));
  span->size_class = static_cast<uint16_t>(size_class);
  for (size_t piece = 0; piece < span->pieces; ++piece) {
    span->free[piece / kWordBits] |= uint64_t{1} << (piece % kWordBits);
  }
  Link(span, size_class);
  return span;
}

// Returns the chunk to be unmapped, if there is one.
BlockHeap::Chunk* BlockHeap::UncutSpan(Span* span) {
  Chunk* const chunk = ChunkOf(span);
  span->pieces = 0;
  if (chunk->uncut_spans == 0 && !chunk->drains) open_chunks_.insert(chunk);
  chunk->uncut_spans |= uint32_t{1} << IndexOf(span);
  if (chunk->uncut_spans != kAllSpans) return nullptr;
  if (!chunk->drains) ++empty_chunks_;
  return LetGo(chunk);
}

// Of the empty chunks that did not drain, one is kept.
BlockHeap::Chunk* BlockHeap::LetGo(Chunk* chunk) {
  if (!chunk->drains && empty_chunks_ == 1) return nullptr;
  if (!chunk->drains) --empty_chunks_;
  (chunk->drains ? draining_chunks_ : open_chunks_).erase(chunk);
  chunks_.erase(chunk);
  return chunk;
}

BlockHeap::Chunk* BlockHeap::MapChunk() {
  MappedMemory memory(kChunkBytes);
  auto* const chunk = new (memory.data()) Chunk{};
  chunk->uncut_spans = kAllSpans;
  Forbid(memory.data() + kHeaderBytes, kChunkBytes - kHeaderBytes);
  chunk->memory = std::move(memory);
  return chunk;
}

void BlockHeap::Unmap(Chunk* chunk) {
  const MappedMemory memory = std::move(chunk->memory);
  chunk->~Chunk();
  Allow(memory.data(), memory.size());
}

void BlockHeap::Link(Span* span, size_t size_class) {
  Span*& first = partial_[size_class];
  span->previous = nullptr;
  span->next = first;
  if (first != nullptr) first->previous = span;
  first = span;
}

void BlockHeap::Unlink(Span* span, size_t size_class) {
  if (span->next != nullptr) span->next->previous = span->previous;
  (span->previous != nullptr ? span->previous->next : partial_[size_class]) = span->next;
  span->previous = span->next = nullptr;
}

}  // namespace sepal

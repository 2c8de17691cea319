#include "util/block_heap.h"

#include <pthread.h>

#include <bit>
#include <new>
#include <utility>

#include "util/check.h"

#if defined(__SANITIZE_ADDRESS__)
#define SEPAL_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SEPAL_ADDRESS_SANITIZER 1
#endif
#endif
#if defined(SEPAL_ADDRESS_SANITIZER)
#include <sanitizer/asan_interface.h>
#endif

namespace sepal {
namespace {

void Forbid([[maybe_unused]] char* bytes, [[maybe_unused]] size_t size) {
#if defined(SEPAL_ADDRESS_SANITIZER)
  ASAN_POISON_MEMORY_REGION(bytes, size);
#endif
}

void Allow([[maybe_unused]] char* bytes, [[maybe_unused]] size_t size) {
#if defined(SEPAL_ADDRESS_SANITIZER)
  ASAN_UNPOISON_MEMORY_REGION(bytes, size);
#endif
}

constexpr size_t kWordBits = 64;

}  // namespace

BlockHeap& BlockHeap::OfProcess() {
  static BlockHeap* const heap = [] {
    auto* made = new BlockHeap;
    // A child that was forked while another thread held the lock must still be able to free what it has.
    SEPAL_CHECK(pthread_atfork(LockForFork, UnlockAfterFork, UnlockAfterFork) == 0);
    return made;
  }();
  return *heap;
}

void BlockHeap::LockForFork() { OfProcess().mutex_.Lock(); }
void BlockHeap::UnlockAfterFork() { OfProcess().mutex_.Unlock(); }

BlockHeap::~BlockHeap() {
  AllocatorMutexLock lock(&mutex_);
  for (size_t size_class = 0; size_class <= kMostPieces; ++size_class) {
    while (Span* const span = partial_[size_class]) {
      SEPAL_CHECK(span->used == 0);
      Unlink(span, size_class);
      UncutSpan(span);
    }
  }
  SEPAL_CHECK(chunks_ == empty_chunks_);
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
  const size_t size_class = ClassFor(bytes);
  AllocatorMutexLock lock(&mutex_);
  Span* span = partial_[size_class];
  if (span == nullptr) span = CutSpan(size_class);
  size_t word = 0;
  while (span->free[word] == 0) ++word;
  const auto bit = static_cast<size_t>(std::countr_zero(span->free[word]));
  span->free[word] &= span->free[word] - 1;
  if (++span->used == span->pieces) Unlink(span, size_class);
  char* const piece = BytesOf(span) + (word * kWordBits + bit) * SizeOfClass(size_class);
  Allow(piece, bytes);
  return piece;
}

void BlockHeap::Free(char* piece, size_t bytes) {
  const size_t size_class = ClassFor(bytes);
  const size_t size = SizeOfClass(size_class);
  AllocatorMutexLock lock(&mutex_);
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
  if (span->used-- == span->pieces) Link(span, size_class);
  // The last span of a class stays cut: the next piece is most likely of the same size.
  if (span->used == 0 && (span->previous != nullptr || span->next != nullptr)) {
    Unlink(span, size_class);
    UncutSpan(span);
  }
}

size_t BlockHeap::MappedBytes() const {
  AllocatorMutexLock lock(&mutex_);
  return chunks_ * kChunkBytes;
}

BlockHeap::Span* BlockHeap::CutSpan(size_t size_class) {
  Chunk* const chunk = open_chunks_.empty() ? MapChunk() : *open_chunks_.begin();
  if (chunk->uncut_spans == kAllSpans) --empty_chunks_;
  Span* const span = &chunk->spans[__builtin_ctz(chunk->uncut_spans)];
  chunk->uncut_spans &= chunk->uncut_spans - 1;
  if (chunk->uncut_spans == 0) open_chunks_.erase(chunk);
  const size_t bytes = IndexOf(span) == 0 ? kSpanBytes - kHeaderBytes : kSpanBytes;
  *span = {};
  span->pieces = static_cast<uint16_t>(bytes / SizeOfClass(size_class));
  for (size_t piece = 0; piece < span->pieces; ++piece) {
    span->free[piece / kWordBits] |= uint64_t{1} << (piece % kWordBits);
  }
  Link(span, size_class);
  return span;
}

void BlockHeap::UncutSpan(Span* span) {
  Chunk* const chunk = ChunkOf(span);
  span->pieces = 0;
  if (chunk->uncut_spans == 0) open_chunks_.insert(chunk);
  chunk->uncut_spans |= uint32_t{1} << IndexOf(span);
  if (chunk->uncut_spans != kAllSpans) return;
  if (empty_chunks_ == 0) {
    ++empty_chunks_;
    return;
  }
  open_chunks_.erase(chunk);
  --chunks_;
  Unmap(chunk);
}

BlockHeap::Chunk* BlockHeap::MapChunk() {
  MappedMemory memory(kChunkBytes);
  auto* const chunk = new (memory.data()) Chunk{};
  chunk->uncut_spans = kAllSpans;
  Forbid(memory.data() + kHeaderBytes, kChunkBytes - kHeaderBytes);
  chunk->memory = std::move(memory);
  open_chunks_.insert(chunk);
  ++chunks_;
  ++empty_chunks_;
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

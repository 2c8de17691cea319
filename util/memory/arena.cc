#include "util/memory/arena.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "util/base/check.h"

namespace sepal {
namespace {

// Chunks are multiples of this. An arena that holds less than four of them has no chunks: each piece is allocated
// separately.
constexpr size_t kSmallestChunkBytes = 512;
constexpr size_t kLargestChunkBytes = size_t{1} << 20;
// The last chunks before huge pages have at least this size.
constexpr size_t kPieceBeforeHugePages = size_t{768} << 10;
// The allocator's header of a chunk.
constexpr size_t kChunkOverhead = 16;

size_t NextChunkBytes(size_t held) {
  if (held / 4 >= MappedMemory::kHugePageBytes) return MappedMemory::kHugePageBytes;
  const size_t grown = held / 4 / kSmallestChunkBytes * kSmallestChunkBytes;
  return grown == 0 ? 0 : std::min(grown, kLargestChunkBytes) - kChunkOverhead;
}

}  // namespace

Arena::~Arena() {
  if (budget_ != nullptr) budget_->Release(part_, memory_bytes());
  if (pool_ != nullptr) pool_->Give(std::move(grown_chunks_));
}

std::string_view Arena::Copy(std::string_view bytes) {
  char* piece = Allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(piece, bytes.data(), bytes.size());
  return {piece, bytes.size()};
}

char* Arena::AllocateSlowly(size_t bytes, size_t alignment) {
  SEPAL_CHECK(alignment > 0 && alignment <= 4096 && (alignment & (alignment - 1)) == 0);
  bytes = std::max<size_t>(bytes, 1);
  // Chunks themselves are aligned.
  const size_t needed = bytes + (alignment > static_cast<size_t>(kChunkAlignment) ? alignment - 1 : 0);
  SEPAL_CHECK(needed >= bytes);
  const size_t chunk_bytes = NextChunkBytes(memory_bytes());
  const bool alone = needed > chunk_bytes / 4;
  char* const chunk = alone ? NewChunk(needed, &lone_chunks_) : NewChunk(chunk_bytes, &grown_chunks_);
  char* const piece = chunk + (-reinterpret_cast<uintptr_t>(chunk) & (alignment - 1));
  if (!alone) {
    next_ = piece + bytes;
    end_ = chunk + chunk_bytes;
  }
  return piece;
}

char* Arena::NewChunk(size_t bytes, std::vector<LargeBuffer>* large) {
  constexpr size_t kLeastMappedBytes = LargeAllocator<char>::kLeastMappedBytes;
  char* chunk;
  if (bytes >= kLeastMappedBytes) {
    const bool pooled = pool_ != nullptr && large == &grown_chunks_;
    chunk = large->emplace_back(pooled ? pool_->Take(bytes) : LargeBuffer(bytes)).data();
    // Prepared now, so that a writer does not wait for the huge page that comes next.
    if (pooled && bytes >= kPieceBeforeHugePages) pool_->Prepare(MappedMemory::kHugePageBytes);
  } else {
    chunk = chunks_.emplace_back(static_cast<char*>(::operator new(bytes, kChunkAlignment))).get();
  }
  const size_t charge = bytes + (bytes == MappedMemory::kHugePageBytes ? 0 : kChunkOverhead);
  memory_bytes_.store(memory_bytes() + charge, std::memory_order_relaxed);
  if (budget_ != nullptr) {
    budget_->Charge(part_, charge);
    budget_->Relieve();
  }
  return chunk;
}

}  // namespace sepal

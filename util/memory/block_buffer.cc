#include "util/memory/block_buffer.h"

#include <cstdlib>
#include <cstring>

#include "util/base/check.h"
#include "util/memory/mapped_memory.h"

namespace sepal {

namespace {

// A block of this size holds a value that no cache keeps. Its memory is mapped and unmapped directly: malloc would keep
// freed memory of such sizes, several times as much as is in use.
constexpr size_t kLargeBlockBytes = size_t{256} << 10;

char* AllocateLargeBlock(size_t alignment, size_t bytes) {
  if (bytes >= kLargeBlockBytes) return MappedMemory(bytes).Release();
  return static_cast<char*>(std::aligned_alloc(alignment, bytes));
}

}  // namespace

BlockBuffer::BlockBuffer(size_t size) : size_(size) {
  const size_t bytes = Padded(size);
  SEPAL_CHECK(bytes > size);
  data_ = IsPiece(bytes) ? BlockHeap::OfProcess().Allocate(bytes) : AllocateLargeBlock(kAlignment, bytes);
  SEPAL_CHECK(data_ != nullptr);
  std::memset(data_ + size, 0, bytes - size);
}

BlockBuffer& BlockBuffer::operator=(BlockBuffer&& other) noexcept {
  if (this != &other) {
    Clear();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

void BlockBuffer::Free(char* data, size_t size) {
  if (data == nullptr) return;
  if (const size_t bytes = Padded(size); IsPiece(bytes)) {
    BlockHeap::OfProcess().Free(data, bytes);
  } else if (bytes >= kLargeBlockBytes) {
    MappedMemory::Unmap(data, bytes);
  } else {
    std::free(data);
  }
}

char* BlockBuffer::CopyElsewhere(char* data, size_t size, bool from_drained) {
  const size_t bytes = Padded(size);
  if (!IsPiece(bytes)) return nullptr;
  char* const copy = BlockHeap::OfProcess().AllocateElsewhere(data, bytes, from_drained);
  if (copy != nullptr && copy != data) std::memcpy(copy, data, bytes);
  return copy;
}

}  // namespace sepal

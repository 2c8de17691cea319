// The bytes of a block on its way into the cache, aligned to a cache line, and readable for 64 bytes past the end (so
// that vector loads need no special cases). Move-only.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "util/memory/block_heap.h"

namespace sepal {

class BlockBuffer {
 public:
  static constexpr size_t kAlignment = 64;
  static constexpr size_t kPadding = 64;

  BlockBuffer() = default;
  explicit BlockBuffer(size_t size);
  BlockBuffer(BlockBuffer&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  BlockBuffer& operator=(BlockBuffer&& other) noexcept;
  ~BlockBuffer() { Clear(); }

  // Frees the memory.
  void Clear() {
    if (data_ != nullptr) Free(std::exchange(data_, nullptr), std::exchange(size_, 0));
  }

  char* data() { return data_; }
  std::string_view view() const { return {data_, size_}; }
  size_t size() const { return size_; }
  // Returns the memory that a buffer of `size` bytes takes, the allocator's share included.
  static constexpr size_t ChargeFor(size_t size) {
    const size_t bytes = Padded(size);
    return bytes <= BlockHeap::kLargestPiece ? BlockHeap::SizeFor(bytes) : bytes + kMallocBytes;
  }
  size_t charge() const { return data_ == nullptr ? 0 : ChargeFor(size_); }
  // Hands the memory to the caller, which frees it with Free and the size that it had.
  char* Release() {
    size_ = 0;
    return std::exchange(data_, nullptr);
  }
  // Does nothing for null.
  static void Free(char* data, size_t size);
  // Returns a copy of a buffer's bytes outside of the heap's draining chunks, for the caller to free; `data` itself if
  // it is no longer in such a chunk; null if no mapped room is left. `from_drained`: room in draining chunks may be
  // used.
  static char* CopyElsewhere(char* data, size_t size, bool from_drained);

 private:
  static constexpr size_t kMallocBytes = 16;
  // Under AddressSanitizer everything comes from malloc, which reuses freed memory late.
  static constexpr bool IsPiece(size_t padded) {
#if defined(SEPAL_ADDRESS_SANITIZER)
    (void)padded;
    return false;
#else
    return padded <= BlockHeap::kLargestPiece;
#endif
  }
  static constexpr size_t Padded(size_t size) { return (size + kPadding + kAlignment - 1) / kAlignment * kAlignment; }
  char* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace sepal

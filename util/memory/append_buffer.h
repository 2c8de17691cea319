// Bytes that are appended and then read, in one piece that grows by doubling. Unlike in a string, unwritten bytes are
// not initialised. Move-only; used by one thread.
//
// With a pool, memory is reused from and for other buffers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string_view>

#include "util/base/check.h"
#include "util/memory/mapped_memory.h"
#include "util/memory/ready_pages.h"

namespace sepal {

class AppendBuffer {
 public:
  // `pool` must outlive the buffer; may be null.
  explicit AppendBuffer(ReadyPages* pool = nullptr) : pool_(pool) {}
  ~AppendBuffer() { Free(); }
  AppendBuffer(AppendBuffer&&) = default;
  AppendBuffer& operator=(AppendBuffer&&) = delete;

  std::string_view view() const { return {memory_.data(), size_}; }
  const char* data() const { return memory_.data(); }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t capacity() const { return memory_.size(); }

  // Returns room for `bytes` after the present ones, for the caller to write; valid until the next call.
  char* Room(size_t bytes) {
    if (memory_.size() - size_ < bytes) [[unlikely]]
      Grow(bytes);
    return memory_.data() + size_;
  }
  // Adds `bytes` that were written there to the buffer.
  void Extend(size_t bytes) {
    SEPAL_DCHECK(bytes <= memory_.size() - size_);
    size_ += bytes;
  }
  void Append(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(Room(bytes.size()), bytes.data(), bytes.size());
    size_ += bytes.size();
  }
  // Removes the first `bytes`; the rest moves to the front.
  void DropFront(size_t bytes) {
    SEPAL_DCHECK(bytes <= size_);
    size_ -= bytes;
    std::memmove(memory_.data(), memory_.data() + bytes, size_);
  }
  // Empties the buffer. Keeps the memory, unless it is more than `most_kept`.
  void Clear(size_t most_kept = ~size_t{0}) {
    size_ = 0;
    if (memory_.size() > most_kept) Free();
  }

 private:
  static constexpr size_t kLeastBytes = 256;
  // Pieces from a pool have few sizes, so that one fits where another was.
  static constexpr size_t kPooledStepBytes = size_t{64} << 10;

  void Grow(size_t bytes) {
    const size_t least = std::max({kLeastBytes, memory_.size() * 2, size_ + bytes});
    const size_t pooled = (least + kPooledStepBytes - 1) / kPooledStepBytes * kPooledStepBytes;
    LargeBuffer larger = pool_ != nullptr ? pool_->Take(pooled) : LargeBuffer(least);
    if (size_ > 0) std::memcpy(larger.data(), memory_.data(), size_);
    Free();
    memory_ = std::move(larger);
  }
  void Free() {
    LargeBuffer memory = std::move(memory_);
    if (pool_ != nullptr && memory.size() > 0) pool_->Give(std::move(memory));
  }

  ReadyPages* pool_;
  LargeBuffer memory_;
  size_t size_ = 0;
};

}  // namespace sepal

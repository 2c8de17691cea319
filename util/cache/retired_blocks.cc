#include "util/cache/retired_blocks.h"

#include <vector>

#include "util/memory/block_buffer.h"

namespace sepal {

RetiredBlocks::~RetiredBlocks() {
  MutexLock lock(&mutex_);
  for (const Block& block : blocks_) BlockBuffer::Free(block.data, block.size);
}

void RetiredBlocks::Add(char* data, size_t size) {
  if (epochs_ == nullptr) return BlockBuffer::Free(data, size);
  bool look;
  {
    MutexLock lock(&mutex_);
    blocks_.push_back({epochs_->Stamp(), data, size});
    bytes_.fetch_add(size, std::memory_order_relaxed);
    look = ShouldLook(size);
  }
  if (look) Free();
}

void RetiredBlocks::Count(size_t size) {
  bool look;
  {
    MutexLock lock(&mutex_);
    look = ShouldLook(size);
  }
  if (look) Free();
}

bool RetiredBlocks::ShouldLook(size_t size) {
  bytes_since_look_ += size;
  return bytes_since_look_ >= kBytesToLook;
}

void RetiredBlocks::Free() {
  if (epochs_ == nullptr) return;
  std::vector<Block> safe;
  {
    MutexLock lock(&mutex_);
    bytes_since_look_ = 0;  // so that the next look is as far away, however much stays
    const uint64_t oldest = epochs_->OldestReader();
    for (; !blocks_.empty() && blocks_.front().stamp < oldest; blocks_.pop_front()) safe.push_back(blocks_.front());
  }
  size_t freed = 0;
  for (const Block& block : safe) {
    BlockBuffer::Free(block.data, block.size);
    freed += block.size;
  }
  bytes_.fetch_sub(freed, std::memory_order_relaxed);
}

}  // namespace sepal

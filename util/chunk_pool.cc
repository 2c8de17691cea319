#include "util/chunk_pool.h"

#include <utility>

namespace sepal {

MappedMemory ChunkPool::Take() {
  MappedMemory chunk;
  bool prepares = false;
  {
    MutexLock lock(&mutex_);
    if (!chunks_.empty()) {
      chunk = std::move(chunks_.back());
      chunks_.pop_back();
      budget_->Release(part_, MappedMemory::kHugePageBytes);
    }
    prepares = tasks_ != nullptr && chunks_.empty() && most_chunks_ > 0 && !std::exchange(preparing_, true);
  }
  if (prepares) (void)tasks_->Run([this] { PrepareOne(); });
  return chunk.data() != nullptr ? std::move(chunk) : MappedMemory(MappedMemory::kHugePageBytes);
}

void ChunkPool::PrepareOne() {
  std::vector<MappedMemory> chunks;
  chunks.emplace_back(MappedMemory::kHugePageBytes).Populate();
  Give(std::move(chunks));
  MutexLock lock(&mutex_);
  preparing_ = false;
}

void ChunkPool::Give(std::vector<MappedMemory> chunks) {
  MutexLock lock(&mutex_);
  while (!chunks.empty() && chunks_.size() < most_chunks_) {
    chunks_.push_back(std::move(chunks.back()));
    chunks.pop_back();
    budget_->Charge(part_, MappedMemory::kHugePageBytes);
  }
}

void ChunkPool::Clear() {
  std::vector<MappedMemory> chunks;
  MutexLock lock(&mutex_);
  chunks.swap(chunks_);
  budget_->Release(part_, chunks.size() * MappedMemory::kHugePageBytes);
}

}  // namespace sepal

#include "util/chunk_pool.h"

#include <utility>

namespace sepal {

MappedMemory ChunkPool::Take() {
  {
    MutexLock lock(&mutex_);
    if (!chunks_.empty()) {
      MappedMemory chunk = std::move(chunks_.back());
      chunks_.pop_back();
      budget_->Release(part_, MappedMemory::kHugePageBytes);
      return chunk;
    }
  }
  return MappedMemory(MappedMemory::kHugePageBytes);
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

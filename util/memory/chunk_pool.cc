#include "util/memory/chunk_pool.h"

#include <utility>

namespace sepal {
namespace {

MappedMemory NewChunk() { return MappedMemory(MappedMemory::kHugePageBytes); }

}  // namespace

MappedMemory ChunkPool::Take() {
  MappedMemory chunk;
  {
    MutexLock lock(&mutex_);
    if (!chunks_.empty()) chunk = TakeFrom(&chunks_, chunks_.size() - 1);
  }
  PrepareAhead();
  return chunk.data() != nullptr ? std::move(chunk) : NewChunk();
}

LargeBuffer ChunkPool::TakePiece(size_t bytes) {
  // Chunks come behind the largest pieces.
  if (bytes >= kPieceBeforeChunks) PrepareAhead();
  {
    MutexLock lock(&mutex_);
    for (size_t i = 0; i < pieces_.size(); ++i) {
      if (pieces_[i].size() == bytes) return TakeFrom(&pieces_, i);
    }
  }
  return LargeBuffer(bytes);
}

void ChunkPool::PrepareAhead() {
  {
    MutexLock lock(&mutex_);
    if (tasks_ == nullptr || !chunks_.empty() || most_bytes_ < MappedMemory::kHugePageBytes) return;
    if (std::exchange(preparing_, true)) return;
  }
  (void)tasks_->Run([this] { PrepareOne(); });
}

void ChunkPool::PrepareOne() {
  std::vector<MappedMemory> chunks;
  chunks.push_back(NewChunk());
  chunks.back().Populate();
  Give(std::move(chunks));
  MutexLock lock(&mutex_);
  preparing_ = false;
}

template <class Memory>
void ChunkPool::KeepSome(std::vector<Memory>* given, std::vector<Memory>* kept) {
  while (!given->empty() && bytes_ + given->back().size() <= most_bytes_) {
    bytes_ += given->back().size();
    budget_->Charge(part_, given->back().size());
    kept->push_back(std::move(given->back()));
    given->pop_back();
  }
}

template <class Memory>
Memory ChunkPool::TakeFrom(std::vector<Memory>* kept, size_t i) {
  std::swap((*kept)[i], kept->back());
  Memory memory = std::move(kept->back());
  kept->pop_back();
  bytes_ -= memory.size();
  budget_->Release(part_, memory.size());
  return memory;
}

void ChunkPool::Give(std::vector<MappedMemory> chunks, std::vector<LargeBuffer> pieces) {
  MutexLock lock(&mutex_);
  KeepSome(&pieces, &pieces_);
  KeepSome(&chunks, &chunks_);
}

void ChunkPool::GivePiece(LargeBuffer piece) {
  std::vector<LargeBuffer> pieces;
  pieces.push_back(std::move(piece));
  Give({}, std::move(pieces));
}

void ChunkPool::Clear() {
  std::vector<MappedMemory> chunks;
  std::vector<LargeBuffer> pieces;
  MutexLock lock(&mutex_);
  chunks.swap(chunks_);
  pieces.swap(pieces_);
  budget_->Release(part_, std::exchange(bytes_, 0));
}

}  // namespace sepal

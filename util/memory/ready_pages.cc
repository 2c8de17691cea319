#include "util/memory/ready_pages.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace sepal {

void ReadyPages::Prepare(size_t bytes, Content content) {
  if (tasks_ == nullptr || bytes > most_bytes_) return;
  {
    MutexLock lock(&mutex_);
    const auto serves = [&](const Piece& piece) {
      return piece.memory.size() == bytes && (content == Content::kAny || piece.content == content);
    };
    if (preparing_ || std::any_of(pieces_.begin(), pieces_.end(), serves)) return;
    preparing_ = true;
  }
  (void)tasks_->Run([this, bytes, content] { MakeReady(bytes, content); });
}

// A piece of that size is in the pool already only if zeros are wanted and it was used.
void ReadyPages::MakeReady(size_t bytes, Content content) {
  LargeBuffer memory;
  {
    MutexLock lock(&mutex_);
    memory = Find(bytes, Content::kAny);
  }
  if (memory.data() == nullptr) {
    memory = LargeBuffer::Zeroed(bytes);
    memory.Populate();
  } else if (content == Content::kZero) {
    std::memset(memory.data(), 0, bytes);
  }
  MutexLock lock(&mutex_);
  Keep(&memory, content);
  preparing_ = false;
}

LargeBuffer ReadyPages::Take(size_t bytes, Content content) {
  {
    MutexLock lock(&mutex_);
    if (LargeBuffer memory = Find(bytes, content); memory.data() != nullptr) return memory;
  }
  return content == Content::kZero ? LargeBuffer::Zeroed(bytes) : LargeBuffer(bytes);
}

LargeBuffer ReadyPages::Find(size_t bytes, Content content) {
  auto found = pieces_.end();
  for (auto it = pieces_.begin(); it != pieces_.end(); ++it) {
    if (it->memory.size() != bytes || (content == Content::kZero && it->content != content)) continue;
    found = it;
    if (it->content == content) break;
  }
  if (found == pieces_.end()) return LargeBuffer();
  std::swap(*found, pieces_.back());
  LargeBuffer memory = std::move(pieces_.back().memory);
  pieces_.pop_back();
  bytes_ -= bytes;
  budget_->Release(part_, bytes);
  return memory;
}

void ReadyPages::Keep(LargeBuffer* memory, Content content) {
  const size_t bytes = memory->size();
  if (bytes == 0 || bytes_ + bytes > most_bytes_) return;
  bytes_ += bytes;
  budget_->Charge(part_, bytes);
  pieces_.push_back({std::move(*memory), content});
}

void ReadyPages::Give(std::vector<LargeBuffer> used) {
  MutexLock lock(&mutex_);
  for (LargeBuffer& memory : used) Keep(&memory, Content::kAny);
}

void ReadyPages::Give(LargeBuffer used) {
  MutexLock lock(&mutex_);
  Keep(&used, Content::kAny);
}

void ReadyPages::Clear() {
  std::vector<Piece> pieces;
  MutexLock lock(&mutex_);
  pieces.swap(pieces_);
  budget_->Release(part_, std::exchange(bytes_, 0));
}

}  // namespace sepal

#include "util/memory/window_pool.h"

#include <algorithm>
#include <utility>

#include "util/base/check.h"

namespace sepal {
namespace {

constexpr size_t kPageBytes = 4096;

size_t Pages(size_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

// Leaves room to begin at a multiple of a page.
constexpr size_t kLargestSmall = BlockHeap::kLargestPiece - BlockBuffer::kPadding - kPageBytes;

}  // namespace

WindowPool::Memory::Memory(size_t size) : size_(size) {
  if (size > kLargestSmall) {
    large_ = MappedMemory(size);
    data_ = large_.data();
  } else if (size > 0) {
    small_ = BlockBuffer(size + kPageBytes);
    data_ = small_.data() + (-reinterpret_cast<uintptr_t>(small_.data()) & (kPageBytes - 1));
  }
}

size_t WindowPool::Memory::ChargeFor(size_t size) {
  return size > kLargestSmall || size == 0 ? size : BlockBuffer::ChargeFor(size + kPageBytes);
}

// The pool holds a window only while it unmaps its memory.
void WindowPool::Window::Hold() {
  while (held_.exchange(true, std::memory_order_acquire)) {
  }
}

size_t WindowPool::Window::Take(size_t least, size_t wanted) {
  WindowPool& pool = *pool_;
  MutexLock lock(&pool.mutex_);
  if (!std::exchange(listed_, true)) place_ = pool.windows_.insert(pool.windows_.end(), this);
  pool.windows_.splice(pool.windows_.end(), pool.windows_, place_);
  const size_t before = memory_.charge();
  const size_t holders = pool.holders_ + (before == 0 ? 1 : 0);
  const size_t share = std::max(kLeastBytes, pool.most_bytes_ / holders / kPageBytes * kPageBytes);
  const size_t size = std::max(Pages(least), std::min(Pages(wanted), share));
  const size_t charge = Memory::ChargeFor(size);
  const bool fits = size <= share || size <= pool.most_bytes_ / 2;
  for (auto other = pool.windows_.begin();
       fits && pool.used_bytes_ - before + charge > pool.most_bytes_ && other != pool.windows_.end(); ++other) {
    if (*other != this) (void)pool.TakeFrom(*other);
  }
  const bool grants = fits && pool.used_bytes_ - before + charge <= pool.most_bytes_;
  if (grants && memory_.size() >= size && memory_.size() <= share) return std::min(wanted, memory_.size());
  memory_ = Memory();
  if (grants) memory_ = Memory(size);
  pool.Count(before, memory_.charge());
  return std::min(wanted, memory_.size());
}

void WindowPool::Window::Drop() {
  if (!std::exchange(listed_, false)) return;
  Hold();
  {
    MutexLock lock(&pool_->mutex_);
    pool_->windows_.erase(place_);
    pool_->Count(memory_.charge(), 0);
    memory_ = Memory();
  }
  LetGo();
}

bool WindowPool::TakeFrom(Window* window) {
  if (window->held_.exchange(true, std::memory_order_acquire)) return false;
  Count(window->memory_.charge(), 0);
  window->memory_ = Memory();
  window->LetGo();
  return true;
}

void WindowPool::Count(size_t before, size_t after) {
  used_bytes_ = used_bytes_ - before + after;
  holders_ = holders_ - (before > 0 ? 1 : 0) + (after > 0 ? 1 : 0);
  budget_->Charge(MemoryPart::kReadAhead, after);
  budget_->Release(MemoryPart::kReadAhead, before);
}

void WindowPool::TakeBack() {
  MutexLock lock(&mutex_);
  for (Window* window : windows_) (void)TakeFrom(window);
}

size_t WindowPool::used_bytes() const {
  MutexLock lock(&mutex_);
  return used_bytes_;
}

}  // namespace sepal

#include "util/memory/window_pool.h"

#include <algorithm>
#include <utility>

#include "util/base/check.h"

namespace sepal {
namespace {

constexpr size_t kPageBytes = 4096;

size_t Pages(size_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

}  // namespace

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
  const size_t before = memory_.size();
  const size_t holders = pool.holders_ + (before == 0 ? 1 : 0);
  const size_t share = std::max(kLeastBytes, pool.most_bytes_ / holders / kPageBytes * kPageBytes);
  const size_t size = std::max(Pages(least), std::min(Pages(wanted), share));
  const bool fits = size <= share || size <= pool.most_bytes_ / 2;
  for (auto other = pool.windows_.begin();
       fits && pool.used_bytes_ - before + size > pool.most_bytes_ && other != pool.windows_.end(); ++other) {
    if (*other != this) (void)pool.TakeFrom(*other);
  }
  const bool grants = fits && pool.used_bytes_ - before + size <= pool.most_bytes_;
  if (grants && before >= size && before <= share) return std::min(wanted, before);
  const size_t after = grants ? size : 0;
  memory_ = MappedMemory();
  if (grants) memory_ = MappedMemory(size);
  pool.Count(before, after);
  return std::min(wanted, after);
}

void WindowPool::Window::Drop() {
  if (!std::exchange(listed_, false)) return;
  Hold();
  {
    MutexLock lock(&pool_->mutex_);
    pool_->windows_.erase(place_);
    pool_->Count(memory_.size(), 0);
    memory_ = MappedMemory();
  }
  LetGo();
}

bool WindowPool::TakeFrom(Window* window) {
  if (window->held_.exchange(true, std::memory_order_acquire)) return false;
  Count(window->memory_.size(), 0);
  window->memory_ = MappedMemory();
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

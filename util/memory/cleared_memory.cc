#include "util/memory/cleared_memory.h"

#include <cstring>
#include <utility>

#include "util/base/check.h"

namespace sepal {

void ClearedMemory::Prepare() {
  {
    MutexLock lock(&mutex_);
    if (tasks_ == nullptr || preparing_ || ready_.data() != nullptr) return;
    preparing_ = true;
  }
  (void)tasks_->Run([this] { MakeReady(); });
}

void ClearedMemory::MakeReady() {
  MappedMemory memory;
  {
    MutexLock lock(&mutex_);
    std::swap(memory, used_);
  }
  if (memory.data() != nullptr) {
    std::memset(memory.data(), 0, memory.size());
  } else {
    budget_->Charge(part_, bytes_);
    memory = MappedMemory(bytes_);
    memory.Populate();
  }
  MutexLock lock(&mutex_);
  std::swap(ready_, memory);
  preparing_ = false;
}

MappedMemory ClearedMemory::Take() {
  {
    MutexLock lock(&mutex_);
    if (ready_.data() != nullptr) {
      budget_->Release(part_, bytes_);
      return std::exchange(ready_, MappedMemory());
    }
  }
  return MappedMemory(bytes_);
}

void ClearedMemory::Give(MappedMemory used) {
  SEPAL_CHECK(used.size() == bytes_);
  MutexLock lock(&mutex_);
  if (tasks_ == nullptr || used_.data() != nullptr) return;
  budget_->Charge(part_, bytes_);
  std::swap(used_, used);
}

void ClearedMemory::Clear() {
  MappedMemory ready;
  MappedMemory used;
  MutexLock lock(&mutex_);
  std::swap(ready, ready_);
  std::swap(used, used_);
  budget_->Release(part_, ready.size() + used.size());
}

}  // namespace sepal

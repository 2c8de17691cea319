// Zeroed memory of one size, one piece made ready ahead: the system takes some milliseconds to find and clear a few
// MiB, and whoever touches them first waits for that. What was used is cleared and used again. Charged to the memory
// budget while it is here. Safe for concurrent use.
#pragma once

#include <cstddef>

#include "util/memory/mapped_memory.h"
#include "util/memory/memory_budget.h"
#include "util/thread/sync.h"
#include "util/thread/task_group.h"

namespace sepal {

class ClearedMemory {
 public:
  // Pieces of `bytes`. `budget` must outlive this.
  ClearedMemory(size_t bytes, MemoryBudget* budget, MemoryPart part) : bytes_(bytes), budget_(budget), part_(part) {}
  ~ClearedMemory() { Clear(); }
  ClearedMemory(const ClearedMemory&) = delete;
  ClearedMemory& operator=(const ClearedMemory&) = delete;

  size_t bytes() const { return bytes_; }
  // From now on `tasks` make pieces ready. Before the first Prepare; must be closed before this goes.
  void PrepareBy(TaskGroup* tasks) { tasks_ = tasks; }

  // A piece will be wanted soon.
  void Prepare();
  // The piece that is ready, or a new one.
  MappedMemory Take();
  // Takes a piece back, whatever its bytes. One is kept, the others go to the system.
  void Give(MappedMemory used);
  // Gives all to the system.
  void Clear();

 private:
  void MakeReady();

  const size_t bytes_;
  MemoryBudget* const budget_;
  const MemoryPart part_;
  TaskGroup* tasks_ = nullptr;
  Mutex mutex_;
  bool preparing_ ABSL_GUARDED_BY(mutex_) = false;
  MappedMemory ready_ ABSL_GUARDED_BY(mutex_);
  MappedMemory used_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal

// Huge pages that arenas have given back, for the arenas to come: the system clears every page that it gives, which
// takes a writer longer than filling it. Charged to the memory budget while they are here. Safe for concurrent use.
#pragma once

#include <cstddef>
#include <vector>

#include "util/mapped_memory.h"
#include "util/memory_budget.h"
#include "util/sync.h"
#include "util/task_group.h"

namespace sepal {

class ChunkPool {
 public:
  // Keeps `most_bytes` at most. `budget` must outlive the pool.
  ChunkPool(size_t most_bytes, MemoryBudget* budget, MemoryPart part)
      : most_chunks_(most_bytes / MappedMemory::kHugePageBytes), budget_(budget), part_(part) {}
  ~ChunkPool() { Clear(); }
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  // From now on one chunk ahead is made ready by `tasks` whenever the last one was taken. Before the first Take;
  // `tasks` must be closed before the pool goes.
  void PrepareBy(TaskGroup* tasks) { tasks_ = tasks; }

  // kHugePageBytes: used ones, whose bytes are what they are, or new ones.
  MappedMemory Take();
  // Takes chunks back; those too many go to the system.
  void Give(std::vector<MappedMemory> chunks);
  // Gives all to the system.
  void Clear();

 private:
  void PrepareOne();

  const size_t most_chunks_;
  MemoryBudget* const budget_;
  const MemoryPart part_;
  TaskGroup* tasks_ = nullptr;
  Mutex mutex_;
  bool preparing_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<MappedMemory> chunks_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal

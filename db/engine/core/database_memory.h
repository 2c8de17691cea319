// The memory of a database, or of several that share it (sepal/shared_resources.h): the budget, and what is kept for
// later use.
#pragma once

#include <cstddef>
#include <memory>

#include "db/state/memtable/memtable.h"
#include "db/state/memtable/memtable_group.h"
#include "util/cache/block_cache.h"
#include "util/memory/memory_budget.h"
#include "util/memory/ready_pages.h"
#include "util/memory/window_pool.h"
#include "util/thread/epoch.h"
#include "util/thread/task_group.h"

namespace sepal {

struct DatabaseMemory {
  DatabaseMemory(size_t limit_bytes, size_t memtable_bytes)
      : budget(limit_bytes),
        memtable_chunks(memtable_bytes, &budget, MemoryPart::kMemtables),
        memtable_indexes(2 * MemTable::IndexBytes(memtable_bytes), &budget, MemoryPart::kMemtables),
        table_buffers(memtable_bytes / 8, &budget, MemoryPart::kCompaction),
        windows(limit_bytes / kWindowsPart, &budget) {}

  // The part of the memory limit that windows of iterators may hold.
  static constexpr size_t kWindowsPart = 16;

  MemoryBudget budget;
  ReadyPages memtable_chunks;
  ReadyPages memtable_indexes;
  // Buffers in which tables are built.
  ReadyPages table_buffers;
  WindowPool windows;
};

// The same with the cache, which is otherwise each database's own.
struct SharedMemory : DatabaseMemory {
  SharedMemory(size_t limit_bytes, size_t memtable_bytes, size_t cached_block_bytes, bool drains_in_simulation)
      : DatabaseMemory(limit_bytes, memtable_bytes),
        cache(&budget, cached_block_bytes, &epochs, drains_in_simulation),
        memtables(memtable_bytes) {}

  // Makes `tasks` prepare memory and shrink the cache. Called before a database has this.
  void PrepareBy(std::shared_ptr<TaskGroup> by, uint64_t generation);

  EpochGroup epochs;
  BlockCache cache;
  MemtableGroup memtables;

 private:
  std::unique_ptr<RepeatedTask> relief_;
  // Objects that users still hold may ask it for a task after it has closed, which does nothing.
  std::shared_ptr<TaskGroup> tasks_;
};

}  // namespace sepal

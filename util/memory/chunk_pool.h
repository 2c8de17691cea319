// Huge pages that arenas have given back, and the smaller pieces that they had before those, for the arenas to come:
// the system clears every page that it gives, which takes a writer longer than filling it. Arenas grow by the same
// steps, so that a piece of just the size is what the next one asks for. Charged to the memory budget while they are
// here. Safe for concurrent use.
#pragma once

#include <cstddef>
#include <vector>

#include "util/memory/mapped_memory.h"
#include "util/memory/memory_budget.h"
#include "util/thread/sync.h"
#include "util/thread/task_group.h"

namespace sepal {

class ChunkPool {
 public:
  // The last pieces by which an arena grows before it takes chunks are this large or larger.
  static constexpr size_t kPieceBeforeChunks = size_t{768} << 10;

  // Keeps `most_bytes` at most. `budget` must outlive the pool.
  ChunkPool(size_t most_bytes, MemoryBudget* budget, MemoryPart part)
      : most_bytes_(most_bytes), budget_(budget), part_(part) {}
  ~ChunkPool() { Clear(); }
  ChunkPool(const ChunkPool&) = delete;
  ChunkPool& operator=(const ChunkPool&) = delete;

  // From now on one chunk ahead is made ready by `tasks` whenever the last one was taken, or a piece of
  // kPieceBeforeChunks or more while there is none. Before anything is taken; `tasks` must be closed before the pool
  // goes.
  void PrepareBy(TaskGroup* tasks) { tasks_ = tasks; }

  // kHugePageBytes: used ones, whose bytes are what they are, or new ones.
  MappedMemory Take();
  // The same of `bytes`.
  LargeBuffer TakePiece(size_t bytes);
  // Takes memory back; what is too much goes to the system.
  void Give(std::vector<MappedMemory> chunks, std::vector<LargeBuffer> pieces = {});
  void GivePiece(LargeBuffer piece);
  // Gives all to the system.
  void Clear();

 private:
  void PrepareAhead() ABSL_LOCKS_EXCLUDED(mutex_);
  void PrepareOne();
  // Keeps what there is room for.
  template <class Memory>
  void KeepSome(std::vector<Memory>* given, std::vector<Memory>* kept) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  template <class Memory>
  Memory TakeFrom(std::vector<Memory>* kept, size_t i) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_bytes_;
  MemoryBudget* const budget_;
  const MemoryPart part_;
  TaskGroup* tasks_ = nullptr;
  Mutex mutex_;
  bool preparing_ ABSL_GUARDED_BY(mutex_) = false;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<MappedMemory> chunks_ ABSL_GUARDED_BY(mutex_);
  std::vector<LargeBuffer> pieces_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal

// Memory that is reused and prepared ahead: the system must find and zero every page that it provides, which takes
// longer than a writer needs to fill it. Returned pieces serve later callers that ask for exactly the same size;
// memtables and tables grow in the same steps, so there usually is one. Charged to the memory budget while it is here.
//
// Safe for concurrent use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "util/memory/mapped_memory.h"
#include "util/memory/memory_budget.h"
#include "util/thread/sync.h"
#include "util/thread/task_group.h"

namespace sepal {

class ReadyPages {
 public:
  // The contents of a piece.
  enum class Content : uint8_t { kAny, kZero };

  // Keeps at most `most_bytes`. `budget` must outlive the pool.
  ReadyPages(size_t most_bytes, MemoryBudget* budget, MemoryPart part)
      : most_bytes_(most_bytes), budget_(budget), part_(part) {}
  ~ReadyPages() { Clear(); }
  ReadyPages(const ReadyPages&) = delete;
  ReadyPages& operator=(const ReadyPages&) = delete;

  // Makes `tasks` prepare pieces. Called before the first Prepare, which does nothing without it; `tasks` must be
  // closed before the pool is destroyed.
  void PrepareBy(TaskGroup* tasks) { tasks_ = tasks; }

  // Announces that a piece of `bytes` will be wanted soon: has one prepared, unless one is ready or on its way.
  void Prepare(size_t bytes, Content content = Content::kAny);
  // Returns a piece from the pool, or a new one. Nothing is zeroed while the caller waits, except for pieces too small
  // to be mapped.
  LargeBuffer Take(size_t bytes, Content content = Content::kAny);
  // Takes memory back, with any contents; what exceeds the limit goes to the system.
  void Give(std::vector<LargeBuffer> used);
  void Give(LargeBuffer used);
  // Returns everything to the system.
  void Clear();

 private:
  struct Piece {
    LargeBuffer memory;
    Content content = Content::kAny;
  };

  void MakeReady(size_t bytes, Content content);
  // Returns null if there is none. For kAny, used pieces come first.
  LargeBuffer Find(size_t bytes, Content content) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Leaves the piece to the caller if there is no room for it.
  void Keep(LargeBuffer* memory, Content content) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const size_t most_bytes_;
  MemoryBudget* const budget_;
  const MemoryPart part_;
  TaskGroup* tasks_ = nullptr;
  Mutex mutex_;
  bool preparing_ ABSL_GUARDED_BY(mutex_) = false;
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  std::vector<Piece> pieces_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal

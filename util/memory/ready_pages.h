// Memory that is used again and made ready ahead: the system finds and clears every page that it gives, which takes a
// writer longer than filling it. Pieces that were given back are for the next caller that asks for just their size;
// memtables and tables grow by the same steps, so that there is one. Charged to the memory budget while it is here.
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
  // What the bytes of a piece are.
  enum class Content : uint8_t { kAny, kZero };

  // Keeps `most_bytes` at most. `budget` must outlive the pool.
  ReadyPages(size_t most_bytes, MemoryBudget* budget, MemoryPart part)
      : most_bytes_(most_bytes), budget_(budget), part_(part) {}
  ~ReadyPages() { Clear(); }
  ReadyPages(const ReadyPages&) = delete;
  ReadyPages& operator=(const ReadyPages&) = delete;

  // From now on `tasks` make pieces ready. Before the first call of Prepare, which does nothing without; `tasks` must
  // be closed before the pool goes.
  void PrepareBy(TaskGroup* tasks) { tasks_ = tasks; }

  // A piece of `bytes` will be wanted soon: has one made ready, unless one is there or is under way.
  void Prepare(size_t bytes, Content content = Content::kAny);
  // A piece that is here, or a new one. Nothing is cleared while the caller waits, but in pieces too small to be
  // mapped.
  LargeBuffer Take(size_t bytes, Content content = Content::kAny);
  // Takes memory back, whatever its bytes; what is too much goes to the system.
  void Give(std::vector<LargeBuffer> used);
  void Give(LargeBuffer used);
  // Gives all to the system.
  void Clear();

 private:
  struct Piece {
    LargeBuffer memory;
    Content content = Content::kAny;
  };

  void MakeReady(size_t bytes, Content content);
  // Null if there is none. For kAny those come first that were used.
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

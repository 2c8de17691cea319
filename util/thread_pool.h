// The executor that a database owns when none is given: operating-system threads, some for flushes only and some for
// compactions only, so that no compaction delays a flush. The one for scrubbing is made with the first such work.
//
// Work of one priority starts in the order in which it was scheduled. Safe for concurrent use; work may schedule more
// work, also while the pool is being destroyed, and nobody else may then. The destructor returns when all of it has
// run; it must not be called from a piece of work.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "sepal/env.h"
#include "util/sync.h"

namespace sepal {

class ThreadPool final : public Executor {
 public:
  // At least one thread of each kind is made.
  ThreadPool(int flush_threads, int compaction_threads);
  ~ThreadPool() override;

  void Schedule(Priority priority, std::function<void()> work) override;
  int CompactionConcurrency() const override { return compaction_threads_; }

 private:
  using Queue = std::deque<std::function<void()>>;

  void RunWorker(Priority priority);
  Queue& QueueOf(Priority priority) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return queues_[static_cast<size_t>(priority)];
  }
  CondVar& ChangeOf(Priority priority) { return changed_[static_cast<size_t>(priority)]; }
  void WakeAll();
  bool AllWorkDone() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const int compaction_threads_;
  Mutex mutex_;
  // Each by priority.
  std::array<Queue, 3> queues_ ABSL_GUARDED_BY(mutex_);
  std::array<CondVar, 3> changed_;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  // The scrubbing one is added with the mutex held; joined when nothing can add it any more.
  std::vector<Thread> threads_;
  bool scrub_thread_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sepal

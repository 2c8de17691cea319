// The executor that a database owns when none is given: operating-system threads, some for flushes only and some for
// compactions only, so that no compaction delays a flush. Where the system gives fewer threads than are asked for, the
// pool works with those that it got, if there is one of each kind.
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
#include "absl/status/status.h"
#include "sepal/env.h"
#include "util/thread/sync.h"

namespace sepal {

class ThreadPool final : public Executor {
 public:
  // At least one thread of each kind is asked for; one for scrubbing where `scrubs`.
  ThreadPool(int flush_threads, int compaction_threads, bool scrubs = false);
  ~ThreadPool() override;

  // ResourceExhausted if there is a kind without a thread: then it takes no work.
  absl::Status Check() const;

  // kScrub only where the pool has a thread for it.
  void Schedule(Priority priority, std::function<void()> work) override;
  // Of the threads that there are.
  int CompactionConcurrency() const override { return counts_[static_cast<size_t>(Priority::kCompaction)]; }

 private:
  using Queue = std::deque<std::function<void()>>;

  // False: the system gives no more.
  bool AddThread(Priority priority);
  void RunWorker(Priority priority);
  Queue& QueueOf(Priority priority) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return queues_[static_cast<size_t>(priority)];
  }
  CondVar& ChangeOf(Priority priority) { return changed_[static_cast<size_t>(priority)]; }
  void WakeAll();
  bool AllWorkDone() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // Each by priority. Set by the constructor.
  std::array<int, 3> wanted_ = {};
  std::array<int, 3> counts_ = {};

  Mutex mutex_;
  // Each by priority.
  std::array<Queue, 3> queues_ ABSL_GUARDED_BY(mutex_);
  std::array<CondVar, 3> changed_;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Thread> threads_;
};

}  // namespace sepal

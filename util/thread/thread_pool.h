// The executor that a database owns if none is given. It has operating-system threads only for flushes and others only
// for compactions, so that no compaction delays a flush. If the system grants fewer threads than requested, the pool
// works with those that it has, provided there is one of each kind.
//
// Work of one priority starts in the order in which it was scheduled. Safe for concurrent use. Work may schedule more
// work, even while the pool is being destroyed; nothing else may then. The destructor returns when all work has run,
// and must not be called from a piece of work.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "sepal/env.h"
#include "util/thread/sync.h"

namespace sepal {

class ThreadPool final : public Executor {
 public:
  // Requests so many threads, and one for scrubbing or following if `scrubs`. Work of a kind without threads is not
  // accepted.
  ThreadPool(int flush_threads, int compaction_threads, bool scrubs = false);
  ~ThreadPool() override;

  // ResourceExhausted if a kind has no thread; the pool then takes no work.
  absl::Status Check() const;

  // kScrub is allowed only if the pool has a thread for it.
  void Schedule(Priority priority, std::function<void()> work) override;
  // By the system's monotonic clock.
  bool ScheduleAfter(Priority priority, uint64_t micros, std::function<void()> work) override;
  // The number of compaction threads that exist.
  int CompactionConcurrency() const override { return counts_[static_cast<size_t>(Priority::kCompaction)]; }

 private:
  using Queue = std::deque<std::function<void()>>;

  // Returns false if the system grants no more threads.
  bool AddThread(Priority priority);
  void RunWorker(Priority priority);
  Queue& QueueOf(Priority priority) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return queues_[static_cast<size_t>(priority)];
  }
  CondVar& ChangeOf(Priority priority) { return changed_[static_cast<size_t>(priority)]; }
  void WakeAll();
  // Queues delayed work that is due. Returns the time until more is; nullopt: there is no more.
  std::optional<uint64_t> QueueDue(Priority priority) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  bool AllWorkDone() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  // By priority. Set by the constructor.
  std::array<int, 3> wanted_ = {};
  std::array<int, 3> counts_ = {};

  Mutex mutex_;
  // By priority.
  std::array<Queue, 3> queues_ ABSL_GUARDED_BY(mutex_);
  std::array<std::multimap<uint64_t, std::function<void()>>, 3> later_ ABSL_GUARDED_BY(mutex_);  // by when it is due
  std::array<CondVar, 3> changed_;
  int running_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<Thread> threads_;
};

}  // namespace sepal

// One executor for the background work of many databases.
//
// Each database schedules through a client of its own. Clients with work of the same priority take turns, however much
// work each has waiting; and if there are three threads or more for a priority, no client has all of them at a time
// while there are others, so that long work does not block other clients. Work may be delayed; until its time it has no
// thread.
//
// For each piece of work the underlying executor gets one task, which does the piece that is next when it runs: so any
// executor will do.
//
// Safe for concurrent use.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "sepal/env.h"
#include "util/thread/sync.h"

namespace sepal {

class FairExecutor {
 public:
  // `flush_threads`: the number that `executor` has; 0: not known. `executor` and `clock` must outlive this.
  FairExecutor(Executor* executor, Clock* clock, int flush_threads);
  // Requires that no client is left.
  ~FairExecutor();
  FairExecutor(const FairExecutor&) = delete;
  FairExecutor& operator=(const FairExecutor&) = delete;

  class Client final : public Executor {
   public:
    explicit Client(FairExecutor* fair);
    ~Client() override;

    void Schedule(Priority priority, std::function<void()> work) override { PutOff(priority, 0, std::move(work)); }
    // Delays work by the executor, so that it holds no thread: `work` may run after this client has ended, and must be
    // short.
    bool ScheduleAfter(Priority priority, uint64_t micros, std::function<void()> work) override {
      return fair_->executor_->ScheduleAfter(priority, micros, std::move(work));
    }
    int CompactionConcurrency() const override { return fair_->executor_->CompactionConcurrency(); }
    // The work starts no earlier than after so many microseconds. One thread may wait for it, and do other work
    // meanwhile.
    void PutOff(Priority priority, uint64_t micros, std::function<void()> work);
    // From now on no work is delayed, also work that was delayed before.
    void Hurry();

   private:
    friend class FairExecutor;
    struct Line {
      std::deque<std::function<void()>> ready = {};
      std::multimap<uint64_t, std::function<void()>> later = {};  // by the time at which it may begin
      int running = 0;
    };

    FairExecutor* const fair_;
    // By priority. Under the mutex of `fair_`, as all that follows.
    std::array<Line, 3> lines_ = {};
    size_t pending_ = 0;  // work that has not ended
    bool hurries_ = false;
    std::list<Client*>::iterator place_;
  };

 private:
  using Priority = Executor::Priority;

  // Does the next piece of work of any client, once there is one that may begin.
  void RunOne(Priority priority);
  // Returns a client with work that may begin; null: none. `wait_micros`: the time until there is one, if no other work
  // comes meanwhile.
  Client* Next(Priority priority, std::optional<uint64_t>* wait_micros) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  int MostOfOne(Priority priority) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Executor* const executor_;
  Clock* const clock_;
  const std::array<int, 3> threads_;  // by priority; 0: not known
  Mutex mutex_;
  std::array<CondVar, 3> changed_;
  std::array<int, 3> waiting_ ABSL_GUARDED_BY(mutex_) = {};  // for `changed_`
  CondVar ended_;                                            // a piece of work, or a task of the executor
  std::list<Client*> clients_ ABSL_GUARDED_BY(mutex_);       // by turn
  size_t tasks_ ABSL_GUARDED_BY(mutex_) = 0;                 // of the executor
};

}  // namespace sepal

#include "util/thread/side_job.h"

#include <utility>

#include "absl/base/thread_annotations.h"
#include "util/thread/sync.h"

namespace sepal {

class SideJob::State {
 public:
  // Returns whether a request is to be made.
  bool Offer(std::function<void()> job) {
    MutexLock lock(&mutex_);
    job_ = std::move(job);
    done_ = false;
    return !std::exchange(requested_, true);
  }

  void Serve() {
    std::function<void()> job;
    {
      MutexLock lock(&mutex_);
      requested_ = false;
      if (job_ == nullptr) return;
      job = std::exchange(job_, nullptr);
      running_ = true;
    }
    job();
    MutexLock lock(&mutex_);
    running_ = false;
    done_ = true;
    ended_.NotifyAll();
  }

  bool Settle() {
    MutexLock lock(&mutex_);
    job_ = nullptr;
    while (running_) ended_.Wait(&mutex_);
    return done_;
  }

 private:
  Mutex mutex_;
  CondVar ended_;
  std::function<void()> job_ ABSL_GUARDED_BY(mutex_);  // null: nothing is on offer
  bool requested_ ABSL_GUARDED_BY(mutex_) = false;
  bool running_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

SideJob::SideJob(Executor* executor, Executor::Priority priority)
    : executor_(executor), priority_(priority), state_(std::make_shared<State>()) {}

void SideJob::Offer(std::function<void()> job) {
  if (state_->Offer(std::move(job))) executor_->Schedule(priority_, [state = state_] { state->Serve(); });
}

bool SideJob::Settle() { return state_->Settle(); }

}  // namespace sepal

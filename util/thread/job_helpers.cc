#include "util/thread/job_helpers.h"

#include <utility>

#include "util/thread/sync.h"

namespace sepal {

class Helpers::Work {
 public:
  explicit Work(std::function<void()> work) : work_(std::move(work)) {}

  void Do() {
    {
      MutexLock lock(&mutex_);
      if (called_off_) return;
      ++working_;
    }
    work_();
    MutexLock lock(&mutex_);
    --working_;
    done_.NotifyAll();
  }

  void CallOff() {
    MutexLock lock(&mutex_);
    called_off_ = true;
    while (working_ > 0) done_.Wait(&mutex_);
  }

 private:
  const std::function<void()> work_;
  Mutex mutex_;
  CondVar done_;
  bool called_off_ ABSL_GUARDED_BY(mutex_) = false;
  size_t working_ ABSL_GUARDED_BY(mutex_) = 0;
};

Helpers::Helpers(Executor* executor, Executor::Priority priority, std::function<void()> work)
    : executor_(executor), priority_(priority), work_(std::make_shared<Work>(std::move(work))) {}

void Helpers::CallOff() { work_->CallOff(); }

void Helpers::Ask(size_t count) {
  size_t asked = asked_.load(std::memory_order_relaxed);
  while (asked < count) {
    if (!asked_.compare_exchange_weak(asked, asked + 1, std::memory_order_relaxed)) continue;
    executor_->Schedule(priority_, [work = work_] { work->Do(); });
    ++asked;
  }
}

}  // namespace sepal

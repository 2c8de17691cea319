#include "util/task_group.h"

#include <utility>

namespace sepal {

bool TaskGroup::Run(std::function<void()> task) {
  {
    MutexLock lock(&mutex_);
    if (closed_) return false;
    ++pending_;
  }
  executor_->Schedule(priority_, [this, task = std::move(task)]() mutable {
    task();
    task = nullptr;
    End();
  });
  return true;
}

void TaskGroup::Close() {
  MutexLock lock(&mutex_);
  closed_ = true;
  while (pending_ > 0) ended_.Wait(&mutex_);
}

// With the mutex held to the end: whoever waits may end the group as soon as it is free.
void TaskGroup::End() {
  MutexLock lock(&mutex_);
  if (--pending_ == 0) ended_.NotifyAll();
}

}  // namespace sepal

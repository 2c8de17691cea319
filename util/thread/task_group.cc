#include "util/thread/task_group.h"

#include <utility>

namespace sepal {

bool TaskGroup::Run(std::function<void()> task) {
  {
    MutexLock lock(&mutex_);
    if (closed_) return false;
    pending_ += 2;
  }
  executor_->Schedule(priority_, [this, task = std::move(task)]() mutable {
    task();
    task = nullptr;
    End();
  });
  // The task may have ended already. What is left of this call is inside the executor, which is destroyed only after
  // the group is closed.
  End();
  return true;
}

void TaskGroup::Close() {
  MutexLock lock(&mutex_);
  closed_ = true;
  while (pending_ > 0) ended_.Wait(&mutex_);
}

// Keeps the mutex to the end, because a waiting thread may destroy the group as soon as the mutex is free.
void TaskGroup::End() {
  MutexLock lock(&mutex_);
  if (--pending_ == 0) ended_.NotifyAll();
}

void RepeatedTask::Ask() {
  if (state_.exchange(State::kAsked, std::memory_order_acq_rel) != State::kIdle) return;
  if (!group_->Run([this] { Run(); })) state_.store(State::kIdle, std::memory_order_release);
}

// A closed group takes no task, so the task runs here at once; the group waits for this thread.
void RepeatedTask::Run() {
  do {
    state_.exchange(State::kRuns, std::memory_order_acq_rel);
    body_();
    State runs = State::kRuns;
    if (state_.compare_exchange_strong(runs, State::kIdle, std::memory_order_acq_rel)) return;
  } while (!group_->Run([this] { Run(); }));
}

}  // namespace sepal

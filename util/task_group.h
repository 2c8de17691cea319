// Short work that an executor does beside its giver, and that must be over before what it works on goes.
//
// Safe for concurrent use.
#pragma once

#include <functional>

#include "absl/base/thread_annotations.h"
#include "sepal/env.h"
#include "util/sync.h"

namespace sepal {

class TaskGroup {
 public:
  // The executor must live until Close has returned.
  TaskGroup(Executor* executor, Executor::Priority priority) : executor_(executor), priority_(priority) {}
  ~TaskGroup() { Close(); }
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Gives `task` to the executor. False, and nothing is done, once the group is closed.
  bool Run(std::function<void()> task);
  // Returns when no task runs or waits, and their captures are gone. None is taken any more.
  void Close();

 private:
  void End();

  Executor* const executor_;
  const Executor::Priority priority_;
  Mutex mutex_;
  CondVar ended_;
  int pending_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sepal

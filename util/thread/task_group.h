// Short tasks that an executor runs beside the thread that gave them, and that must end before the objects they use are
// destroyed.
//
// Safe for concurrent use.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "sepal/env.h"
#include "util/thread/sync.h"

namespace sepal {

class TaskGroup {
 public:
  // The executor must live until Close has returned.
  TaskGroup(Executor* executor, Executor::Priority priority) : executor_(executor), priority_(priority) {}
  ~TaskGroup() { Close(); }
  TaskGroup(const TaskGroup&) = delete;
  TaskGroup& operator=(const TaskGroup&) = delete;

  // Gives `task` to the executor. Returns false, and does nothing, once the group is closed. The group must outlive the
  // call.
  bool Run(std::function<void()> task);
  // Returns when no task runs or waits, their captures are destroyed, and no call of Run is inside the executor any
  // more. The group takes no more tasks from then on.
  void Close();

 private:
  void End();

  Executor* const executor_;
  const Executor::Priority priority_;
  Mutex mutex_;
  CondVar ended_;
  // The number of tasks, and of calls that give them.
  int pending_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// One task of a group. It runs whenever it was asked for since it last began, in one thread at a time.
//
// Safe for concurrent use. The group and everything `body` uses must outlive the last call, and the group must be
// closed before this object is destroyed.
class RepeatedTask {
 public:
  RepeatedTask(TaskGroup* group, std::function<void()> body) : group_(group), body_(std::move(body)) {}
  RepeatedTask(const RepeatedTask&) = delete;
  RepeatedTask& operator=(const RepeatedTask&) = delete;

  // `body` sees everything that the caller has done before. If it is running, it runs once more, after the work that
  // the executor was given meanwhile, so that a task that is asked for again and again does not delay that work.
  void Ask();

 private:
  enum class State : uint8_t { kIdle, kRuns, kAsked };

  void Run();

  TaskGroup* const group_;
  const std::function<void()> body_;
  std::atomic<State> state_{State::kIdle};
};

}  // namespace sepal

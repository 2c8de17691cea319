// Short work that an executor does beside its giver, and that must be over before what it works on goes.
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

  // Gives `task` to the executor. False, and nothing is done, once the group is closed; the group itself must outlive
  // the call.
  bool Run(std::function<void()> task);
  // Returns when no task runs or waits, their captures are gone, and nobody who gave one is in the executor any more.
  // None is taken from then on.
  void Close();

 private:
  void End();

  Executor* const executor_;
  const Executor::Priority priority_;
  Mutex mutex_;
  CondVar ended_;
  // Tasks, and calls that give them.
  int pending_ ABSL_GUARDED_BY(mutex_) = 0;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

// One task of a group, which is done whenever it was asked for since it last began, and by one thread at a time.
//
// Safe for concurrent use; the group and what `body` uses must outlive the last call, and the group is closed before
// this goes.
class RepeatedTask {
 public:
  RepeatedTask(TaskGroup* group, std::function<void()> body) : group_(group), body_(std::move(body)) {}
  RepeatedTask(const RepeatedTask&) = delete;
  RepeatedTask& operator=(const RepeatedTask&) = delete;

  // `body` sees all that the caller has done. While it runs, it is done once more after what the executor was given
  // meanwhile, which so is not held up by a task that is asked for again and again.
  void Ask();

 private:
  enum class State : uint8_t { kIdle, kRuns, kAsked };

  void Run();

  TaskGroup* const group_;
  const std::function<void()> body_;
  std::atomic<State> state_{State::kIdle};
};

}  // namespace sepal

// A job that another thread does if one comes to it in time, and its owner otherwise. It never waits for a thread that
// it does not get.
#pragma once

#include <functional>
#include <memory>

#include "sepal/env.h"

namespace sepal {

// For a sequence of jobs. At most one request waits in the executor, whatever the number of jobs; it does the job that
// is on offer when it starts. Safe for one owner at a time.
class SideJob {
 public:
  // The executor must outlive the last call. A request that it still has when this object is destroyed does nothing.
  SideJob(Executor* executor, Executor::Priority priority);
  SideJob(const SideJob&) = delete;
  SideJob& operator=(const SideJob&) = delete;

  // From now on a thread of the executor may do `job`, once.
  void Offer(std::function<void()> job);
  // Returns when no thread does the job any more, nor will. False: no thread has done it.
  bool Settle();

 private:
  class State;

  Executor* const executor_;
  const Executor::Priority priority_;
  const std::shared_ptr<State> state_;
};

}  // namespace sepal

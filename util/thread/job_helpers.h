// Lets other threads help with one job. The job never waits for a thread that it does not get.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "sepal/env.h"

namespace sepal {

// Threads that help the creator of this object with its job. Each one, when it starts, calls `work` once, which finds
// out what is left to do. Safe for concurrent use.
class Helpers {
 public:
  // The executor must outlive this object.
  Helpers(Executor* executor, Executor::Priority priority, std::function<void()> work);
  ~Helpers() { CallOff(); }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  // Asks for helpers until `count` have been asked for in total.
  void Ask(size_t count);
  // Cancels helpers that have not begun and returns when the others are done; a helper that starts later does nothing.
  void CallOff();

 private:
  class Work;

  Executor* const executor_;
  const Executor::Priority priority_;
  const std::shared_ptr<Work> work_;
  std::atomic<size_t> asked_{0};
};

}  // namespace sepal

// One job, worked on side by side. Nothing waits for a thread that it does not get.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>

#include "sepal/env.h"

namespace sepal {

// Who helps the thread that made them with its job. They come when they are asked for, and each calls `work` once,
// which finds out for itself what is left to do. Safe for concurrent use.
class Helpers {
 public:
  // The executor must outlive them.
  Helpers(Executor* executor, Executor::Priority priority, std::function<void()> work);
  ~Helpers() { CallOff(); }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  // Asks for as many more as it takes for `count` to have been asked for in all.
  void Ask(size_t count);
  // Calls off who has not begun, and returns when the others are done: one that starts late touches nothing.
  void CallOff();

 private:
  class Work;

  Executor* const executor_;
  const Executor::Priority priority_;
  const std::shared_ptr<Work> work_;
  std::atomic<size_t> asked_{0};
};

}  // namespace sepal

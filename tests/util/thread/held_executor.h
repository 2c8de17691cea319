// An executor that runs work only on request, so that a test decides the order.
#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "sepal/env.h"

namespace sepal {

class HeldExecutor final : public Executor {
 public:
  ~HeldExecutor() override { RunAll(); }
  void Schedule(Priority, std::function<void()> work) override { held_.push_back(std::move(work)); }
  int CompactionConcurrency() const override { return 1; }

  size_t held() const { return held_.size(); }
  void RunOne() {
    const std::function<void()> work = std::move(held_.front());
    held_.pop_front();
    work();
  }
  void RunAll() {
    while (!held_.empty()) RunOne();
  }

 private:
  std::deque<std::function<void()>> held_;
};

}  // namespace sepal

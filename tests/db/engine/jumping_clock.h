// A clock whose wall time is set by the test; its monotonic time is the base's.
#pragma once

#include <atomic>
#include <cstdint>

#include "sepal/env.h"

namespace sepal {

class JumpingClock final : public Clock {
 public:
  explicit JumpingClock(Clock* base) : base_(base) {}

  uint64_t MonotonicMicros() override { return base_->MonotonicMicros(); }
  uint64_t UnixMicros() override { return base_->UnixMicros() + ahead_micros_.load(std::memory_order_relaxed); }
  void SleepMicros(uint64_t micros) override { base_->SleepMicros(micros); }

  // The wall clock alone jumps, forward or back.
  void Jump(int64_t millis) {
    ahead_micros_.fetch_add(static_cast<uint64_t>(millis) * 1000, std::memory_order_relaxed);
  }

 private:
  Clock* const base_;
  std::atomic<uint64_t> ahead_micros_{0};
};

}  // namespace sepal

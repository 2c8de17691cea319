// A clock that moves only when told to. Safe for concurrent use.
#pragma once

#include <atomic>
#include <cstdint>

#include "sepal/env.h"

namespace sepal {

class ManualClock final : public Clock {
 public:
  // Both times start at `start_micros`.
  explicit ManualClock(uint64_t start_micros = 1'000'000) : now_micros_(start_micros) {}

  uint64_t MonotonicMicros() override { return now_micros_.load(std::memory_order_acquire); }
  uint64_t UnixMicros() override { return MonotonicMicros(); }
  // Returns at once, with the time advanced.
  void SleepMicros(uint64_t micros) override { Advance(micros); }
  void Advance(uint64_t micros) { now_micros_.fetch_add(micros, std::memory_order_acq_rel); }

 private:
  std::atomic<uint64_t> now_micros_;
};

}  // namespace sepal

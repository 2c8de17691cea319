// How fast background work may write: a token bucket on the injected clock.
//
// Bytes are taken before they are written. Who takes some finds the bucket in credit or waits until it is, and may then
// leave it in debt: so a request of any size is granted, and over any time t at most
//     rate * (t + kBurstMicros) + one request
// bytes are. Flushes go before compactions, those before scrubbing, and each kind in order of arrival.
//
// Safe for concurrent use. Waits through util/thread/sync.h, so that a simulation decides who goes on. Without a limit
// a call costs one comparison.
#pragma once

#include <array>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "sepal/env.h"
#include "util/thread/sync.h"

namespace sepal {

class RateLimiter {
 public:
  // What an idle bucket saves up.
  static constexpr uint64_t kBurstMicros = 100'000;

  // 0: no limit. `clock` must outlive it.
  RateLimiter(uint64_t bytes_per_second, Clock* clock) : bytes_per_second_(bytes_per_second), clock_(clock) {}

  uint64_t bytes_per_second() const { return bytes_per_second_; }

  // Returns when `bytes` may be written; how long it waited, in microseconds. Call with no lock held.
  uint64_t Take(uint64_t bytes, Executor::Priority priority) {
    return bytes_per_second_ == 0 ? 0 : TakeTurn(bytes, priority);
  }
  // Nobody waits any more, from now on: work is to come to its end.
  void Lift();

 private:
  // Those who wait, in order of arrival.
  struct Line {
    uint64_t next_ticket = 0;
    uint64_t first_ticket = 0;
    bool empty() const { return first_ticket == next_ticket; }
  };

  uint64_t TakeTurn(uint64_t bytes, Executor::Priority priority) ABSL_LOCKS_EXCLUDED(mutex_);
  bool IsTurn(Executor::Priority priority, uint64_t ticket) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Charge(uint64_t bytes, uint64_t now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  Line& LineOf(Executor::Priority priority) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return lines_[static_cast<size_t>(priority)];
  }

  const uint64_t bytes_per_second_;
  Clock* const clock_;
  Mutex mutex_;
  CondVar changed_;
  std::array<Line, 3> lines_ ABSL_GUARDED_BY(mutex_);
  // When the bucket will be in credit again: in the past while it is.
  uint64_t in_credit_at_micros_ ABSL_GUARDED_BY(mutex_) = 0;
  // What was taken and has not been charged, in bytes times 10^6: less than a microsecond's worth.
  uint64_t uncharged_ ABSL_GUARDED_BY(mutex_) = 0;
  bool lifted_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sepal

// Limits the rate of background writes: a token bucket on the injected clock.
//
// Bytes are taken before they are written. A caller waits until the bucket is in credit, and may then leave it in debt,
// so that a request of any size is granted. Over any time t, at most
//       rate * (t + kBurstMicros) + one request
// bytes are granted. Flushes are served before compactions, compactions before scrubbing, and each kind in order of
// arrival.
//
// Safe for concurrent use. It waits through util/thread/sync.h, so that a simulation decides which thread continues.
// Without a limit a call costs one comparison.
#pragma once

#include <array>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "sepal/env.h"
#include "util/thread/sync.h"

namespace sepal {

class RateLimiter {
 public:
  // The credit that an idle bucket saves up, as time.
  static constexpr uint64_t kBurstMicros = 100'000;

  // 0: no limit. `clock` must outlive this object.
  RateLimiter(uint64_t bytes_per_second, Clock* clock) : bytes_per_second_(bytes_per_second), clock_(clock) {}

  uint64_t bytes_per_second() const { return bytes_per_second_; }

  // Waits until `bytes` may be written; returns the time it waited, in microseconds. Call without locks held.
  uint64_t Take(uint64_t bytes, Executor::Priority priority) {
    return bytes_per_second_ == 0 ? 0 : TakeTurn(bytes, priority);
  }
  // Stops limiting, so that running work ends soon.
  void Lift();

 private:
  // The waiting callers of one priority, in order of arrival.
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
  // The time at which the bucket is next in credit; in the past while it is.
  uint64_t in_credit_at_micros_ ABSL_GUARDED_BY(mutex_) = 0;
  // Bytes that were taken but not charged yet, times 10^6: less than a microsecond's worth.
  uint64_t uncharged_ ABSL_GUARDED_BY(mutex_) = 0;
  bool lifted_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace sepal

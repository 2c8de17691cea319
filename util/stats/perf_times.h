// Measures where the calling thread's time goes while something observes it: a PerfContext, or the detection of slow
// calls.
//
// Without an observer a timer costs a load of a thread-local variable and a branch.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "sepal/env.h"
#include "sepal/perf_context.h"
#include "util/thread/sync.h"

namespace sepal {

// Sums that only grow: an observer takes differences.
struct PerfTimes {
  Clock* clock = nullptr;  // null: there is no observer
  uint64_t call_micros = 0;
  std::array<uint64_t, kPerfParts> micros = {};
  bool timing = false;   // a timer is running
  bool telling = false;  // a listener is being told of a slow call; its own calls are not reported
};

namespace internal {
extern thread_local constinit PerfTimes perf_times;
}  // namespace internal

inline PerfTimes& PerfTimesOfThread() { return internal::perf_times; }

// Adds the time of its life to a part; does nothing within the life of another timer.
class PerfTimer {
 public:
  explicit PerfTimer(PerfPart part) {
    PerfTimes& times = internal::perf_times;
    if (times.clock == nullptr || times.timing) [[likely]]
      return;
    clock_ = times.clock;
    part_ = part;
    times.timing = true;
    began_ = clock_->MonotonicMicros();
  }
  ~PerfTimer() {
    if (clock_ == nullptr) [[likely]]
      return;
    internal::perf_times.micros[static_cast<size_t>(part_)] += clock_->MonotonicMicros() - began_;
    internal::perf_times.timing = false;
  }
  PerfTimer(const PerfTimer&) = delete;
  PerfTimer& operator=(const PerfTimer&) = delete;

 private:
  Clock* clock_ = nullptr;
  PerfPart part_ = PerfPart::kRead;
  uint64_t began_ = 0;
};

// A MutexLock whose wait counts as PerfPart::kLock.
class ABSL_SCOPED_LOCKABLE TimedMutexLock {
 public:
  explicit TimedMutexLock(Mutex* mutex) ABSL_EXCLUSIVE_LOCK_FUNCTION(mutex) : mutex_(mutex) {
    const PerfTimer timer(PerfPart::kLock);
    mutex_->Lock();
  }
  ~TimedMutexLock() ABSL_UNLOCK_FUNCTION() { mutex_->Unlock(); }
  TimedMutexLock(const TimedMutexLock&) = delete;
  TimedMutexLock& operator=(const TimedMutexLock&) = delete;

 private:
  Mutex* const mutex_;
};

}  // namespace sepal

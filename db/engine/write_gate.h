// Holds writers back, as the throttle decides (db/decide/throttle.h).
//
// Unthrottled, a write pays one relaxed load. Safe for concurrent use.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "db/decide/throttle.h"
#include "db/engine/engine_state.h"

namespace sepal {

enum class BackgroundWork : uint8_t { kFlush, kMerge };

class WriteGate {
 public:
  explicit WriteGate(EngineState* state);

  // Returns when `bytes` may be written. With `no_slowdown`, Unavailable instead of any wait. ResourceExhausted when
  // writers stand still because there is no space for a flush. Call with no lock held.
  absl::Status Enter(size_t bytes, bool no_slowdown) {
    if (rate_.load(std::memory_order_relaxed) == ThrottleRate::kUnlimited) [[likely]]
      return absl::OkStatus();
    return EnterSlowly(bytes, no_slowdown);
  }

  // For whoever fills memtables, after each small part of one: writers that outrun a flush are slowed down before they
  // have to stop. Call with the commit mutex at most.
  void LookAtMemory() ABSL_LOCKS_EXCLUDED(state_->mutex);

  // Tells listeners and the info log if the rate is another than they were told last. By one thread at a time, so that
  // the last word is the newest; whoever comes meanwhile leaves it to that one.
  void TellOfChange() ABSL_LOCKS_EXCLUDED(state_->mutex);

  // These three require the database mutex.

  // Decides anew; to be called whenever what the throttle looks at has changed.
  void Update();
  ThrottleRate current() const {
    state_->mutex.AssertHeld();
    return decided_;
  }
  // So many more flushes, or merges, wait for space on the disk; fewer where it is negative.
  void CountWaitingForSpace(BackgroundWork work, int more) {
    state_->mutex.AssertHeld();
    (work == BackgroundWork::kFlush ? flushes_without_space_ : merges_without_space_) += more;
  }
  bool AnyWaitsForSpace() const {
    state_->mutex.AssertHeld();
    return flushes_without_space_ + merges_without_space_ > 0;
  }

 private:
  absl::Status EnterSlowly(size_t bytes, bool no_slowdown) ABSL_LOCKS_EXCLUDED(state_->mutex);
  // By the memory as it is, and runs and debt as they were at the last Update: those change with jobs.
  ThrottleRate Decide() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  void Adopt(const ThrottleRate& rate) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  // For writers that are slowed: what held them back may be gone long before a job ends. Never to a lower rate: what
  // one writer sees of a moment's memory is no reason to hold back all of them until then.
  void LookAgain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  absl::Status WaitWhileStopped(bool no_slowdown) ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);

  EngineState* const state_;
  std::atomic<uint64_t> rate_{ThrottleRate::kUnlimited};
  ThrottleRate decided_ ABSL_GUARDED_BY(state_->mutex);
  // What that was decided by.
  ThrottleLimits limits_ ABSL_GUARDED_BY(state_->mutex);
  ThrottleInput input_ ABSL_GUARDED_BY(state_->mutex);
  uint64_t looked_at_micros_ ABSL_GUARDED_BY(state_->mutex) = 0;
  ThrottleRate told_ ABSL_GUARDED_BY(state_->mutex);
  bool telling_ ABSL_GUARDED_BY(state_->mutex) = false;
  int flushes_without_space_ ABSL_GUARDED_BY(state_->mutex) = 0;
  int merges_without_space_ ABSL_GUARDED_BY(state_->mutex) = 0;
  // Until when the writes that were let in keep the allowed rate busy.
  uint64_t busy_until_nanos_ ABSL_GUARDED_BY(state_->mutex) = 0;
};

}  // namespace sepal

// Holds flushes and compactions back while the user has background work paused.
//
// All work on files is done in sections. A section begins only outside a pause; inside, a compaction steps aside
// between entries while there is one. So `Pause` can wait until nothing is inside, however long a compaction still has
// to go. Closing ends every wait.
//
// Safe for concurrent use. Unpaused, stepping aside costs one relaxed load.
#pragma once

#include <atomic>

#include "absl/status/status.h"
#include "db/engine/engine_state.h"

namespace sepal {

class PauseGate {
 public:
  explicit PauseGate(EngineState* state) : state_(state) {}

  // Counted. Returns when no thread is in a section. Not to be called from within one.
  void Pause() ABSL_LOCKS_EXCLUDED(state_->mutex);
  // FailedPrecondition if nothing is paused. Requires the database mutex; the caller schedules what is due.
  absl::Status Continue();

  // Begins or ends a section of the calling thread; entering waits for the end of a pause.
  void Enter() ABSL_LOCKS_EXCLUDED(state_->mutex);
  void Leave() ABSL_LOCKS_EXCLUDED(state_->mutex);
  // Leaves the section for the time of a pause, if there is one.
  void StepAside() {
    if (!paused_.load(std::memory_order_relaxed)) [[likely]]
      return;
    Leave();
    Enter();
  }

  class Section {
   public:
    explicit Section(PauseGate* gate) : gate_(gate) { gate_->Enter(); }
    ~Section() { gate_->Leave(); }
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

   private:
    PauseGate* const gate_;
  };

 private:
  EngineState* const state_;
  // Whether state_->pauses is above 0.
  std::atomic<bool> paused_{false};
  int inside_ ABSL_GUARDED_BY(state_->mutex) = 0;
};

}  // namespace sepal

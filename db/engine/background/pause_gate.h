// Holds back flushes and compactions while the user has paused background work, and all other work while a flush goes
// first.
//
// All work on files is done in sections. A section begins only outside a pause; a compaction inside a section steps
// aside between entries during a pause. So `Pause` can wait until nothing is inside, however much of a compaction is
// left. A compaction also steps aside for a flush that goes first. Closing ends every wait.
//
// Safe for concurrent use. Without a pause, stepping aside costs one relaxed load.
#pragma once

#include <atomic>
#include <cstdint>

#include "absl/status/status.h"
#include "db/engine/core/database_state.h"

namespace sepal {

class PauseGate {
 public:
  explicit PauseGate(EngineState* state) : state_(state) {}

  // Pauses are counted. Returns when no thread is in a section. Not to be called from within one.
  void Pause() EXCLUDES_STATE_LOCK;
  // FailedPrecondition if nothing is paused. The caller then schedules what is due.
  absl::Status Continue() REQUIRES_STATE_LOCK;

  enum class Work : uint8_t {
    kOther,       // waits for the end of pauses and of flushes that go first
    kFlush,       // waits for pauses only
    kFirstFlush,  // other work also waits for its end
  };
  // Begins or ends a section of the calling thread.
  void Enter(Work work = Work::kOther) EXCLUDES_STATE_LOCK;
  void Leave(Work work = Work::kOther) EXCLUDES_STATE_LOCK;
  // Leaves the section for the time of a pause or of a flush that goes first. Not for flushes.
  void StepAside() {
    if (!held_.load(std::memory_order_relaxed)) [[likely]]
      return;
    Leave();
    Enter();
  }

  class Section {
   public:
    explicit Section(PauseGate* gate, Work work = Work::kOther) : gate_(gate), work_(work) { gate_->Enter(work_); }
    ~Section() { gate_->Leave(work_); }
    Section(const Section&) = delete;
    Section& operator=(const Section&) = delete;

   private:
    PauseGate* const gate_;
    const Work work_;
  };

 private:
  void UpdateHeld() REQUIRES_STATE_LOCK;

  EngineState* const state_;
  // Whether work must step aside: state_->pauses or first_ is above 0.
  std::atomic<bool> held_{false};
  int inside_ ABSL_GUARDED_BY(database_mutex) = 0;
  int first_ ABSL_GUARDED_BY(database_mutex) = 0;  // flushes that go first
};

}  // namespace sepal

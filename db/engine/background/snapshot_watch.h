// The snapshots for whose sake jobs have kept what they would have dropped. Once those are released, that is due.
//
// Safe for concurrent use.
#pragma once

#include <atomic>
#include <optional>
#include <vector>

#include "db/engine/background/job_slots.h"

namespace sepal {

class SnapshotWatch {
 public:
  SnapshotWatch(EngineState* state, JobSlots* slots) ABSL_NO_THREAD_SAFETY_ANALYSIS;
  // Nothing is scheduled for a snapshot's sake any more.
  void Close() { state_->snapshots->SetListener(nullptr); }

  // For a job of the family that begins: those that users hold, and what is visible now, or the floor of its history,
  // which is raised as far as it may be.
  std::vector<SequenceNumber> ForJob(const Family& family) EXCLUDES_STATE_LOCK;

 private:
  // The oldest snapshot was released: schedules what it held back. That happens at most once for each snapshot that a
  // job kept versions for; the release of any other costs one load.
  void HearOfRelease() EXCLUDES_STATE_LOCK;

  EngineState* const state_;
  JobSlots* const slots_;
  // The newest snapshot for whose sake a job may have kept something; none: all those are gone.
  std::optional<SequenceNumber> kept_for_ ABSL_GUARDED_BY(database_mutex);
  std::atomic<bool> kept_for_any_{false};  // the same, for a look without the mutex
};

}  // namespace sepal

// Knows the snapshots for which jobs have kept versions. When those are released, the versions are due to be dropped.
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
  // After this, nothing is scheduled when a snapshot is released.
  void Close() { state_->snapshots->SetListener(nullptr); }

  // Called as a job of the family begins: returns the snapshots that users hold, and the visible sequence number, or
  // the floor of the family's history, which is raised as far as possible.
  std::vector<SequenceNumber> ForJob(const Family& family) EXCLUDES_STATE_LOCK;

 private:
  // Called when the oldest snapshot was released: schedules the work that it held back. That happens at most once for
  // each snapshot for which a job kept versions; the release of any other costs one load.
  void HearOfRelease() EXCLUDES_STATE_LOCK;

  EngineState* const state_;
  JobSlots* const slots_;
  // The newest snapshot for which a job may have kept versions; unset if all such snapshots are gone.
  std::optional<SequenceNumber> kept_for_ ABSL_GUARDED_BY(database_mutex);
  std::atomic<bool> kept_for_any_{false};  // the same, readable without the mutex
};

}  // namespace sepal

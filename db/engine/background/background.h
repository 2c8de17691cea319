// The background work of an open database: JobScheduler finds what is due; FlushRunner, CompactionRunner and
// manual_compaction.h carry it out; JobSlots has what all jobs share; PauseGate lets users pause it.
//
// The steps of a job: decide (with the database mutex), work (with no lock), apply an edit (Catalog), look for more
// work.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "db/act/log/write_ahead_log.h"
#include "db/engine/background/clock_keeper.h"
#include "db/engine/background/compaction_runner.h"
#include "db/engine/background/flush_runner.h"
#include "db/engine/background/job_scheduler.h"
#include "db/engine/background/job_slots.h"
#include "db/engine/background/pause_gate.h"
#include "db/engine/background/periodic_task.h"
#include "db/engine/background/snapshot_watch.h"
#include "db/engine/background/table_dropper.h"
#include "db/engine/catalog/catalog.h"
#include "db/engine/core/database_state.h"
#include "db/engine/gate/write_gate.h"

namespace sepal {

class Background {
 public:
  Background(EngineState* state, WriteGate* gate, Catalog* catalog, WriteAheadLog* log, Executor* executor);

  JobScheduler* scheduler() { return &scheduler_; }
  PeriodicTask* scrubber() { return scrubber_.get(); }

  // Compacts a range into the last level; works in the calling thread.
  absl::Status CompactRange(const FamilyRef& family, const CompactRangeOptions& options) EXCLUDES_STATE_LOCK;
  // See DB.
  void Pause() { pause_.Pause(); }
  absl::Status Continue() EXCLUDES_STATE_LOCK;
  // Returns when no job runs; none is started after that.
  void Close() EXCLUDES_STATE_LOCK;
  // Drops tables in which nothing is visible any more.
  void DropTables() EXCLUDES_STATE_LOCK;
  // To be called after Close (FlushRunner).
  absl::Status FlushUnlogged() { return flushes_.FlushUnlogged(); }

 private:
  EngineState* const state_;
  Catalog* const catalog_;
  JobSlots slots_;
  PauseGate pause_;
  SnapshotWatch snapshots_;
  FlushRunner flushes_;
  CompactionRunner compactions_;
  TableDropper table_dropper_;
  JobScheduler scheduler_;
  ClockKeeper clock_keeper_;
  const std::unique_ptr<PeriodicTask> scrubber_;
};

}  // namespace sepal

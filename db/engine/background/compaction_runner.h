// Carries out compactions for the background and for CompactRange.
//
// A compaction that finds damage is deferred: it keeps its tables, and everything that does not need them goes on.
#pragma once

#include "absl/status/statusor.h"
#include "db/act/jobs/compaction_job.h"
#include "db/engine/background/job_slots.h"
#include "db/engine/background/pause_gate.h"
#include "db/engine/background/range_progress.h"
#include "db/engine/background/snapshot_watch.h"
#include "db/engine/background/table_dropper.h"
#include "db/engine/catalog/catalog.h"
#include "db/engine/core/database_state.h"

namespace sepal {

class CompactionRunner {
 public:
  CompactionRunner(EngineState* state, Catalog* catalog, JobSlots* slots, PauseGate* pause, SnapshotWatch* snapshots)
      : state_(state),
        catalog_(catalog),
        slots_(slots),
        pause_(pause),
        snapshots_(snapshots),
        table_dropper_(state, catalog, pause, snapshots) {}

  // Starts a job that carries out a plan.
  void Start(const FamilyRef& family, PlanRef plan) REQUIRES_STATE_LOCK;
  // Starts a job that reads the key sketches of tables from earlier openings.
  void StartSketches(const FamilyRef& family) REQUIRES_STATE_LOCK;

  // Reserves the plan's tables against other plans; `Run` must follow. Returns the run of its outputs.
  RunNumber Adopt(Family* family, PlanRef plan, bool of_range) REQUIRES_STATE_LOCK;
  // Carries out an adopted plan completely, for a CompactRange. `*filter_status` keeps the first error of the family's
  // context filter; after such an error the plan is carried out without that filter.
  absl::Status Run(const FamilyRef& family, const PlanRef& plan, RunNumber run, RangeProgress* progress,
                   absl::Status* filter_status) EXCLUDES_STATE_LOCK;

 private:
  class Control;
  struct Outcome {
    absl::Status status;
    CompactionResult result = {};
  };
  // A compaction, from its first try to its last.
  struct Job {
    FamilyRef family;
    PlanRef plan;
    RunNumber run;
    RangeProgress* progress = nullptr;
    JobSlots::Tries tries = {};
    bool begun = false;
    uint64_t began_micros = 0;
    CompactionResult result = {};
    CompactionEvent event = {};  // includes its result
  };
  void Begin(Job* job) EXCLUDES_STATE_LOCK;
  // Returns the bytes of separated values that the job will move.
  uint64_t BytesToMove(const Job& job) const EXCLUDES_STATE_LOCK;
  // Returns whether the job has ended; otherwise it waits for space.
  bool Continue(Job* job) EXCLUDES_STATE_LOCK;
  void Conclude(Job* job) EXCLUDES_STATE_LOCK;

  void LearnSketches(Family* family, const Version& version) EXCLUDES_STATE_LOCK;
  // Makes one try.
  Outcome Compact(const Family& family, const PlanRef& plan, RunNumber run,
                  RangeProgress* progress) EXCLUDES_STATE_LOCK;
  // Writes the outputs of a plan that is not a move.
  absl::StatusOr<CompactionResult> Rewrite(const Family& family, const PlanRef& plan, RunNumber run,
                                           RangeProgress* progress) EXCLUDES_STATE_LOCK;
  void End(Family* family, const PlanRef& plan, const absl::Status& status, bool of_range) EXCLUDES_STATE_LOCK;
  void Tell(const CompactionEvent& event) const;

  EngineState* const state_;
  Catalog* const catalog_;
  JobSlots* const slots_;
  PauseGate* const pause_;
  SnapshotWatch* const snapshots_;
  TableDropper table_dropper_;
};

}  // namespace sepal

// CompactRange: compacts a range of keys into the last level, in the calling thread.
//
// It carries out one step after another (PlanRange in db/decide/compaction/compaction_picker.h). If a running plan is
// in the way of a step it waits, and meanwhile the background begins no plan in the family (IsHeldBack in
// db/decide/pacing/schedule.h).
#pragma once

#include "absl/status/status.h"
#include "db/engine/background/compaction_runner.h"
#include "db/engine/background/job_slots.h"
#include "db/engine/core/database_state.h"

namespace sepal {

// `first_new_file`: the next file number.
absl::Status CompactRange(EngineState* state, JobSlots* slots, CompactionRunner* compactions, const FamilyRef& family,
                          const CompactRangeOptions& options, FileNumber first_new_file) EXCLUDES_STATE_LOCK;

}  // namespace sepal

#include "db/engine/background/background.h"

#include "db/engine/background/manual_compaction.h"
#include "util/base/status.h"

namespace sepal {

Background::Background(EngineState* state, WriteGate* gate, Catalog* catalog, WriteAheadLog* log, Executor* executor)
    : state_(state),
      catalog_(catalog),
      slots_(state, gate, log, executor, &scheduler_),
      pause_(state),
      snapshots_(state, &slots_),
      flushes_(state, gate, catalog, log, &slots_, &pause_, &snapshots_),
      compactions_(state, catalog, &slots_, &pause_, &snapshots_),
      table_dropper_(state, catalog, &pause_, &snapshots_),
      scheduler_(state, gate, &slots_, &flushes_, &compactions_),
      clock_keeper_(state, catalog, &pause_, executor),
      scrubber_(MakeScrubber(state, &pause_, executor)) {}

absl::Status Background::CompactRange(const FamilyRef& family, const CompactRangeOptions& options) {
  // First the tables that can be dropped without being read; at the end, the range tombstones that cover nothing any
  // more.
  if (options.covered_only) table_dropper_.Drop(family);
  const absl::Status status =
      sepal::CompactRange(state_, &slots_, &compactions_, family, options, catalog_->NewFileNumber());
  if (options.covered_only) table_dropper_.Drop(family);
  return status;
}

absl::Status Background::Continue() {
  StateLock lock(state_);
  RETURN_IF_ERROR(pause_.Continue());
  scheduler_.Schedule();
  return absl::OkStatus();
}

void Background::DropTables() {
  std::vector<FamilyRef> families;
  {
    StateLock lock(state_);
    families = state_->Families();
  }
  for (const FamilyRef& family : families) table_dropper_.Drop(family);
}

void Background::Close() {
  snapshots_.Close();
  {
    StateLock lock(state_);
    state_->closing = true;
    state_->NotifyChanged();
  }
  // Only after `closing` is set: otherwise a job that gives up would be scheduled again and again until this thread
  // runs.
  slots_.Cancel();
  state_->core->rate_limiter.Lift();
  {
    StateLock lock(state_);
    while (state_->jobs > 0) state_->WaitForChange();
  }
  clock_keeper_.Stop();
  scrubber_->Stop();
}

}  // namespace sepal

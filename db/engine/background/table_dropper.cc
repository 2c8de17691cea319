#include "db/engine/background/table_dropper.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "db/decide/compaction/droppable_tables.h"
#include "db/engine/catalog/named_snapshots.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

void TableDropper::Drop(const FamilyRef& family) {
  DropExpired();
  const bool has_ranges = family->range_deletes.any() && !state_->VersionOf(*family)->range_tables().empty();
  const uint64_t expired_through = state_->core->expiry.RemovalMillis();
  if (!has_ranges && expired_through == 0) return;
  const PauseGate::Section section(pause_);
  absl::Status status = DropTables(family, expired_through);
  if (status.ok() && has_ranges) status = RemoveRangeTables(family);
  if (status.ok()) return;
  state_->core->info_log.Write("tables of %s could not be dropped: %s", Printable(family->name), status.ToString());
}

void TableDropper::DropExpired() {
  if (!SnapshotsMayHaveExpired(*state_)) return;
  const PauseGate::Section section(pause_);
  {
    StateLock lock(state_);
    if (state_->closing || !state_->error.ok()) return;
  }
  const absl::Status status = DropExpiredSnapshots(state_, catalog_);
  if (status.ok()) return;
  state_->core->info_log.Write("snapshots that have expired could not be dropped: %s", status.ToString());
}

absl::Status TableDropper::DropTables(const FamilyRef& family, uint64_t expired_through_millis) {
  const std::vector<SequenceNumber> snapshots = snapshots_->ForJob(*family);
  PlanRef plan;
  {
    StateLock lock(state_);
    if (state_->closing || !state_->error.ok() || family->dropped()) return absl::OkStatus();
    std::vector<const CompactionPlan*> held;
    CompactionPlan drop =
        PlanDrop(MakePickerInput(family->Facts(), state_->OldestSnapshot(), &held), snapshots, expired_through_millis);
    if (drop.nothing()) return absl::OkStatus();
    plan = std::make_shared<const CompactionPlan>(std::move(drop));
    family->BeginCompaction(plan, /*of_range=*/false);
  }
  state_->core->info_log.Write("compaction of %s: %s", Printable(family->name), ToString(*plan));
  absl::Status status = catalog_->Apply(EditOf(*plan, family->id, RunNumber(0), {}), nullptr, nullptr);
  {
    StateLock lock(state_);
    family->EndCompaction(plan, state_->ReadDemandNow(), /*of_range=*/false);
    state_->NotifyChanged();
  }
  // The files are removed here, because the next job may be far off.
  plan.reset();
  state_->core->RemoveUnusedFiles();
  return status;
}

// A flush that takes over range tombstones removes such tables itself when it has ended.
absl::Status TableDropper::RemoveRangeTables(const FamilyRef& family) {
  Mutex* const tables = family->range_deletes.tables_mutex();
  if (!tables->TryLock()) return absl::OkStatus();
  absl::Status status = RemoveLocked(*family);
  tables->Unlock();
  return status;
}

absl::Status TableDropper::RemoveLocked(const Family& family) {
  const std::vector<TableRef> done = RangeTablesToRemove(*state_->VersionOf(family));
  if (done.empty() || family.dropped()) return absl::OkStatus();
  // They may have gone with the family's drop.
  const auto complete = [&](VersionEdit* edit) {
    database_mutex.AssertHeld();
    const std::vector<TableRef>& listed = family.version()->range_tables();
    for (const TableRef& table : done) {
      if (std::find(listed.begin(), listed.end(), table) == listed.end()) continue;
      edit->removed_tables.push_back({.family = family.id, .level = 0, .number = table->number()});
    }
  };
  return catalog_->Apply({}, complete, nullptr);
}

}  // namespace sepal

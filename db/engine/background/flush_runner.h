// Runs flushes: several of one family at a time, each of memtables that no other flush has taken; they are installed in
// the order of their age.
//
// A job flushes one family, or several small ones (db/decide/writing/flush_groups.h). All of its tables are synced
// before the one edit that adds them. It fails as a whole, but leaves out families that were dropped meanwhile.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "db/act/log/write_ahead_log.h"
#include "db/engine/background/job_slots.h"
#include "db/engine/background/pause_gate.h"
#include "db/engine/background/snapshot_watch.h"
#include "db/engine/background/table_dropper.h"
#include "db/engine/catalog/catalog.h"
#include "db/engine/core/database_state.h"

namespace sepal {

class FlushRunner {
 public:
  FlushRunner(EngineState* state, WriteGate* gate, Catalog* catalog, WriteAheadLog* log, JobSlots* slots,
              PauseGate* pause, SnapshotWatch* snapshots)
      : state_(state),
        gate_(gate),
        catalog_(catalog),
        log_(log),
        slots_(slots),
        pause_(pause),
        snapshots_(snapshots),
        table_dropper_(state, catalog, pause, snapshots) {}

  // Starts jobs that flush the waiting memtables of these families.
  void Start(std::span<const FamilyRef> families) REQUIRES_STATE_LOCK;
  // Flushes, in the calling thread and after closing has begun, entries that are in memory but in no log. Does not wait
  // for space.
  absl::Status FlushUnlogged() EXCLUDES_STATE_LOCK;

 private:
  // The memtables that a job has taken, for one try.
  class Taken;
  // The result of a try in one family.
  struct Flushed {
    std::vector<TableMetadata> tables = {};
    // The memtables' range tombstones and the sequence numbers at which readers may read; null if they have none.
    RangeTombstonesRef ranges = nullptr;
    std::vector<SequenceNumber> snapshots = {};
    // The new table of range tombstones, and the tables that it replaces.
    std::optional<TableMetadata> range_table = std::nullopt;
    std::vector<TableRef> merged_range_tables = {};
    int threads = 1;
    LastFlush volume = {};
    bool overtaken = false;      // older memtables wait again and must be flushed first; nothing was installed
    absl::Status left_out = {};  // Cancelled, with the reason, if nothing was written or installed
  };

  // A flush that is scheduled, from its first try to its last.
  struct Job {
    std::vector<FamilyRef> families = {};
    JobSlots::Tries tries = {};
    bool begun = false;
    uint64_t began_micros = 0;
    uint64_t bytes = 0;
    bool calm = false;
    std::vector<Flushed> flushed = {};  // one for each family; empty if the job has failed
    absl::Status status = {};           // the result of the job
  };
  // Groups the families into jobs, and schedules the flush of each family.
  std::vector<std::shared_ptr<Job>> JobsFor(std::span<const FamilyRef> families, bool together) REQUIRES_STATE_LOCK;
  void Begin(Job* job) EXCLUDES_STATE_LOCK;
  // Returns whether the job has ended; otherwise it waits for space.
  bool Continue(Job* job) EXCLUDES_STATE_LOCK;
  // Splits a waiting job of several families into one job each.
  void SplitUp(Job* job) EXCLUDES_STATE_LOCK;
  void Conclude(Job* job) EXCLUDES_STATE_LOCK;
  // Reports the end. Returns the bytes that were written.
  uint64_t Tell(const Job& job, uint64_t micros) EXCLUDES_STATE_LOCK;
  // Flushes the waiting memtables. Cancelled if no family has any.
  absl::StatusOr<std::vector<Flushed>> TryFlush(const Job& job) EXCLUDES_STATE_LOCK;
  absl::StatusOr<std::vector<Flushed>> Flush(const Taken& taken) EXCLUDES_STATE_LOCK;
  // On an error, no table is left behind.
  absl::Status WriteTables(const Taken& taken, std::vector<Flushed>* all) EXCLUDES_STATE_LOCK;
  // `unsynced`: TableOutputContext::unsynced, for a job of several families.
  absl::Status WriteTables(const Family& family, std::span<const ImmutableMemTable> immutables, RunNumber run,
                           UnsyncedFiles* unsynced, Flushed* flushed) EXCLUDES_STATE_LOCK;
  void RemoveTablesOf(const Flushed& flushed);
  // Waits until no older flush is under way. Notes the families in which older memtables wait again, and those that are
  // gone.
  absl::Status AwaitTurn(const Taken& taken, std::vector<Flushed>* all) EXCLUDES_STATE_LOCK;
  absl::Status Finish(const Taken& taken, std::vector<Flushed>* all) EXCLUDES_STATE_LOCK;
  absl::Status Install(const Taken& taken, std::vector<Flushed>* all) EXCLUDES_STATE_LOCK;
  void AddTo(VersionEdit* edit, const Family& family, SequenceNumber through,
             const Flushed& flushed) const REQUIRES_STATE_LOCK;
  // Writes the memtables' range tombstones, merged with those of tables that do not hold many more, and without those
  // that cover nothing. Called when it is the flush's turn, so that nothing else changes the family's tables of range
  // tombstones.
  absl::Status WriteRanges(const Family& family, Flushed* flushed) EXCLUDES_STATE_LOCK;
  // Returns whether another family has an update at or before `through` that is in no table yet.
  bool OthersWaitBefore(const Family& family, SequenceNumber through) const REQUIRES_STATE_LOCK;
  // Removes old logs in a job of its own, because the operating system takes long to free a file's pages and the next
  // flush need not wait for that. When closing or calm, removes them at once.
  void RemoveOldLogs(FileNumber minimum) EXCLUDES_STATE_LOCK;
  // Returns the families whose immutable memtables hold updates that are in no log.
  std::vector<FamilyRef> UnloggedFamilies() const REQUIRES_STATE_LOCK;

  EngineState* const state_;
  WriteGate* const gate_;
  Catalog* const catalog_;
  WriteAheadLog* const log_;
  JobSlots* const slots_;
  PauseGate* const pause_;
  SnapshotWatch* const snapshots_;
  TableDropper table_dropper_;
};

}  // namespace sepal

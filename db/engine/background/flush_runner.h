// Flushes: of one family several at a time, each of memtables that no other has taken, installed in the order of their
// age.
//
// A job flushes one family, or several that have little (db/decide/writing/flush_groups.h). All of its tables are
// synced before the one edit that adds them. It fails as a whole; a family that was dropped meanwhile is left out.
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

  // Has workers flush the memtables of these families that wait.
  void Start(std::span<const FamilyRef> families) REQUIRES_STATE_LOCK;
  // Flushes what no log holds, and is in memory alone, in the calling thread, after closing has begun. Does not wait
  // for space.
  absl::Status FlushUnlogged() EXCLUDES_STATE_LOCK;

 private:
  // The memtables that a job has taken, for one try.
  class Taken;
  // What a try has brought about in one family.
  struct Flushed {
    std::vector<TableMetadata> tables = {};
    // The memtables' range tombstones, and where readers could stand; null: they have none.
    RangeTombstonesRef ranges = nullptr;
    std::vector<SequenceNumber> snapshots = {};
    // Of range tombstones: the table of those, and the ones that it takes the place of.
    std::optional<TableMetadata> range_table = std::nullopt;
    std::vector<TableRef> merged_range_tables = {};
    int threads = 1;
    LastFlush volume = {};
    bool overtaken = false;      // older memtables wait again, and come first; nothing was installed
    absl::Status left_out = {};  // why nothing was written, or why it was not installed: Cancelled
  };

  // A flush that is scheduled, from its first try to its last.
  struct Job {
    std::vector<FamilyRef> families = {};
    JobSlots::Tries tries = {};
    bool begun = false;
    uint64_t began_micros = 0;
    uint64_t bytes = 0;
    bool calm = false;
    std::vector<Flushed> flushed = {};  // of each family; empty: the job has failed
    absl::Status status = {};           // how it ended
  };
  // Those that a job each is for. Schedules the flush of each family.
  std::vector<std::shared_ptr<Job>> JobsFor(std::span<const FamilyRef> families, bool together) REQUIRES_STATE_LOCK;
  void Begin(Job* job) EXCLUDES_STATE_LOCK;
  // Whether it has ended: otherwise it waits for space.
  bool Continue(Job* job) EXCLUDES_STATE_LOCK;
  // A job of several families, which waits, into one of each.
  void SplitUp(Job* job) EXCLUDES_STATE_LOCK;
  void Conclude(Job* job) EXCLUDES_STATE_LOCK;
  // Returns the bytes that were written.
  uint64_t Tell(const Job& job, uint64_t micros) EXCLUDES_STATE_LOCK;
  // Of the memtables that wait. Cancelled where no family has any.
  absl::StatusOr<std::vector<Flushed>> TryFlush(const Job& job) EXCLUDES_STATE_LOCK;
  absl::StatusOr<std::vector<Flushed>> Flush(const Taken& taken) EXCLUDES_STATE_LOCK;
  // On an error no table is left behind.
  absl::Status WriteTables(const Taken& taken, std::vector<Flushed>* all) EXCLUDES_STATE_LOCK;
  // `unsynced`: TableOutputContext::unsynced, of a job of several families.
  absl::Status WriteTables(const Family& family, std::span<const ImmutableMemTable> immutables, RunNumber run,
                           UnsyncedFiles* unsynced, Flushed* flushed) EXCLUDES_STATE_LOCK;
  void RemoveTablesOf(const Flushed& flushed);
  // Returns when nothing older is under way. Notes in which families something older waits again, and which are gone.
  absl::Status AwaitTurn(const Taken& taken, std::vector<Flushed>* all) EXCLUDES_STATE_LOCK;
  absl::Status Finish(const Taken& taken, std::vector<Flushed>* all) EXCLUDES_STATE_LOCK;
  absl::Status Install(const Taken& taken, std::vector<Flushed>* all) EXCLUDES_STATE_LOCK;
  void AddTo(VersionEdit* edit, const Family& family, SequenceNumber through,
             const Flushed& flushed) const REQUIRES_STATE_LOCK;
  // Writes the memtables' range tombstones, together with those of tables that do not hold many more, and without those
  // that cover nothing any more. Once it is the flush's turn: no other changes the family's tables of them meanwhile.
  absl::Status WriteRanges(const Family& family, Flushed* flushed) EXCLUDES_STATE_LOCK;
  // Whether another family has an update at or before `through` that is in no table yet.
  bool OthersWaitBefore(const Family& family, SequenceNumber through) const REQUIRES_STATE_LOCK;
  // In a job of its own: the operating system takes its time to give back a file's pages, and the next flush need not
  // wait for that. At once when closing, or calm.
  void RemoveOldLogs(FileNumber minimum) EXCLUDES_STATE_LOCK;
  // Those whose immutable memtables hold what no log holds.
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

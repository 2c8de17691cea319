// Flushes: of one family several at a time, each of memtables that no other has taken, installed in the order of their
// age.
#pragma once

#include <optional>
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

  // Has a worker flush the memtables that wait.
  void Start(const FamilyRef& family) REQUIRES_STATE_LOCK;
  // Flushes what no log holds, and is in memory alone, in the calling thread, after closing has begun. Does not wait
  // for space.
  absl::Status FlushUnlogged() EXCLUDES_STATE_LOCK;

 private:
  // The memtables that a flush has taken, for one try.
  class Taken;
  // What a try has brought about.
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
    bool overtaken = false;  // older memtables wait again, and come first; nothing was installed
  };

  // A flush that is scheduled, from its first try to its last.
  struct Job {
    JobSlots::Tries tries = {};
    bool begun = false;
    uint64_t began_micros = 0;
    uint64_t bytes = 0;
    bool calm = false;
    Flushed flushed = {};
    FlushEvent event = {};  // with how it ended
  };
  void Begin(const Family& family, Job* job) EXCLUDES_STATE_LOCK;
  // Whether it has ended: otherwise it waits for space.
  bool Continue(const FamilyRef& family, Job* job) EXCLUDES_STATE_LOCK;
  void Conclude(const FamilyRef& family, Job* job) EXCLUDES_STATE_LOCK;
  // Of the memtables that wait. Cancelled where there are none.
  absl::StatusOr<Flushed> TryFlush(const FamilyRef& family, bool goes_first) EXCLUDES_STATE_LOCK;
  absl::StatusOr<Flushed> Flush(const FamilyRef& family, const Taken& taken) EXCLUDES_STATE_LOCK;
  absl::StatusOr<Flushed> WriteTables(const FamilyRef& family, const Taken& taken) EXCLUDES_STATE_LOCK;
  // Returns when nothing older than `run` is under way: whether all of it is in tables, and none in a newer run.
  absl::StatusOr<bool> AwaitTurn(const Family& family, RunNumber run) EXCLUDES_STATE_LOCK;
  // Both return the bytes of keys and values in memtables that are still in memory then.
  absl::StatusOr<uint64_t> Finish(const FamilyRef& family, const Taken& taken, Flushed* flushed) EXCLUDES_STATE_LOCK;
  absl::StatusOr<uint64_t> Install(const FamilyRef& family, const Taken& taken,
                                   const Flushed& flushed) EXCLUDES_STATE_LOCK;
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

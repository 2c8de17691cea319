// The way of a write: sequence numbers, log, memtable, publish.
//
// One short critical section takes a batch through all four, in order; nobody sleeps in it, and no sync is made in it
// but that of a new log's header, when a memtable is switched; where the log is far away, not even that one, since the
// next log is always made ahead. A sync writer then waits for the log, whose one sync carries all who wait.
//
// Laws:
//   - a batch is in the log before it is in a memtable, if it goes into the log at all (`disable_wal`), and in all
//     memtables before it is visible;
//   - a batch that the log refused leaves no trace: its sequence numbers were not taken (a full disk) or writing has
//     ended for good (everything else);
//   - a memtable is switched between batches, together with the log, so that every entry of the old one is visible and
//     lies, if in any, in logs before the new one;
//   - an exception, which only an allocation that fails can be the cause of, ends the process (noexcept): what of a
//   batch
//     is in the memtables by then could not be taken back.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "db/act/log/write_ahead_log.h"
#include "db/engine/background/job_scheduler.h"
#include "db/engine/catalog/catalog.h"
#include "db/engine/core/database_state.h"
#include "db/engine/write/commit_check.h"
#include "db/format/batch_format.h"
#include "sepal/options.h"
#include "util/thread/sync.h"

namespace sepal {

class CommitPipeline {
 public:
  // All must outlive the pipeline. Sequence numbers continue after `last`.
  CommitPipeline(EngineState* state, WriteGate* gate, Catalog* catalog, JobScheduler* scheduler, WriteAheadLog* log,
                 SequenceNumber last);

  void AddFamily(FamilyRef family) ABSL_LOCKS_EXCLUDED(commit_mutex_);
  void RemoveFamily(ColumnFamilyId id) ABSL_LOCKS_EXCLUDED(commit_mutex_);

  // Applies a batch (write-batch bytes), whole or not at all. A sync is of what was written before it too, and of an
  // empty batch of just that. Ends the `pass` before it. With `terms`, their outcome is set where the status is ok.
  // Without (null), it is Aborted where transactions hold locks, which must be taken first.
  absl::Status Write(std::string_view batch, const WriteOptions& options, WriteGate::Pass* pass,
                     CommitTerms* terms = nullptr) noexcept ABSL_LOCKS_EXCLUDED(commit_mutex_);

  // A watch from now on; all that was committed before is visible.
  class WatchHold {
   public:
    WatchHold(CommitPipeline* pipeline, CommitCheck* check) ABSL_LOCKS_EXCLUDED(pipeline->commit_mutex_);
    ~WatchHold() ABSL_LOCKS_EXCLUDED(pipeline_->commit_mutex_);
    WatchHold(const WatchHold&) = delete;
    WatchHold& operator=(const WatchHold&) = delete;
    CommitWatch* get() { return &watch_; }

   private:
    CommitPipeline* const pipeline_;
    CommitWatch watch_;
  };
  // From the first call's return until as many calls of the second, nothing is committed that does not respect locks,
  // and all that was committed before is visible.
  void BeginLocks() ABSL_LOCKS_EXCLUDED(commit_mutex_);
  void EndLocks() { lock_users_.fetch_sub(1, std::memory_order_relaxed); }
  bool LocksInUse() const { return lock_users_.load(std::memory_order_relaxed) > 0; }
  // DB::SetFilterEpoch: at a sequence number of its own, to which everything before it is durable.
  absl::Status SetFilterEpoch(const FamilyRef& family, std::string_view epoch) noexcept
      ABSL_LOCKS_EXCLUDED(commit_mutex_);
  // Calls TimeMarkList::AcceptClock, and logs the rows that it changes.
  absl::Status AcceptClock() noexcept ABSL_LOCKS_EXCLUDED(commit_mutex_);
  // Makes everything written before durable.
  absl::Status Sync() noexcept;
  // Makes the log durable through `position`.
  absl::Status SyncThrough(LogPosition position) noexcept;

  // Lets the write under way finish, and refuses all that come after it. Switches the memtables that hold what no log
  // holds.
  void Close() noexcept ABSL_LOCKS_EXCLUDED(commit_mutex_);

  // Has the first next log made, where it is to be there before it is needed.
  void BeginPreparing() ABSL_LOCKS_EXCLUDED(commit_mutex_);
  // Waits for the next log, if one is being made far away. A switch before that makes one itself, for which all writers
  // wait.
  void AwaitNextLog() ABSL_LOCKS_EXCLUDED(commit_mutex_);
  // Moves what the family's active memtable holds to its immutables, and what others hold that need too many logs. A
  // no-op while it is empty.
  absl::Status SwitchMemtable(const FamilyRef& family) noexcept ABSL_LOCKS_EXCLUDED(commit_mutex_);
  // The same for all families at once; `look` is called before any later write, with the last sequence number.
  absl::Status SwitchAll(const std::function<void(SequenceNumber last)>& look) noexcept
      ABSL_LOCKS_EXCLUDED(commit_mutex_);

 private:
  absl::Status Closed() const;
  static absl::Status NoSequenceNumbersLeft(SequenceNumber last);
  // Where a family keeps its history, and a time mark is due: logs it, before the batch that is to be written, and with
  // it that marks are gone which no reader needs any more.
  absl::Status CheckForEpoch(const Family& family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status SetEpoch(Family* family, std::string_view epoch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status MarkTime() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Writes rows of the system family, as a batch of their own.
  absl::Status WriteRows(std::string_view batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Of all histories.
  SequenceNumber LowestFloor() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // What a batch asks of its writer after its commit.
  struct Aftermath {
    bool collect = false;  // what it took the place of is to be freed: range tombstones, or views
    Features enable = {};  // if any: nothing was written, and the manifest must say first that the database uses these
  };
  // Everything but the sync. `end` is that of the batch in the log.
  absl::Status Commit(std::string_view batch, const WriteOptions& options, CommitTerms* terms, LogPosition* end,
                      Aftermath* aftermath) ABSL_LOCKS_EXCLUDED(commit_mutex_);
  // Whether a batch may be written now, by its terms: their outcome. `locks`: transactions hold locks.
  CommitOutcome Allows(const CommitTerms& terms, bool locks) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // The batch is visible. `own`: the watch that it was written under; null: none.
  void TellWatches(std::string_view batch, const CommitWatch* own) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status WriteNothing(bool sync, CommitTerms* terms) noexcept ABSL_LOCKS_EXCLUDED(commit_mutex_);
  // Checks a batch before anything of it is written.
  absl::Status Prepare(std::string_view batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  void Insert(std::string_view batch, SequenceNumber first) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // A family and its active memtable, which only this pipeline replaces.
  struct Target {
    FamilyRef family;
    std::shared_ptr<MemTable> active;
    bool unlogged = false;  // `active` holds what no log holds
  };

  // An entry of the batch in hand, ready to be inserted.
  struct Prepared {
    BatchEntry entry;
    Target* target;
    uint64_t hash;
    InsertHint hint;
  };
  // Of larger batches the rest is read again: what is fetched ahead of its insertion should still be in the cache then.
  static constexpr size_t kMostPrepared = 256;

  // Into the log. Ends all writing if the log fails for good.
  absl::StatusOr<LogPosition> Append(SequenceNumber first, std::string_view batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Goes on in a new log; returns its number.
  absl::StatusOr<FileNumber> NewLog() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Has the next log made, unless there is one.
  absl::Status PrepareLog() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Has made ready what a switch of memtables will need.
  absl::Status PrepareSwitch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // The one target of users whose memtable holds anything; null if there is none, or another.
  const Target* OnlyOneWritten() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  struct EarlySwitch {
    bool soon = false;
    bool now = false;
  };
  // Whether it is time for a switch though no memtable is full (db/decide/writing/early_flush.h).
  EarlySwitch WhetherEarly() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status MakeRoom(size_t batch_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // With Options::large_batches, behind a large one.
  void FlushBehind(size_t batch_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  size_t ActiveBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status SwitchWhatIsFull() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Has memtables let go of what no reader needs, once much of theirs has been superseded.
  void LetGoOfSuperseded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // With one new log for all of them. `early`: before memtables are full.
  absl::Status Switch(std::span<Target* const> targets, bool early = false)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // The part of it that is in memory: the memtables of `targets` become immutable, and all that are empty now need no
  // log before `log`.
  void Replace(std::span<Target* const> targets, LogPosition log_end, FileNumber log, bool early = false)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Those that hold anything, by the oldest log that they need, then by size.
  std::vector<Target*> TargetsByAge() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Whether the logs that `target` needs, of the live ones, are more or larger than it may hold on to.
  bool HoldsTooMuchLog(const Target& target, std::span<const LiveLog> live) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);

  EngineState* const state_;
  WriteGate* const gate_;
  Catalog* const catalog_;
  JobScheduler* const scheduler_;
  WriteAheadLog* const log_;

  Mutex* const commit_mutex_;  // in the core
  absl::flat_hash_map<uint32_t, Target> targets_ ABSL_GUARDED_BY(commit_mutex_);
  const size_t bytes_per_look_;
  const bool far_;  // the log is (Capabilities::remote)
  // Of batches since the memtables were last measured.
  size_t unchecked_bytes_ ABSL_GUARDED_BY(commit_mutex_) = 0;
  bool views_renewed_ ABSL_GUARDED_BY(commit_mutex_) = false;  // and the old ones are still to be freed
  SequenceNumber last_ ABSL_GUARDED_BY(commit_mutex_);
  // The first entries of the batch in hand.
  // Filled in place: what is put together first and then moved waits for its own stores. The last is never full, for
  // entries that are looked at and read again.
  std::array<Prepared, kMostPrepared + 1> prepared_ ABSL_GUARDED_BY(commit_mutex_);
  size_t prepared_count_ ABSL_GUARDED_BY(commit_mutex_) = 0;
  // The features that the batch in hand uses, of those that it takes no schema or value file to use.
  Features needs_ ABSL_GUARDED_BY(commit_mutex_);
  // Whether the batch in hand has entries of several.
  bool several_families_ ABSL_GUARDED_BY(commit_mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(commit_mutex_) = false;
  std::vector<CommitWatch*> watches_ ABSL_GUARDED_BY(commit_mutex_);
  std::atomic<int> lock_users_{0};
};

}  // namespace sepal

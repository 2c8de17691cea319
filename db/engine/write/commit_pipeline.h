// The path of a write: sequence numbers, log, memtable, publication.
//
// One short critical section takes a batch through all four, in order. Nothing sleeps in it, and the only sync in it is
// that of a new log's header when a memtable is switched; if the log's storage is remote, not even that, since the next
// log is always made ahead. A writer with `sync` then waits for the log, where one sync serves all waiting writers.
//
// Laws:
//   - a batch is in the log before it is in a memtable, unless it has `disable_wal`, and in all memtables before it is
//     visible;
//   - a batch that the log refused leaves no trace: either its sequence numbers were not taken (a full disk), or
//     writing has ended for good (everything else);
//   - a memtable is switched between batches, together with the log, so that every entry of the old one is visible and,
//     if logged, lies in logs before the new one;
//   - an exception, which only a failed allocation can cause, ends the process (noexcept), because entries of the batch
//     that are in memtables by then could not be removed.
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

  // Applies a batch (write-batch bytes) as a whole or not at all. With `sync`, everything written before becomes
  // durable too; a sync of an empty batch does just that. Ends `pass` before the sync. With `terms`, their outcome is
  // set if the status is ok. Without `terms` (null), returns Aborted if transactions hold locks, which must then be
  // taken first.
  absl::Status Write(std::string_view batch, const WriteOptions& options, WriteGate::Pass* pass,
                     CommitTerms* terms = nullptr) noexcept ABSL_LOCKS_EXCLUDED(commit_mutex_);

  // Watches commits while it lives; everything committed before it was created is visible.
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
  // Between the return of BeginLocks and as many calls of EndLocks, every commit respects locks; everything committed
  // before is visible.
  void BeginLocks() ABSL_LOCKS_EXCLUDED(commit_mutex_);
  void EndLocks() { lock_users_.fetch_sub(1, std::memory_order_relaxed); }
  bool LocksInUse() const { return lock_users_.load(std::memory_order_relaxed) > 0; }
  // See DB::SetFilterEpoch. The epoch gets a sequence number of its own, and everything before it is durable.
  absl::Status SetFilterEpoch(const FamilyRef& family, std::string_view epoch) noexcept
      ABSL_LOCKS_EXCLUDED(commit_mutex_);
  // Calls TimeMarkList::AcceptClock, and logs the rows that it changes.
  absl::Status AcceptClock() noexcept ABSL_LOCKS_EXCLUDED(commit_mutex_);
  // Makes everything written before the call durable.
  absl::Status Sync() noexcept;
  // Makes the log durable through `position`.
  absl::Status SyncThrough(LogPosition position) noexcept;

  // Lets the write under way finish, and refuses all later ones. Switches the memtables with entries that are in no
  // log.
  void Close() noexcept ABSL_LOCKS_EXCLUDED(commit_mutex_);

  // Starts making the next log, if logs are made ahead.
  void BeginPreparing() ABSL_LOCKS_EXCLUDED(commit_mutex_);
  // Waits until the next log is made, if its storage is remote. Otherwise a switch would make one itself, with all
  // writers waiting.
  void AwaitNextLog() ABSL_LOCKS_EXCLUDED(commit_mutex_);
  // Makes the family's active memtable immutable, and those of other families that need too many logs. Does nothing if
  // it is empty.
  absl::Status SwitchMemtable(const FamilyRef& family) noexcept ABSL_LOCKS_EXCLUDED(commit_mutex_);
  // The same for all families at once; `look` is called before any later write, with the last sequence number.
  absl::Status SwitchAll(const std::function<void(SequenceNumber last)>& look) noexcept
      ABSL_LOCKS_EXCLUDED(commit_mutex_);

 private:
  absl::Status Closed() const;
  static absl::Status NoSequenceNumbersLeft(SequenceNumber last);
  // If a family keeps its history and a time mark is due, logs it before the batch that is to be written, together with
  // the deletion of marks that no reader needs any more.
  absl::Status CheckForEpoch(const Family& family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status SetEpoch(Family* family, std::string_view epoch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status MarkTime() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Writes rows of the system family, as a batch of their own.
  absl::Status WriteRows(std::string_view batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Returns the lowest floor of all histories.
  SequenceNumber LowestFloor() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // What the writer must do after the commit of its batch.
  struct Aftermath {
    bool collect = false;  // memory is to be freed: superseded range tombstones, or old views
    Features enable = {};  // if any: nothing was written, because the manifest must record these features first
  };
  // Does everything but the sync. `end` is the batch's end in the log.
  absl::Status Commit(std::string_view batch, const WriteOptions& options, CommitTerms* terms, LogPosition* end,
                      Aftermath* aftermath) ABSL_LOCKS_EXCLUDED(commit_mutex_);
  // Returns the outcome of `terms` for a batch that would be written now. `locks`: transactions hold locks.
  CommitOutcome Allows(const CommitTerms& terms, bool locks) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Notifies the watches, when the batch is visible. `own`: the watch that it was written under, or null.
  void TellWatches(std::string_view batch, const CommitWatch* own) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status WriteNothing(bool sync, CommitTerms* terms) noexcept ABSL_LOCKS_EXCLUDED(commit_mutex_);
  // Checks a batch before anything of it is written.
  absl::Status Prepare(std::string_view batch) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  void Insert(std::string_view batch, SequenceNumber first) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // A family and its active memtable, which only this pipeline replaces.
  struct Target {
    FamilyRef family;
    std::shared_ptr<MemTable> active;
    bool unlogged = false;  // `active` has entries that are in no log
  };

  // An entry of the current batch, ready to be inserted.
  struct Prepared {
    BatchEntry entry;
    Target* target;
    uint64_t hash;
    InsertHint hint;
  };
  // The rest of a larger batch is parsed again, because prefetched lines must still be in the cache at their insertion.
  static constexpr size_t kMostPrepared = 256;

  // Appends to the log. Ends all writing if the log fails for good.
  absl::StatusOr<LogPosition> Append(SequenceNumber first, std::string_view batch)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Begins a new log and returns its number.
  absl::StatusOr<FileNumber> NewLog() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Starts making the next log, unless there is one.
  absl::Status PrepareLog() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Prepares what a switch of memtables will need.
  absl::Status PrepareSwitch() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Returns the only user family whose memtable is not empty; null if there are none or several.
  const Target* OnlyOneWritten() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  struct EarlySwitch {
    bool soon = false;
    bool now = false;
  };
  // Returns whether to switch before any memtable is full (db/decide/writing/early_flush.h).
  EarlySwitch EarlySwitchDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status MakeRoom(size_t batch_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // With Options::large_batches, switches full memtables after a large batch.
  void FlushBehind(size_t batch_bytes) ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  size_t ActiveBytes() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  absl::Status SwitchFullMemtables() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Lets memtables free entries that no reader needs, once enough of them were superseded.
  void ReleaseSuperseded() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Begins one new log for all `targets`. `early`: before memtables are full.
  absl::Status Switch(std::span<Target* const> targets, bool early = false)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // The part of a switch in memory: the memtables of `targets` become immutable, and all memtables that are empty now
  // need no log before `log`.
  void Replace(std::span<Target* const> targets, LogPosition log_end, FileNumber log, bool early = false)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Returns the memtables that are not empty, by the oldest log that they need, then by size.
  std::vector<Target*> TargetsByAge() ABSL_EXCLUSIVE_LOCKS_REQUIRED(commit_mutex_);
  // Returns whether the live logs that `target` needs are more, or larger, than one family may keep.
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
  const bool far_;  // the log's storage is remote (Capabilities::remote)
  // Bytes of batches since the memtables were last measured.
  size_t unchecked_bytes_ ABSL_GUARDED_BY(commit_mutex_) = 0;
  bool views_renewed_ ABSL_GUARDED_BY(commit_mutex_) = false;  // the old ones are still to be freed
  SequenceNumber last_ ABSL_GUARDED_BY(commit_mutex_);
  // The first entries of the current batch. They are built in place, because moving them would wait for their own
  // stores. The last slot is for entries that are checked now and parsed again later.
  std::array<Prepared, kMostPrepared + 1> prepared_ ABSL_GUARDED_BY(commit_mutex_);
  size_t prepared_count_ ABSL_GUARDED_BY(commit_mutex_) = 0;
  // The features that the current batch needs, except for those that a schema or value file enables.
  Features needs_ ABSL_GUARDED_BY(commit_mutex_);
  // Whether the current batch has entries of several families.
  bool several_families_ ABSL_GUARDED_BY(commit_mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(commit_mutex_) = false;
  std::vector<CommitWatch*> watches_ ABSL_GUARDED_BY(commit_mutex_);
  std::atomic<int> lock_users_{0};
};

}  // namespace sepal

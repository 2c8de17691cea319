// One column family of an open database: its options, the view that readers load, and what the database mutex guards.
//
// Constant fields may be read by anyone. `view` is for readers, inside an epoch guard. Everything else is guarded by
// the database mutex. The result of the last look for work is kept in `need` until a change that could alter it; only
// then does the next look visit the family's tables, plans and memtables again.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "db/decide/pacing/read_demand.h"
#include "db/decide/pacing/schedule.h"
#include "db/decide/visibility/entry_filter.h"
#include "db/decide/writing/early_flush.h"
#include "db/engine/core/database_mutex.h"
#include "db/engine/core/family_history.h"
#include "db/engine/core/log_pins.h"
#include "db/engine/core/range_deletes.h"
#include "db/state/version/dead_ranges.h"
#include "db/state/version/read_view.h"
#include "db/state/version/tuning.h"
#include "sepal/options.h"
#include "table/key/internal_key.h"
#include "util/base/numbers.h"
#include "util/thread/epoch.h"

namespace sepal {

// A memtable that takes no more writes and waits for its flush.
struct ImmutableMemTable {
  std::shared_ptr<const MemTable> memtable = {};
  // The log's end when the last entry had been written, and the last update of any family at that time.
  LogPosition log_end;
  SequenceNumber log_last;
  // The oldest log that holds any of its entries.
  FileNumber first_log = {};  // pinned
  bool unlogged = false;      // it holds updates that no log holds
  bool early = false;         // it was switched before it was full
  // The run that its flush writes; unset until a flush has taken it.
  std::optional<RunNumber> run = {};
};

// The sequence number up to which all readers see.
class SettledReaders {
 public:
  // Every reader that is inside an epoch guard, or enters one, sees all updates up to this number.
  SequenceNumber settled() const { return SequenceNumber(settled_->load(std::memory_order_acquire)); }
  // Returns a callback for the epochs, to be called when every reader inside a guard began after `published` was
  // visible.
  std::function<void()> Settler(SequenceNumber published) const {
    return [settled = settled_, published] {
      uint64_t before = settled->load(std::memory_order_relaxed);
      while (before < published.value() && !settled->compare_exchange_weak(before, published.value())) {
      }
    };
  }

 private:
  const std::shared_ptr<std::atomic<uint64_t>> settled_ = std::make_shared<std::atomic<uint64_t>>(0);
};

// The epochs of one family's filter, all of them durable.
class FilterHistory : public SettledReaders {
 public:
  // Null if none was set. Valid only inside an epoch guard, and to be loaded after the sequence number that the reader
  // reads at.
  const FilterEpochs* now() const { return now_.load(std::memory_order_seq_cst); }
  const FilterEpochsRef& current() const REQUIRES_STATE_LOCK { return current_; }
  // To be called before the newest epoch is visible.
  void Publish(FilterEpochsRef epochs, EpochDomain* domain) REQUIRES_STATE_LOCK {
    now_.store(epochs.get(), std::memory_order_seq_cst);
    FilterEpochsRef old = std::exchange(current_, std::move(epochs));
    if (old != nullptr) domain->Defer([old = std::move(old)]() mutable { old.reset(); });
  }

 private:
  std::atomic<const FilterEpochs*> now_{nullptr};
  FilterEpochsRef current_ ABSL_GUARDED_BY(database_mutex);
};

class Family {
 public:
  // `schema` is made by MakeSchema; `marks` must outlive the family. The options may lack what the schema names.
  Family(ColumnFamilyId family_id, std::string family_name, ColumnFamilyOptions family_options,
         CompactionPolicy compaction_policy, const FamilySchema& schema, TimeMarkList* marks)
      : id(family_id),
        name(std::move(family_name)),
        options(std::move(family_options)),
        merge_operator_name(schema.merge_operator),
        filter_name(schema.filter),
        order(options.comparator),
        policy(compaction_policy),
        history(schema, marks),
        dead_ranges(order) {}

  const ColumnFamilyId id;
  const std::string name;
  const ColumnFamilyOptions options;
  const std::string merge_operator_name;  // empty if the family has no merges
  const std::string filter_name;          // empty if it has no filter
  const KeyOrder order;
  const CompactionPolicy policy;
  mutable FamilyHistory history;  // jobs raise its floor
  // Ranges in which new readers see nothing.
  DeadRanges dead_ranges;
  RangeDeletes range_deletes;
  FilterHistory filter_history;

  // Whether a read needs more than a key's newest update, because of range tombstones or a filter. Set before the first
  // of either is visible, and never unset.
  bool reads_ask_more() const { return reads_ask_more_.load(std::memory_order_relaxed); }
  void BeginRangeDeletes() {
    range_deletes.Begin();
    reads_ask_more_.store(true, std::memory_order_relaxed);
  }
  // `epochs` is not empty; all of them are durable, and the newest is not visible yet.
  void SetFilterEpochs(std::vector<FilterEpoch> epochs, EpochDomain* domain) REQUIRES_STATE_LOCK;
  // Returns the filter for a job that has taken `snapshots` (RetentionOptions), or null if nothing is filtered for
  // good.
  std::unique_ptr<const StripeFilter> FilterForJob(std::span<const SequenceNumber> snapshots) const REQUIRES_STATE_LOCK;
  FamilySchema Schema() const REQUIRES_STATE_LOCK;

  // The largest number of operands that a read had to combine for one key.
  uint64_t longest_merge_chain() const { return longest_merge_chain_.load(std::memory_order_relaxed); }
  void NoteMergeChain(uint64_t operands) const {
    uint64_t longest = longest_merge_chain();
    while (operands > longest && !longest_merge_chain_.compare_exchange_weak(longest, operands)) {
    }
  }

  // True once its drop is durable and it has left EngineState::families.
  bool dropped() const { return dropped_.load(std::memory_order_acquire); }
  // FailedPrecondition once it is dropped.
  absl::Status CheckThere() const;

  // Returns the current view, or null once the family is dropped. Valid only inside an epoch guard.
  const ReadView* view() const { return view_.load(std::memory_order_seq_cst); }

  // --- memtables and tables ---

  const std::shared_ptr<const ReadView>& current() const REQUIRES_STATE_LOCK { return current_; }
  const std::shared_ptr<MemTable>& active() const REQUIRES_STATE_LOCK { return current_->active; }
  const std::shared_ptr<const Version>& version() const REQUIRES_STATE_LOCK { return current_->version; }
  // Returns the immutable memtables, oldest first.
  const std::deque<ImmutableMemTable>& immutables() const REQUIRES_STATE_LOCK { return immutables_; }
  // Every entry at or below this is in a table.
  SequenceNumber flushed_through() const REQUIRES_STATE_LOCK { return flushed_through_; }
  // The oldest log that may hold entries of the active memtable; pinned while the family exists.
  FileNumber active_first_log() const REQUIRES_STATE_LOCK { return active_first_log_; }
  size_t ImmutableBytes() const REQUIRES_STATE_LOCK;
  size_t ImmutableDataBytes() const REQUIRES_STATE_LOCK;
  // Returns whether no entry is in memory only.
  bool AtRest() const REQUIRES_STATE_LOCK { return active()->empty() && immutables_.empty(); }

  // Publishes the first view, of what was recovered.
  void Open(std::shared_ptr<MemTable> active, std::shared_ptr<const Version> version, SequenceNumber flushed_through,
            EpochDomain* epochs) REQUIRES_STATE_LOCK;
  // Declares that the active memtable, which is empty, needs no log before `log`; if that is 0, it needs none at all.
  void BeginLog(FileNumber log, LogPins* pins) REQUIRES_STATE_LOCK { pins->Move(&active_first_log_, log); }
  // Makes the active memtable immutable, and `fresh` the active one. BeginLog must follow.
  void SwitchMemtable(ImmutableMemTable immutable, std::shared_ptr<MemTable> fresh,
                      EpochDomain* epochs) REQUIRES_STATE_LOCK;
  // Replaces the current view by an equal one, whose readers all read at or above `visible`, the newest visible
  // sequence number. Returns what is known of the readers of earlier views, except for snapshots.
  MemTableReaders RenewView(SequenceNumber visible, EpochDomain* epochs) REQUIRES_STATE_LOCK;
  // Replaces the version, after an edit.
  void SetVersion(std::shared_ptr<const Version> version, EpochDomain* epochs) REQUIRES_STATE_LOCK;
  // Adopts the state of a database that another process writes. Readers of earlier views are not disturbed.
  void Adopt(std::shared_ptr<MemTable> active, std::shared_ptr<const Version> version, SequenceNumber flushed_through,
             EpochDomain* epochs) REQUIRES_STATE_LOCK;
  // Called as its drop becomes durable: new readers find no view, and the current one becomes empty. Readers that hold
  // a view keep it.
  void Drop(LogPins* pins, EpochDomain* epochs) REQUIRES_STATE_LOCK;

  // --- flushes: each is scheduled, takes memtables and may put them back, repeatedly, then ends ---

  int flushes_waiting() const REQUIRES_STATE_LOCK { return flushes_waiting_; }
  int flushes_running() const REQUIRES_STATE_LOCK { return flushes_running_; }
  // The last run that a flush has installed since the database was opened.
  RunNumber newest_flushed() const REQUIRES_STATE_LOCK { return newest_flushed_; }
  // Unset if there was no flush since the database was opened.
  const std::optional<LastFlush>& last_flush() const REQUIRES_STATE_LOCK { return last_flush_; }
  // Returns whether some memtable was taken by no flush, and the bytes of all such memtables.
  bool AwaitsFlush() const REQUIRES_STATE_LOCK;
  size_t BytesAwaitingFlush() const REQUIRES_STATE_LOCK;
  bool RangesAwaitFlush() const REQUIRES_STATE_LOCK;

  void ScheduleFlush() REQUIRES_STATE_LOCK;
  // Takes the waiting memtables, up to the first that is taken already, for a flush that writes `run`, which is newer
  // than the runs of all earlier calls. Takes none if `gives_up`.
  std::vector<ImmutableMemTable> TakeForFlush(RunNumber run, bool gives_up) REQUIRES_STATE_LOCK;
  // Removes the oldest `count` memtables, whose updates up to `through` are in tables of `run`. SetVersion must follow.
  void InstallFlush(size_t count, SequenceNumber through, RunNumber run, LogPins* pins) REQUIRES_STATE_LOCK;
  // Makes those that were taken for `run`, and are not in tables, wait again.
  void PutBack(RunNumber run) REQUIRES_STATE_LOCK;
  // `written` is unset if the flush wrote nothing.
  void EndFlush(const std::optional<LastFlush>& written) REQUIRES_STATE_LOCK;

  // --- compactions ---

  const std::vector<PlanRef>& running() const REQUIRES_STATE_LOCK { return running_; }
  const std::vector<CompactionPutOff>& put_off() const REQUIRES_STATE_LOCK { return put_off_; }
  const RangeCalls& ranges() const REQUIRES_STATE_LOCK { return ranges_; }

  // `of_range` says that CompactRange asked for it, not the background. `demand`: what readers have asked for by now.
  void BeginCompaction(PlanRef plan, bool of_range) REQUIRES_STATE_LOCK;
  void EndCompaction(const PlanRef& plan, uint64_t demand, bool of_range) REQUIRES_STATE_LOCK;
  void DeferCompaction(PlanRef plan, absl::Status damage) REQUIRES_STATE_LOCK;
  // Counts a CompactRange that waits for plans to end.
  void BeginRangeWait() REQUIRES_STATE_LOCK { ++ranges_.waiting; }
  void EndRangeWait() REQUIRES_STATE_LOCK;

  // --- sketches of the tables of earlier openings ---

  bool sketches_sought() const REQUIRES_STATE_LOCK { return sketches_sought_; }
  void BeginSketches() REQUIRES_STATE_LOCK;
  void EndSketches() REQUIRES_STATE_LOCK;

  // --- values in files of their own ---

  // The collection of value files, common to all families; null if there are none, or nothing is to be moved.
  const ValueCollectionRef& collection() const REQUIRES_STATE_LOCK { return collection_; }
  void SetCollection(ValueCollectionRef collection) REQUIRES_STATE_LOCK;

  // --- what is due ---

  // Returns the state above for the decision rules; valid until the next change.
  FamilyFacts Facts() const REQUIRES_STATE_LOCK;
  // The result of the last look for work; unset if something has changed since.
  const std::optional<FamilyNeed>& need() const REQUIRES_STATE_LOCK { return need_; }
  // Looks for work again. The readers of all families had asked for `before` at the last look, and have for `now`; each
  // family counts an equal part of that for its tree.
  void FindNeed(uint64_t before, uint64_t now, size_t families) REQUIRES_STATE_LOCK;
  // Notes that the picker found nothing (FamilyNeed::may_compact). `need` must be set.
  void NoteNothingToCompact(std::optional<SequenceNumber> held_by) REQUIRES_STATE_LOCK;

 private:
  // Makes the view of `active`, the immutables and `version` the current one. All its readers read at or above `since`.
  void Publish(std::shared_ptr<MemTable> active, std::shared_ptr<const Version> version, EpochDomain* epochs,
               SequenceNumber since = {}) REQUIRES_STATE_LOCK;
  std::shared_ptr<ViewLife> NewViewLife(SequenceNumber since) REQUIRES_STATE_LOCK;
  void Replace(std::shared_ptr<const ReadView> next, const ReadView* seen, EpochDomain* epochs) REQUIRES_STATE_LOCK;

  std::atomic<bool> dropped_{false};
  std::atomic<bool> reads_ask_more_{false};
  std::atomic<const ReadView*> view_{nullptr};
  mutable std::atomic<uint64_t> longest_merge_chain_{0};
  std::shared_ptr<const ReadView> current_ ABSL_GUARDED_BY(database_mutex);
  // The lives of the current view and of earlier ones that are still held; oldest first.
  std::vector<std::shared_ptr<ViewLife>> views_ ABSL_GUARDED_BY(database_mutex);
  uint64_t views_made_ ABSL_GUARDED_BY(database_mutex) = 0;
  std::deque<ImmutableMemTable> immutables_ ABSL_GUARDED_BY(database_mutex);
  SequenceNumber flushed_through_ ABSL_GUARDED_BY(database_mutex);
  FileNumber active_first_log_ ABSL_GUARDED_BY(database_mutex);
  int flushes_waiting_ ABSL_GUARDED_BY(database_mutex) = 0;
  int flushes_running_ ABSL_GUARDED_BY(database_mutex) = 0;
  RunNumber newest_flushed_ ABSL_GUARDED_BY(database_mutex);
  std::optional<LastFlush> last_flush_ ABSL_GUARDED_BY(database_mutex);
  std::vector<PlanRef> running_ ABSL_GUARDED_BY(database_mutex);
  std::vector<CompactionPutOff> put_off_ ABSL_GUARDED_BY(database_mutex);
  RangeCalls ranges_ ABSL_GUARDED_BY(database_mutex);
  bool sketches_running_ ABSL_GUARDED_BY(database_mutex) = false;
  bool sketches_sought_ ABSL_GUARDED_BY(database_mutex) = false;
  ValueCollectionRef collection_ ABSL_GUARDED_BY(database_mutex);
  ReadWatch reads_ ABSL_GUARDED_BY(database_mutex);  // for level 0
  ReadWatch tree_reads_ ABSL_GUARDED_BY(database_mutex){0};
  std::optional<FamilyNeed> need_ ABSL_GUARDED_BY(database_mutex);
};

using FamilyRef = std::shared_ptr<Family>;

// InvalidArgument: a merge was written to a family without an operator.
absl::Status HasNoMergeOperator(const Family& family);

// Returns the shape of the tree of a family with these options.
CompactionPolicy PolicyFor(const ColumnFamilyOptions& options, const Tuning& tuning);

}  // namespace sepal

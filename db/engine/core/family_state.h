// One column family of an open database: its options, the view that readers load, and what the database mutex guards.
//
// Constant fields may be read by anyone. `view` is for readers, inside an epoch guard. Everything else is guarded by
// the database mutex. A look for work keeps what it found here (`need`), and whatever changes what that follows from
// drops it: no other reason sends a look to the family's tables, plans and memtables.
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
  // The log's end when the last entry had been written, and the last update of any family then.
  LogPosition log_end;
  SequenceNumber log_last;
  // The oldest log that holds any of its entries.
  FileNumber first_log = {};  // pinned
  bool unlogged = false;      // it holds what no log holds
  bool early = false;         // it was switched before memtables were full
  // The run that it becomes; none: no flush has taken it.
  std::optional<RunNumber> run = {};
};

// Up to where all readers see.
class SettledReaders {
 public:
  // Every reader that is inside an epoch guard, or enters one, sees all updates up to here.
  SequenceNumber settled() const { return SequenceNumber(settled_->load(std::memory_order_acquire)); }
  // For the epochs to call once no reader is inside that began before `published` was visible.
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

// Of one family: the epochs of its filter, all of them durable.
class FilterHistory : public SettledReaders {
 public:
  // Null: none was set. Inside an epoch guard only, and no longer than it, after the sequence number was loaded that
  // the reader reads at.
  const FilterEpochs* now() const { return now_.load(std::memory_order_seq_cst); }
  const FilterEpochsRef& current() const REQUIRES_STATE_LOCK { return current_; }
  // Before the newest of them is visible.
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
  // `schema`: as MakeSchema makes it; `marks` must outlive the family. The options may lack what it names.
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
  const std::string merge_operator_name;  // empty: the family has no merges
  const std::string filter_name;          // empty: it has no filter
  const KeyOrder order;
  const CompactionPolicy policy;
  mutable FamilyHistory history;  // jobs raise its floor
  // Where nothing is visible to new readers.
  DeadRanges dead_ranges;
  RangeDeletes range_deletes;
  FilterHistory filter_history;

  // Whether a read must ask for more than a key's newest update: for range tombstones, or the filter's word. Set before
  // the first of either is visible, and for good.
  bool reads_ask_more() const { return reads_ask_more_.load(std::memory_order_relaxed); }
  void BeginRangeDeletes() {
    range_deletes.Begin();
    reads_ask_more_.store(true, std::memory_order_relaxed);
  }
  // Not empty; all of them durable, and the newest not visible yet.
  void SetFilterEpochs(std::vector<FilterEpoch> epochs, EpochDomain* domain) REQUIRES_STATE_LOCK;
  // What a job asks that has taken `snapshots` (RetentionOptions): null if nothing is refused for good.
  std::unique_ptr<const StripeFilter> FilterForJob(std::span<const SequenceNumber> snapshots) const REQUIRES_STATE_LOCK;
  FamilySchema Schema() const REQUIRES_STATE_LOCK;

  // The most operands of one key's merges that a read had to combine.
  uint64_t longest_merge_chain() const { return longest_merge_chain_.load(std::memory_order_relaxed); }
  void NoteMergeChain(uint64_t operands) const {
    uint64_t longest = longest_merge_chain();
    while (operands > longest && !longest_merge_chain_.compare_exchange_weak(longest, operands)) {
    }
  }

  // Its drop is durable, and it has left EngineState::families.
  bool dropped() const { return dropped_.load(std::memory_order_acquire); }
  // FailedPrecondition once it is dropped.
  absl::Status CheckThere() const;

  // The view as of now; null once the family is dropped. Inside an epoch guard only, and no longer than it.
  const ReadView* view() const { return view_.load(std::memory_order_seq_cst); }

  // --- memtables and tables ---

  const std::shared_ptr<const ReadView>& current() const REQUIRES_STATE_LOCK { return current_; }
  const std::shared_ptr<MemTable>& active() const REQUIRES_STATE_LOCK { return current_->active; }
  const std::shared_ptr<const Version>& version() const REQUIRES_STATE_LOCK { return current_->version; }
  // Oldest first.
  const std::deque<ImmutableMemTable>& immutables() const REQUIRES_STATE_LOCK { return immutables_; }
  // Every entry at or below this is in a table.
  SequenceNumber flushed_through() const REQUIRES_STATE_LOCK { return flushed_through_; }
  // The oldest log that may hold entries of the active memtable; pinned while the family is there.
  FileNumber active_first_log() const REQUIRES_STATE_LOCK { return active_first_log_; }
  size_t ImmutableBytes() const REQUIRES_STATE_LOCK;
  size_t ImmutableDataBytes() const REQUIRES_STATE_LOCK;
  // Nothing of it is in memory alone.
  bool AtRest() const REQUIRES_STATE_LOCK { return active()->empty() && immutables_.empty(); }

  // Gives it its first view, of what was recovered.
  void Open(std::shared_ptr<MemTable> active, std::shared_ptr<const Version> version, SequenceNumber flushed_through,
            EpochDomain* epochs) REQUIRES_STATE_LOCK;
  // The active memtable, which is empty, needs no log before `log`; none at all where that is 0.
  void BeginLog(FileNumber log, LogPins* pins) REQUIRES_STATE_LOCK { pins->Move(&active_first_log_, log); }
  // The active memtable, as which `fresh` follows, becomes immutable. BeginLog must follow.
  void SwitchMemtable(ImmutableMemTable immutable, std::shared_ptr<MemTable> fresh,
                      EpochDomain* epochs) REQUIRES_STATE_LOCK;
  // Replaces the current view by an equal one, whose readers all read at or above `visible`, the newest sequence number
  // that is visible now. Returns what is known of the readers of earlier views, without snapshots.
  MemTableReaders RenewView(SequenceNumber visible, EpochDomain* epochs) REQUIRES_STATE_LOCK;
  // After an edit.
  void SetVersion(std::shared_ptr<const Version> version, EpochDomain* epochs) REQUIRES_STATE_LOCK;
  // Of a database that another process writes: what it has come to. Readers of earlier views are not disturbed.
  void Adopt(std::shared_ptr<MemTable> active, std::shared_ptr<const Version> version, SequenceNumber flushed_through,
             EpochDomain* epochs) REQUIRES_STATE_LOCK;
  // As its drop becomes durable: no reader finds a view any more, and the current one is empty. Readers that have one
  // keep it.
  void Drop(LogPins* pins, EpochDomain* epochs) REQUIRES_STATE_LOCK;

  // --- flushes: scheduled, then with memtables and without by turns, then ended ---

  int flushes_waiting() const REQUIRES_STATE_LOCK { return flushes_waiting_; }
  int flushes_running() const REQUIRES_STATE_LOCK { return flushes_running_; }
  // The last run that a flush of this opening has installed.
  RunNumber newest_flushed() const REQUIRES_STATE_LOCK { return newest_flushed_; }
  // None: no flush since the database was opened.
  const std::optional<LastFlush>& last_flush() const REQUIRES_STATE_LOCK { return last_flush_; }
  // Whether no flush has taken some memtable, and the bytes of all such.
  bool AwaitsFlush() const REQUIRES_STATE_LOCK;
  size_t BytesAwaitingFlush() const REQUIRES_STATE_LOCK;
  bool RangesAwaitFlush() const REQUIRES_STATE_LOCK;

  void ScheduleFlush() REQUIRES_STATE_LOCK;
  // The memtables that wait, up to the first that does not: `run`, above all runs that others were taken for, is made
  // of them. None where `gives_up`.
  std::vector<ImmutableMemTable> TakeForFlush(RunNumber run, bool gives_up) REQUIRES_STATE_LOCK;
  // The oldest `count` memtables, up to `through`, are in tables of `run`. SetVersion is to follow.
  void InstallFlush(size_t count, SequenceNumber through, RunNumber run, LogPins* pins) REQUIRES_STATE_LOCK;
  // Those that were taken for `run` and are not in tables wait again.
  void PutBack(RunNumber run) REQUIRES_STATE_LOCK;
  // None: it wrote nothing.
  void EndFlush(const std::optional<LastFlush>& written) REQUIRES_STATE_LOCK;

  // --- compactions ---

  const std::vector<PlanRef>& running() const REQUIRES_STATE_LOCK { return running_; }
  const std::vector<CompactionPutOff>& put_off() const REQUIRES_STATE_LOCK { return put_off_; }
  const RangeCalls& ranges() const REQUIRES_STATE_LOCK { return ranges_; }

  // `of_range`: of a CompactRange, not of the background's own. `demand`: what readers have asked for by now.
  void BeginCompaction(PlanRef plan, bool of_range) REQUIRES_STATE_LOCK;
  void EndCompaction(const PlanRef& plan, uint64_t demand, bool of_range) REQUIRES_STATE_LOCK;
  void DeferCompaction(PlanRef plan, absl::Status damage) REQUIRES_STATE_LOCK;
  // A CompactRange waits for plans to end, or waits no more.
  void BeginRangeWait() REQUIRES_STATE_LOCK { ++ranges_.waiting; }
  void EndRangeWait() REQUIRES_STATE_LOCK;

  // --- sketches of the tables of earlier openings ---

  bool sketches_sought() const REQUIRES_STATE_LOCK { return sketches_sought_; }
  void BeginSketches() REQUIRES_STATE_LOCK;
  void EndSketches() REQUIRES_STATE_LOCK;

  // --- values in files of their own ---

  // Of all families; null: none has any, or nothing is to be moved.
  const ValueCollectionRef& collection() const REQUIRES_STATE_LOCK { return collection_; }
  void SetCollection(ValueCollectionRef collection) REQUIRES_STATE_LOCK;

  // --- what is due ---

  // What everything above comes to, for deciders; valid until the next change.
  FamilyFacts Facts() const REQUIRES_STATE_LOCK;
  // What the last look found; none: something has changed since.
  const std::optional<FamilyNeed>& need() const REQUIRES_STATE_LOCK { return need_; }
  // Finds it anew. Readers of all families had asked for `before` at the last look, and have for `now`; each counts for
  // an equal part of what is asked of trees.
  void FindNeed(uint64_t before, uint64_t now, size_t families) REQUIRES_STATE_LOCK;
  // The picker has found nothing (FamilyNeed::may_compact). There is a need.
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
  // Of the current view and those before it that are still held; the oldest first.
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
  ReadWatch reads_ ABSL_GUARDED_BY(database_mutex);  // of level 0
  ReadWatch tree_reads_ ABSL_GUARDED_BY(database_mutex){0};
  std::optional<FamilyNeed> need_ ABSL_GUARDED_BY(database_mutex);
};

using FamilyRef = std::shared_ptr<Family>;

// InvalidArgument: a merge of a family that has no operator.
absl::Status HasNoMergeOperator(const Family& family);

// How the tree of a family with these options is shaped.
CompactionPolicy PolicyFor(const ColumnFamilyOptions& options, const Tuning& tuning);

}  // namespace sepal

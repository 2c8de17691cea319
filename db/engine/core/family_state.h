// One column family of an open database: its options, and the view that readers load.
//
// Constant fields may be read by anyone. `view` is for readers, inside an epoch guard. The rest belongs to the database
// mutex.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "db/decide/compaction/compaction_picker.h"
#include "db/decide/writing/early_flush.h"
#include "db/state/version/read_view.h"
#include "db/state/version/tuning.h"
#include "sepal/options.h"
#include "table/key/internal_key.h"
#include "util/base/numbers.h"
#include "util/thread/epoch.h"

namespace sepal {

// A memtable that takes no more writes and waits for its flush.
struct ImmutableMemTable {
  std::shared_ptr<const MemTable> memtable;
  // The log's end when the last entry had been written, and the last update of any family then.
  LogPosition log_end;
  SequenceNumber log_last;
  // The oldest log that holds any of its entries (db/engine/catalog/log_pins.h).
  FileNumber first_log;
  bool unlogged = false;  // it holds what no log holds
  bool early = false;     // it was switched before memtables were full
  // The run that it becomes; none: no flush has taken it.
  std::optional<RunNumber> run = {};
};

// Of one family; an early one begins only while fewer run of all. While one is synced and installed another is written.
inline constexpr int kFlushesAtATime = 2;

struct CompactionPutOff {
  std::shared_ptr<const CompactionPlan> plan;
  absl::Status damage;
};

// What a look for work (Background::Schedule) finds in one family. It follows from the family's fields, from what
// readers ask for and from the oldest snapshot.
struct FamilyNeed {
  // For the throttle (db/decide/pacing/throttle.h).
  int level0_runs = 0;
  uint64_t debt_bytes = 0;
  // Readers have come to more runs than would have been left for them.
  bool readers_wait = false;
  // A flush, or a job that reads sketches, is to be started.
  bool flush = false;
  bool sketches = false;
  // How full the fullest level is that no compaction takes from already.
  double score = 0;
  // What readers must have asked for before it is another need (db/decide/pacing/read_demand.h); kNoDemand: anything.
  static constexpr uint64_t kNoDemand = UINT64_MAX;
  uint64_t demand_due = kNoDemand;
  // False: the picker had nothing, and has nothing until the oldest snapshot is another than `held_by`. None: whatever
  // snapshots there are.
  bool may_merge = true;
  std::optional<SequenceNumber> held_by = {};
};

class Family {
 public:
  Family(ColumnFamilyId family_id, std::string family_name, ColumnFamilyOptions family_options,
         CompactionPolicy compaction_policy)
      : id(family_id),
        name(std::move(family_name)),
        options(std::move(family_options)),
        order(options.comparator),
        policy(compaction_policy) {}

  const ColumnFamilyId id;
  const std::string name;
  const ColumnFamilyOptions options;
  const KeyOrder order;
  const CompactionPolicy policy;

  // Set with the database mutex held, as the family leaves EngineState::families: its drop is durable.
  std::atomic<bool> dropped{false};
  // FailedPrecondition once it is dropped.
  absl::Status CheckThere() const;

  // The view as of now; null once the family is dropped. Inside an epoch guard only, and no longer than it.
  const ReadView* view() const { return view_.load(std::memory_order_seq_cst); }

  // --- with the database mutex held ---

  const std::shared_ptr<const ReadView>& current() const { return current_; }
  const std::shared_ptr<MemTable>& active() const { return current_->active; }
  const std::shared_ptr<const Version>& version() const { return current_->version; }
  // Makes the view of `active`, the immutables below and `version` the current one.
  void Publish(std::shared_ptr<MemTable> active, std::shared_ptr<const Version> version, EpochDomain* epochs);
  // As the family is dropped: no reader finds a view any more, and the current one is empty. Those who read keep
  // theirs.
  void Withdraw(EpochDomain* epochs);

  // Oldest first.
  std::deque<ImmutableMemTable> immutables;
  // Every entry at or below this is in a table.
  SequenceNumber flushed_through;
  // The oldest log that may hold entries of the active memtable; pinned while the family is there.
  FileNumber active_first_log;
  // Flushes that have no memtables (scheduled, between two tries, or about to end), and those that have.
  int flushes_waiting = 0;
  int flushes_running = 0;
  // The last run that a flush of this opening has installed.
  RunNumber newest_flushed;
  // Since the database was opened.
  std::optional<LastFlush> last_flush;
  // A job reads the sketches of earlier openings' tables; it has ended.
  bool sketches_running = false;
  bool sketches_sought = false;
  // What the last look found. Whoever changes a field that it follows from, which are all of these, resets it: no other
  // reason sends a look to the family's tables, plans and memtables.
  std::optional<FamilyNeed> need;
  // What reads had asked for (db/decide/pacing/read_demand.h) when level 0 last had few runs; none: not since the
  // database was opened, and nothing is known of who reads. While it has few it is not kept, and the demand of the last
  // look counts.
  std::optional<uint64_t> demand_before;
  bool few_runs = false;
  // Readers have asked for a merge of level 0.
  bool level0_is_read = false;
  // Compactions that run now.
  std::vector<std::shared_ptr<const CompactionPlan>> running;
  // CompactRanges that wait for some of these, and those whose plan is one.
  int ranges_waiting = 0;
  int ranges_running = 0;
  // Background plans that began though a CompactRange waits, since the first of those did.
  int plans_passed = 0;
  // Compactions that met damage. Tried again they would meet the same, so they keep their tables, as running ones do,
  // until the database is opened anew.
  std::vector<CompactionPutOff> put_off;

  // `policy`, with what readers have asked for.
  CompactionPolicy PolicyNow() const;
  // Whether a compaction that runs takes from level 0.
  bool MergesLevel0() const;
  size_t ImmutableBytes() const;
  size_t ImmutableDataBytes() const;
  // Of memtables that no flush has taken.
  size_t BytesAwaitingFlush() const;
  bool AwaitsFlush() const;
  // Nothing of it is in memory alone.
  bool AtRest() const { return active()->empty() && immutables.empty(); }
  bool MayBeginFlush() const { return flushes_waiting == 0 && flushes_running < kFlushesAtATime; }
  // Those that wait, up to the first that does not: `run`, above all runs that others were taken for, is made of them.
  std::vector<ImmutableMemTable> TakeForFlush(RunNumber run);
  // They wait again.
  void PutBack(RunNumber run);

 private:
  void Replace(std::shared_ptr<const ReadView> next, const ReadView* seen, EpochDomain* epochs);

  std::shared_ptr<const ReadView> current_;
  std::atomic<const ReadView*> view_{nullptr};
};

using FamilyRef = std::shared_ptr<Family>;

// How the tree of a family with these options is shaped.
CompactionPolicy PolicyFor(const ColumnFamilyOptions& options, const Tuning& tuning);

}  // namespace sepal

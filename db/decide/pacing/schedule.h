// Decides which background work is due. Pure: facts of column families in, jobs out.
//
// A look for work finds the need of each family (`FindNeed`), which is a flush, a job that reads sketches or perhaps a
// compaction. Free slots for compactions are then given to the families that may have one (`ChooseCompactions`).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "db/decide/compaction/compaction_picker.h"

namespace sepal {

using PlanRef = std::shared_ptr<const CompactionPlan>;

// A compaction that met damage. A retry would meet it again, so the plan keeps its tables, like a running one, until
// the database is opened again.
struct CompactionPutOff {
  PlanRef plan;
  absl::Status damage;
};

// The number of concurrent flushes of one family; an early one begins only while fewer run in all families together.
// While one is synced and installed, another is written.
inline constexpr int kFlushesAtATime = 2;

// The CompactRange calls in one family.
struct RangeCalls {
  int waiting = 0;  // for running plans to end
  int running = 0;  // calls whose plan runs
  // The background's plans that began since the first of those waits.
  int plans_passed = 0;
};

// The state of one column family.
struct FamilyFacts {
  const Version* version = nullptr;
  // The policy without reads.
  const CompactionPolicy* policy = nullptr;
  // The demand of reads makes a compaction of level 0 due (read_demand.h).
  bool level0_is_read = false;
  // The same for all runs above the last level, into that one.
  bool tree_is_read = false;
  // Running compactions, and those that were put off.
  std::span<const PlanRef> running = {};
  std::span<const CompactionPutOff> put_off = {};
  RangeCalls ranges = {};
  // A memtable waits for a flush to take it.
  bool memtable_waits = false;
  // Flushes without memtables (scheduled, between two tries, or about to end), and flushes with memtables.
  int flushes_waiting = 0;
  int flushes_running = 0;
  // A flush has ended since the database was opened. Before that nothing is compacted at rest or to save space, so that
  // a process that only reads does not cause a compaction by opening a database.
  bool flushed = false;
  // No entry is in memory only.
  bool at_rest = false;
  // A job that reads the sketches of tables from earlier openings runs, or has ended.
  bool sketches_running = false;
  bool sketches_sought = false;
  const ValueCollection* values = nullptr;
  // For a family that keeps its history: the lowest sequence number of its readers, from the next job on.
  std::optional<SequenceNumber> history_floor = {};

  // Returns the sequence number below which no reader reads.
  SequenceNumber OldestReader(SequenceNumber oldest_snapshot) const {
    return history_floor.has_value() && *history_floor < oldest_snapshot ? *history_floor : oldest_snapshot;
  }
};

// The result of a look for work in one family.
struct FamilyNeed {
  // For the throttle (throttle.h).
  int level0_runs = 0;
  uint64_t debt_bytes = 0;
  // Readers meet more runs than is intended.
  bool readers_wait = false;
  // A flush, or a job that reads sketches, must be started.
  bool flush = false;
  bool sketches = false;
  // How full the fullest level is from which no compaction takes tables yet.
  double score = 0;
  // The demand of reads at which the need changes (ReadWatch).
  uint64_t demand_due = UINT64_MAX;
  uint64_t seeks_due = UINT64_MAX;  // the same for the demand that only iterators have for a tree
  // False if the picker found nothing, and will find nothing until the oldest snapshot differs from `held_by`; unset:
  // whatever snapshots there are.
  bool may_compact = true;
  std::optional<SequenceNumber> held_by = {};

  uint64_t NextDemand() const { return std::min(demand_due, seeks_due); }
  bool MayCompact(SequenceNumber oldest_snapshot) const {
    return may_compact || (held_by.has_value() && *held_by != oldest_snapshot);
  }
};

// Finds the need without `demand_due` and `seeks_due`, and before the picker is asked.
FamilyNeed FindNeed(const FamilyFacts& facts);

// Returns the policy, adjusted to the demand of reads.
CompactionPolicy PolicyNow(const FamilyFacts& facts);

// Makes the picker's input. `held`, which is filled, must outlive the result.
PickerInput MakePickerInput(const FamilyFacts& facts, SequenceNumber oldest_snapshot,
                            std::vector<const CompactionPlan*>* held);

// A family that may have a compaction, by the caller's index.
struct CompactionCandidate {
  size_t family = 0;
  double score = 0;
};

struct CompactionSlots {
  int free = 0;
  SequenceNumber oldest_snapshot = {};
  // Writers are slowed because compactions lag behind.
  bool compactions_lag = false;
  // A flush or a compaction waits for disk space.
  bool space_is_short = false;
};

struct CompactionChoice {
  struct Start {
    size_t family;
    PlanRef plan;
  };
  struct Idle {
    size_t family;
    std::optional<SequenceNumber> held_by;  // FamilyNeed::held_by
  };
  // In the order in which they are to begin.
  std::vector<Start> starts;
  // The families in which the picker found nothing, or nothing more.
  std::vector<Idle> idle;
};

// Chooses among those families while there are free slots: the one with the fullest level first, then the one with the
// lower index; each has one compaction before any has two. `facts_of` is called only for families whose turn comes;
// what it refers to must not change meanwhile.
CompactionChoice ChooseCompactions(std::vector<CompactionCandidate> candidates,
                                   const std::function<FamilyFacts(size_t family)>& facts_of,
                                   const CompactionSlots& slots);

// Returns whether the background must begin no compaction in the family, because a CompactRange waits until no plan is
// in its way. Otherwise a plan might always be in its way: the end of a job begins the next one before the waiting call
// wakes. If another CompactRange runs, or work waits for space, that may take so long that level 0 would fill up; then
// compactions continue. A few also continue if they lag so far behind that writers are slowed.
bool IsHeldBack(const RangeCalls& ranges, const CompactionSlots& slots);

}  // namespace sepal

// What background work is due. Pure: facts of column families in, jobs out.
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

// A compaction that met damage. Tried again it would meet the same, so it keeps its tables, as a running one does,
// until the database is opened anew.
struct CompactionPutOff {
  PlanRef plan;
  absl::Status damage;
};

// The flushes of one family at a time; an early one begins only while fewer run of all families together. While one is
// synced and installed another is written.
inline constexpr int kFlushesAtATime = 2;

// The CompactRange calls in one family.
struct RangeCalls {
  int waiting = 0;  // for running plans to end
  int running = 0;  // one of whose plans runs
  // Plans of the background's own that began since the first of those waits.
  int plans_passed = 0;
};

// What is known of one column family.
struct FamilyFacts {
  const Version* version = nullptr;
  // As long as nobody reads.
  const CompactionPolicy* policy = nullptr;
  // Readers have asked for a compaction of level 0 (read_demand.h).
  bool level0_is_read = false;
  // The same of all runs above the last level, into that one.
  bool tree_is_read = false;
  // Compactions that run now, and those that were put off.
  std::span<const PlanRef> running = {};
  std::span<const CompactionPutOff> put_off = {};
  RangeCalls ranges = {};
  // A memtable waits for a flush to take it.
  bool memtable_waits = false;
  // Flushes that have no memtables (scheduled, between two tries, or about to end), and those that have.
  int flushes_waiting = 0;
  int flushes_running = 0;
  // A flush has ended since the database was opened. Before that nothing is done for the sake of rest or space: a
  // process that only reads should not set off a compaction by opening a database.
  bool flushed = false;
  // Nothing is in memory alone.
  bool at_rest = false;
  // A job reads the sketches of tables of earlier openings; it has ended.
  bool sketches_running = false;
  bool sketches_sought = false;
  const ValueCollection* values = nullptr;
  // Of a family that keeps its history: where its oldest readers may stand, from the next job on.
  std::optional<SequenceNumber> history_floor = {};

  // Below which nobody looks.
  SequenceNumber OldestReader(SequenceNumber oldest_snapshot) const {
    return history_floor.has_value() && *history_floor < oldest_snapshot ? *history_floor : oldest_snapshot;
  }
};

// What a look for work finds in one family.
struct FamilyNeed {
  // For the throttle (throttle.h).
  int level0_runs = 0;
  uint64_t debt_bytes = 0;
  // Readers have come to more runs than would have been left for them.
  bool readers_wait = false;
  // A flush, or a job that reads sketches, is to be started.
  bool flush = false;
  bool sketches = false;
  // How full the fullest level is that no compaction takes from already.
  double score = 0;
  // What readers must have asked for before it is another need (ReadWatch).
  uint64_t demand_due = UINT64_MAX;
  uint64_t seeks_due = UINT64_MAX;  // the same of what only iterators ask of a tree
  // False: the picker had nothing, and has nothing until the oldest snapshot is another than `held_by`. None: whatever
  // snapshots there are.
  bool may_compact = true;
  std::optional<SequenceNumber> held_by = {};

  uint64_t NextDemand() const { return std::min(demand_due, seeks_due); }
  bool MayCompact(SequenceNumber oldest_snapshot) const {
    return may_compact || (held_by.has_value() && *held_by != oldest_snapshot);
  }
};

// All but `demand_due` and `seeks_due`, and before the picker is asked.
FamilyNeed FindNeed(const FamilyFacts& facts);

// The policy, with what readers have asked for.
CompactionPolicy PolicyNow(const FamilyFacts& facts);

// What the picker is asked. `held`, which is filled, must outlive the result.
PickerInput MakePickerInput(const FamilyFacts& facts, SequenceNumber oldest_snapshot,
                            std::vector<const CompactionPlan*>* held);

// A family that may have a compaction, as the caller counts them.
struct CompactionCandidate {
  size_t family = 0;
  double score = 0;
};

struct CompactionSlots {
  int free = 0;
  SequenceNumber oldest_snapshot = {};
  // Writers are slowed since compactions lag behind.
  bool compactions_lag = false;
  // A flush or a compaction waits for space on the disk.
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
  // Those in which the picker found nothing, or nothing more.
  std::vector<Idle> idle;
};

// Of those families, as long as there are free slots: the one whose level is fullest first, then the one that is
// counted first, and each has one compaction before any has another. `facts_of` is asked of those alone whose turn
// comes; what it refers to must not change meanwhile.
CompactionChoice ChooseCompactions(std::vector<CompactionCandidate> candidates,
                                   const std::function<FamilyFacts(size_t family)>& facts_of,
                                   const CompactionSlots& slots);

// Whether the background begins no compaction in the family, as long as a CompactRange waits until none of its plans is
// in the way. Else one might always be there: a job's end begins the next before any waiter wakes. Where another
// CompactRange runs, or work waits for space, that may take so long that level 0 would fill up; there the others go on.
// So do a few where compactions lag so far behind that writers are slowed.
bool IsHeldBack(const RangeCalls& ranges, const CompactionSlots& slots);

}  // namespace sepal

// Chooses the next compaction of one column family. Pure: the same arguments give the same plan.
//
// Laws:
//   - Tables of a running plan are never picked, and no two running plans write overlapping key ranges into one level.
//   - Age: a plan never takes an entry past an older entry of the same key. From a level of several runs it takes the
//     oldest runs, without a gap, or nothing; and nothing is put into a level while an older part of that data waits in
//     a running plan above.
//   - Progress: carrying out plans until kNothing, with no new data, ends.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "db/decide/compaction/compaction_plan.h"
#include "db/decide/compaction/compaction_policy.h"
#include "db/decide/compaction/value_collection.h"
#include "db/state/version/version.h"

namespace sepal {

struct PickerInput {
  const Version* version = nullptr;
  CompactionPolicy policy = {};
  // Adopted but unfinished plans.
  std::span<const CompactionPlan* const> running = {};
  // No reader reads below this: the oldest live snapshot, or the last published sequence number. Tables of the last
  // level are rewritten for their tombstones only if none of them is newer.
  SequenceNumber oldest_snapshot = {};
  // There are no writes, and everything is in tables.
  bool at_rest = false;
  // Reads have cost as much as rewriting into one run would (read_demand.h).
  bool is_read = false;
  // The sketches of all tables have been sought. Before that, nothing is compacted to save space.
  bool sketches_sought = true;
  // Common to all families; null if no family has separated values.
  const ValueCollection* values = nullptr;
};

CompactionPlan PickCompaction(const PickerInput& input);
// Returns whether there is anything to compact for readers (PickerInput::is_read), as long as no plan runs.
bool MayCompactForReaders(const Version& version, const CompactionPolicy& policy);

// The task of a CompactRange: compact all entries of `keys` that existed when it began into the last level as one run,
// without tombstones and overwritten entries that no snapshot needs.
struct RangeCall {
  KeyRange keys = {};
  // The next file number, and the last sequence number, when the call began: tables written since are not rewritten for
  // their contents, and newer data is not waited for.
  FileNumber first_new_file = {};
  SequenceNumber last_sequence = {};
  // The sequence number of the newest epoch by which the family's filter can remove entries; 0 if there is none. Tables
  // that were not filtered through it are rewritten.
  SequenceNumber filter_epoch = {};
  // Each table that existed when the call began is rewritten, for the family's context filter.
  bool every_table = false;
  // A step was carried out, so no data from before the call is above the last level. Concurrent compactions may later
  // bring data into upper levels that looks as old; it is left to the picker.
  bool brought_down = false;
  // Nothing is compacted downward: of the tables that existed when the call began, those in which range tombstones may
  // cover something are rewritten in place.
  bool covered_only = false;
};

// Returns the next step. Carrying out steps until kNothing ends, even while new data arrives and is compacted: one step
// compacts what is above the last level, and each other rewrites tables that existed when the call began.
//
// kNothing with `blocked` set: a running plan holds what is needed; ask again when one has finished.
struct RangeStep {
  CompactionPlan plan = {};
  bool blocked = false;
};
RangeStep PlanRange(const PickerInput& input, const RangeCall& call);

// Returns about how many bytes must be rewritten before PickCompaction has nothing to do; 0 at rest. `sketches_sought`
// as above.
uint64_t CompactionDebtBytes(const Version& version, const CompactionPolicy& policy, bool sketches_sought = true);

// Returns how full a level is, 1.0 meaning that a compaction is due; for people, and for the choice between families.
double CompactionScore(const Version& version, const CompactionPolicy& policy, int level);

}  // namespace sepal

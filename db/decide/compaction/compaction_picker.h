// Chooses the next compaction of one column family. Pure: the same arguments, the same plan.
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
  // Adopted and not finished yet.
  std::span<const CompactionPlan* const> running = {};
  // No snapshot looks below this: the oldest live snapshot, or the last published sequence. Tables of the last level
  // are rewritten for their tombstones only when none of them is newer.
  SequenceNumber oldest_snapshot = {};
  // Nothing is written, and everything is in tables.
  bool at_rest = false;
  // Readers have asked for as much as one run costs (read_demand.h).
  bool is_read = false;
  // The sketches of all tables were sought. Before that nothing is compacted for the sake of space.
  bool sketches_sought = true;
  // Of all families; null: none has values in files of their own.
  const ValueCollection* values = nullptr;
};

CompactionPlan PickCompaction(const PickerInput& input);
// Whether it has anything to do for readers (PickerInput::is_read), as long as no plan runs.
bool MayCompactForReaders(const Version& version, const CompactionPolicy& policy);

// What a CompactRange is to do: bring all entries of `keys` that existed as it began into the last level as one run,
// without tombstones and overwritten entries that no snapshot needs.
struct RangeCall {
  KeyRange keys = {};
  // The next file number, and the last sequence number, as the call began: tables written since are not rewritten for
  // their contents' sake, newer data is not waited for.
  FileNumber first_new_file = {};
  SequenceNumber last_sequence = {};
  // The number of the newest epoch by which the family's filter can remove something; 0: there is none. Tables that are
  // not filtered through it are rewritten.
  SequenceNumber filter_epoch = {};
  // Each table that was there as the call began is rewritten, for the family's filter with context.
  bool every_table = false;
  // A step was carried out: nothing of before is above the last level any more. What
  // compactions beside the call bring to the upper levels later may look as old, and is left to the picker.
  bool brought_down = false;
  // Nothing is brought down: of what was there as the call began, tables in which deleted ranges may cover something
  // are rewritten, each in its place.
  bool covered_only = false;
};

// The next step. Carried out until kNothing, it ends, also while new data arrives and is compacted: one step brings
// down what is above the last level, and each other rewrites tables that were there as the call began.
//
// kNothing with `blocked` set: a running plan holds what is needed; ask again when one has finished.
struct RangeStep {
  CompactionPlan plan = {};
  bool blocked = false;
};
RangeStep PlanRange(const PickerInput& input, const RangeCall& call);

// About how many bytes must be rewritten before PickCompaction has nothing to do. 0 at rest. `sketches_sought` as
// above.
uint64_t CompactionDebtBytes(const Version& version, const CompactionPolicy& policy, bool sketches_sought = true);

// How full each level is, 1.0 meaning that a compaction is due: for people and for the choice between families.
double CompactionScore(const Version& version, const CompactionPolicy& policy, int level);

}  // namespace sepal

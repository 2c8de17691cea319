// What an edit alone can remove: tables that range tombstones cover completely, tables in which everything has expired,
// and range tombstones that cover nothing any more. Pure.
//
// Laws: An expired entry hides older entries of its key, and so does a tombstone: a table of such entries may be
// removed once no remaining table has older entries of its keys. Snapshots make no difference, because an expired entry
// is absent at each of them.
//
// A range tombstone may be removed once every table that shares keys with it is newer than it, or swept through it.
// Then no table has an entry that it hides, and what is not in tables yet is newer than any range tombstone in tables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "db/decide/compaction/compaction_picker.h"
#include "db/state/ranges/range_tombstones.h"
#include "db/state/version/version.h"

namespace sepal {

// Returns whether the delete with that number covers nothing in the tables of `version`, nor in those `beside`, which
// are about to join it. Cost: the tables that share keys with the fragment.
bool CoversNothing(const Version& version, const RangeTombstones::Fragment& fragment, SequenceNumber sequence,
                   std::span<const TableMetadata> beside = {});

// Returns whether a range tombstone of the version may hide something in the table. Cost: the fragments that share keys
// with it.
bool MayHoldCovered(const Version& version, const TableMetadata& table);

// Returns the tables of range tombstones that cover nothing any more.
std::vector<TableRef> RangeTablesToRemove(const Version& version);

// Returns a plan that drops tables whose entries are all hidden from every reader by range tombstones in tables, and
// tables in which everything has expired by `expired_through_millis`, except those of running plans; or no plan.
// `stripes`: where readers may read. Cost: all tables.
CompactionPlan PlanDrop(const PickerInput& input, Stripes stripes, uint64_t expired_through_millis);

}  // namespace sepal

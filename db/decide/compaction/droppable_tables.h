// What can go by an edit alone: tables of which range tombstones cover everything, tables of which everything has
// expired, and range tombstones that cover nothing any more. Pure.
//
// Laws: What has expired hides what is older of its key, and so does a tombstone: a table of such entries may go once
// no table that stays has older entries of its keys. Snapshots make no difference, since what has expired is absent at
// each.
//
// A range tombstone may go once every table that shares keys with it is newer than it, or is swept through it. By
// then nothing is in any table that it hides, and what is not in tables yet is newer than any range tombstone that is.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "db/decide/compaction/compaction_picker.h"
#include "db/state/ranges/range_tombstones.h"
#include "db/state/version/version.h"

namespace sepal {

// Whether the delete with that number covers nothing in the tables of `version`, nor in those `beside`, which are about
// to join it. Cost: the tables that share keys with the fragment.
bool CoversNothing(const Version& version, const RangeTombstones::Fragment& fragment, SequenceNumber sequence,
                   std::span<const TableMetadata> beside = {});

// Whether a range tombstone of the version may hide something in the table. Cost: the fragments that share keys with
// it.
bool MayHoldCovered(const Version& version, const TableMetadata& table);

// The tables of range tombstones that cover nothing any more.
std::vector<TableRef> RangeTablesToRemove(const Version& version);

// A plan that drops the tables of which range tombstones that are in tables hide everything from every reader, and
// those of which everything has expired by `expired_through_millis`, without those of running plans; or no plan.
// `stripes`: where readers may stand. Cost: all tables.
CompactionPlan PlanDrop(const PickerInput& input, Stripes stripes, uint64_t expired_through_millis);

}  // namespace sepal

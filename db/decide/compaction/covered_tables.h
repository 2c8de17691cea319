// What range tombstones make superfluous: tables of which they cover everything, and range tombstones that cover
// nothing any more. Pure.
//
// Law: a range tombstone may go once every table that shares keys with it is newer than it, or is swept through it. By
// then nothing is in any table that it hides, and what is not in tables yet is newer than any range tombstone that is.
#pragma once

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

// A plan that drops the tables of which range tombstones that are in tables hide everything from every reader, without
// those of running plans; or no plan. `stripes`: where readers may stand.
CompactionPlan PlanDrop(const PickerInput& input, Stripes stripes);

}  // namespace sepal

// Reads of keys whose newest update is a merge operand. A Get starts over: it takes the key's updates from each source,
// newest first, until a value or a deletion ends them. An iterator, which has all sources merged, continues from where
// it is.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/engine/read/point_lookup.h"
#include "table/iterate/iterator.h"

namespace sepal {

// Does what LookUp does. `covered_by`: the newest range tombstone that covers the key (range_cover.h); older entries
// are deleted. FailedPrecondition: the family's merge operator is missing; other errors may be the operator's.
absl::Status LookUpMerged(const Family& family, const ReadView& view, const LookupKey& key, SequenceNumber covered_by,
                          const TableLookupOptions& options, Core* core, StatisticsImpl::ThreadCounters* counters,
                          PointResult* result);

// Returns the value of `key`, made from the versions in `entries`, at the clock's time. `entries` must be at the newest
// visible version, an operand; afterwards it is among the versions or after them. Errors are the same, and those of
// `entries`.
absl::StatusOr<std::string> MergeVersions(Core* core, const Family& family, SequenceNumber visible,
                                          std::string_view key, InternalIterator* entries);

}  // namespace sepal

// Reads that met an operand of a merge. A Get starts over: it takes the updates of the key from each source, newest
// first, until a value or an absence ends them. An iterator, at which all sources come together, goes on from where it
// stands.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/engine/read/point_lookup.h"
#include "table/iterate/iterator.h"

namespace sepal {

// As LookUp. `covered_by`: the newest range tombstone that covers the key (range_cover.h); what is older is absent.
// FailedPrecondition: the family's merge operator is not at hand; other errors may be the operator's.
absl::Status LookUpMerged(const Family& family, const ReadView& view, const LookupKey& key, SequenceNumber covered_by,
                          const TableLookupOptions& options, Core* core, StatisticsImpl::ThreadCounters* counters,
                          PointResult* result);

// The value that the versions of `key`, at the clock's time, make which `entries`, in order, stands at the newest
// visible of, an operand. Leaves it among the others, or behind them. The same errors, and those of `entries`.
absl::StatusOr<std::string> MergeVersions(Core* core, const Family& family, SequenceNumber visible,
                                          std::string_view key, InternalIterator* entries);

}  // namespace sepal

// An ordered source of a view, without the entries that range tombstones cover.
#pragma once

#include <memory>

#include "db/engine/read/range_cover.h"
#include "table/iterate/iterator.h"

namespace sepal {

// `highest`: the highest sequence number of the source's entries that the reader sees. A stretch covered by a newer
// range tombstone is passed by one seek. `cover` must outlive the iterator.
std::unique_ptr<InternalIterator> WithoutCovered(const RangeCover* cover, KeyOrder order, SequenceNumber highest,
                                                 std::unique_ptr<InternalIterator> source);

}  // namespace sepal

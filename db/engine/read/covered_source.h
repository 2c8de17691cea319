// An ordered source of a view without what range tombstones cover.
#pragma once

#include <memory>

#include "db/engine/read/range_cover.h"
#include "table/iterate/iterator.h"

namespace sepal {

// `highest`: of the source's entries that the reader sees. A covered stretch that is newer is passed by one seek.
// `cover` must outlive the iterator.
std::unique_ptr<InternalIterator> WithoutCovered(const RangeCover* cover, KeyOrder order, SequenceNumber highest,
                                                 std::unique_ptr<InternalIterator> source);

}  // namespace sepal

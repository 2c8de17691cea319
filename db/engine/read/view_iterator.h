// The entries of one view in order: memtables and runs merged.
#pragma once

#include <memory>

#include "db/engine/core/core.h"
#include "db/engine/core/family_state.h"
#include "db/engine/read/range_cover.h"
#include "db/state/version/read_view.h"
#include "table/iterate/iterator.h"

namespace sepal {

// Shows, for every key, at least the newest entry at or below `visible` and the older ones that it depends on. Core and
// view must outlive the iterator. Memtables that are empty now are left out, because later additions are above any
// sequence number that the caller may use. So are tables without a key in `bounds` (both inclusive); outside of the
// bounds the iterator shows some entries, or none. Entries that `cover` covers are not shown; it must outlive the
// iterator, and is null if nothing is covered. Memtables and runs without an entry above `after` are left out.
std::unique_ptr<InternalIterator> NewViewIterator(Core* core, const Family& family, const ReadView& view,
                                                  SequenceNumber visible, const RangeCover* cover,
                                                  const KeyRange& bounds, bool fill_cache,
                                                  SequenceNumber after = SequenceNumber());

// The same with all entries, whether a reader needs them or not.
std::unique_ptr<InternalIterator> NewVersionsIterator(Core* core, const Family& family, const ReadView& view,
                                                      const KeyRange& bounds, bool fill_cache);

}  // namespace sepal

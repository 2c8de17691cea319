// The entries of one view in order: memtables and runs merged.
#pragma once

#include <memory>

#include "db/engine/core/core.h"
#include "db/engine/core/family_state.h"
#include "db/engine/read/range_cover.h"
#include "db/state/version/read_view.h"
#include "table/iterate/iterator.h"

namespace sepal {

// Shows of every key the newest entry at or below `visible` and what that stands on, and others or not. Core and view
// must outlive the iterator. A memtable that is empty now is left out: what is added to it later is newer than any
// sequence number that the caller may ask for. So are tables that hold no key of `bounds` (both inclusive); of what
// lies outside, the iterator shows some, or nothing. What `cover` covers, which must outlive it too, is not shown;
// null: nothing is covered. Memtables and runs without an entry above `after` are left out.
std::unique_ptr<InternalIterator> NewViewIterator(Core* core, const Family& family, const ReadView& view,
                                                  SequenceNumber visible, const RangeCover* cover,
                                                  const KeyRange& bounds, bool fill_cache,
                                                  SequenceNumber after = SequenceNumber());

// The same of all entries, whether a reader needs them or not.
std::unique_ptr<InternalIterator> NewVersionsIterator(Core* core, const Family& family, const ReadView& view,
                                                      const KeyRange& bounds, bool fill_cache);

}  // namespace sepal

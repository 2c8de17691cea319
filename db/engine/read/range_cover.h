// Finds the range tombstones of a view that cover a key.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "db/state/ranges/range_tombstones.h"
#include "db/state/version/read_view.h"
#include "table/key/internal_key.h"

namespace sepal {

// Returns the newest range tombstone at or below `visible` that covers `key`; 0 if there is none. Entries of the key
// with lower numbers are deleted, wherever they lie. Tombstones at or below `known` may be omitted. Called inside the
// epoch guard under which `visible` was loaded, or by a reader that is registered at it (RangeDeletes).
SequenceNumber CoveringIn(const ReadView& view, const KeyOrder& order, std::string_view key, SequenceNumber visible,
                          SequenceNumber known = {});

// The same for many keys, for a reader that is registered at `visible` (RangeDeletes::Stand). The view must outlive it.
class RangeCover {
 public:
  RangeCover(const ReadView& view, KeyOrder order, SequenceNumber visible, std::shared_ptr<const void> standing);

  bool empty() const { return lists_.empty() && maps_.empty(); }
  SequenceNumber visible() const { return visible_; }
  // The newest of all range deletes, 0 if there are none; an entry above it is not covered.
  SequenceNumber newest() const { return newest_; }
  SequenceNumber Covering(std::string_view key) const;

  // Returns a stretch around `key`, not always the widest possible. Cost: a search in each list and memtable.
  RangeStretch StretchAt(std::string_view key) const;
  // Returns false if no delete above `lowest` covers any key in [smallest, largest].
  bool MayCoverAny(std::string_view smallest, std::string_view largest, SequenceNumber lowest) const;

 private:
  const KeyOrder order_;
  const SequenceNumber visible_;
  const std::shared_ptr<const void> standing_;
  std::vector<const RangeTombstoneMap*> maps_;  // of memtables
  std::vector<const RangeTombstones*> lists_;   // of tables
  SequenceNumber newest_;
};

}  // namespace sepal

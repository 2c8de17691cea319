// Which range tombstones of a view cover a key.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "db/state/ranges/range_tombstones.h"
#include "db/state/version/read_view.h"
#include "table/key/internal_key.h"

namespace sepal {

// The newest range tombstone at or below `visible` that covers `key`; 0 if there is none. An entry of the key with a
// lower number is absent, wherever it lies. Those at or below `known` need not be found. Inside the epoch guard under
// which `visible` was loaded, or where a reader stands at it (RangeDeletes).
SequenceNumber CoveringIn(const ReadView& view, const KeyOrder& order, std::string_view key, SequenceNumber visible,
                          SequenceNumber known = {});

// The same for many keys, of a reader that stands at `visible` (RangeDeletes::Stand). The view must outlive it.
class RangeCover {
 public:
  RangeCover(const ReadView& view, KeyOrder order, SequenceNumber visible, std::shared_ptr<const void> standing);

  bool empty() const { return lists_.empty() && maps_.empty(); }
  SequenceNumber visible() const { return visible_; }
  // The newest of all deletes, 0 if there are none: an entry above it is covered by none.
  SequenceNumber newest() const { return newest_; }
  SequenceNumber Covering(std::string_view key) const;

  // The stretch that `key` lies in, not always as wide as it might be. Cost: a search in each list and memtable.
  RangeStretch StretchAt(std::string_view key) const;
  // False: no delete above `lowest` covers any key in [smallest, largest].
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

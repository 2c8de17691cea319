// Which range tombstones of a view cover a key.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/state/ranges/range_tombstones.h"
#include "db/state/version/read_view.h"
#include "table/key/internal_key.h"

namespace sepal {

// The newest range tombstone at or below `visible` that covers `key`; 0 if there is none. An entry of the key with a
// lower number is absent, wherever it lies. Inside the epoch guard under which `visible` was loaded.
SequenceNumber CoveringIn(const ReadView& view, const KeyOrder& order, std::string_view key, SequenceNumber visible);

// The same for a reader that stays: the sets as they are when it is made, inside the epoch guard under which `visible`
// was loaded. It may be asked at any time, also about other keys.
class RangeCover {
 public:
  RangeCover(const ReadView& view, KeyOrder order, SequenceNumber visible);

  bool empty() const { return lists_.empty(); }
  SequenceNumber visible() const { return visible_; }
  // The newest of all deletes, 0 if there are none: an entry above it is covered by none.
  SequenceNumber newest() const { return newest_; }
  SequenceNumber Covering(std::string_view key) const;

  // A stretch of keys between two borders of fragments, of which all are covered by the same delete, or by none.
  struct Stretch {
    std::optional<std::string_view> begin;  // none: from the first key on
    std::optional<std::string_view> end;    // none: up to the last key
    SequenceNumber newest;
  };
  // The one that `key` lies in, not always as wide as it might be. Cost: a search in each list.
  Stretch StretchAt(std::string_view key) const;
  // Whether a delete above `lowest` covers any key in [smallest, largest].
  bool AnyIn(std::string_view smallest, std::string_view largest, SequenceNumber lowest) const;

 private:
  const KeyOrder order_;
  const SequenceNumber visible_;
  std::vector<std::shared_ptr<const RangeTombstoneSet>> sets_;
  std::vector<const RangeTombstones*> lists_;
  SequenceNumber newest_;
};

}  // namespace sepal

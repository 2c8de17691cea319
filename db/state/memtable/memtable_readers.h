// Where the readers of a memtable may stand, as found out at some time: what they need of entries that newer ones
// supersede.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "util/base/numbers.h"

namespace sepal {

struct MemTableReaders {
  // Every reader, now and later, reads at or above this, but for those of `snapshots`.
  SequenceNumber settled;
  // Ascending.
  std::vector<SequenceNumber> snapshots = {};
  // Views are numbered as they come: `replaced` was the current one until now, and of those up to it, `oldest` and
  // others after it are left.
  uint64_t oldest_view = 0;
  uint64_t replaced_view = 0;

  // Whether a reader may stand at `from` or above, but below `to`.
  bool MayReadBetween(SequenceNumber from, SequenceNumber to) const {
    return settled < to || HasSnapshotBetween(from, to);
  }
  // At `from` or above, but below `to`.
  bool HasSnapshotBetween(SequenceNumber from, SequenceNumber to) const {
    const auto snapshot = std::lower_bound(snapshots.begin(), snapshots.end(), from);
    return snapshot != snapshots.end() && *snapshot < to;
  }
};

}  // namespace sepal

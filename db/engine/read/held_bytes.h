// The bytes that snapshots hold: those that are kept for a single moment.
#pragma once

#include <cstdint>
#include <map>
#include <span>

#include "absl/status/status.h"
#include "db/engine/core/core.h"
#include "db/engine/core/family_state.h"
#include "db/state/version/read_view.h"
#include "util/base/numbers.h"

namespace sepal {

// Bytes by moment.
using HeldBytes = std::map<SequenceNumber, uint64_t>;

// The moments at which readers of a family may read.
struct ReaderMoments {
  std::span<const SequenceNumber> snapshots;  // ascending
  SequenceNumber floor;  // readers may also read at any number from here on: the visible one, or a history's floor
};

// Returns about how much a walk over a whole view costs: the bytes of keys and values, plus a little for each key with
// range deletes.
uint64_t WalkBytes(const Family& family, const ReadView& view, const ReaderMoments& moments);

// Adds, for each snapshot, about how many bytes are stored for updates of `view` that readers see at that snapshot
// only. Exact, except for the shares of compression, filters and indexes, if `most_bytes` allows a walk over
// everything; otherwise an estimate from about that many bytes, at evenly spaced places. A reader must be registered at
// `visible` (RangeDeletes::Stand) until the call returns. Returns an error once the database is closed.
absl::Status AddHeldBytes(Core* core, const Family& family, const ReadView& view, SequenceNumber visible,
                          const ReaderMoments& moments, uint64_t most_bytes, HeldBytes* held);

}  // namespace sepal

// What snapshots hold: the bytes that are kept for one moment alone.
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

// By moment.
using HeldBytes = std::map<SequenceNumber, uint64_t>;

// Where readers of a family may stand.
struct ReaderMoments {
  std::span<const SequenceNumber> snapshots;  // ascending
  SequenceNumber floor;                       // and at any number from here on: the visible one, or a history's floor
};

// Adds, for each snapshot, about what is stored of the updates of `view` that readers see at it and at no other moment.
// Exact but for the shares of compression, filters and indexes where the tables have at most
// Tuning::snapshot_walk_bytes; an estimate from about as much, out of places that part the bytes evenly, where they
// have more. A reader stands at `visible` (RangeDeletes::Stand) until the call returns.
absl::Status AddHeldBytes(Core* core, const Family& family, const ReadView& view, SequenceNumber visible,
                          const ReaderMoments& moments, HeldBytes* held);

}  // namespace sepal

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

// About what a walk over all of a view takes: bytes of keys and values, and for each key with range deletes some more.
uint64_t WalkBytes(const Family& family, const ReadView& view, const ReaderMoments& moments);

// Adds, for each snapshot, about what is stored of the updates of `view` that readers see at it and at no other moment.
// Exact but for the shares of compression, filters and indexes where `most_bytes` allow a walk over all; an estimate
// from about as much, out of places that part the bytes evenly, where they do not. A reader stands at `visible`
// (RangeDeletes::Stand) until the call returns. It ends with an error once the database is closed.
absl::Status AddHeldBytes(Core* core, const Family& family, const ReadView& view, SequenceNumber visible,
                          const ReaderMoments& moments, uint64_t most_bytes, HeldBytes* held);

}  // namespace sepal

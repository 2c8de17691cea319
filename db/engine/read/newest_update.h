// Whether a key, or any key of a range, was updated after a sequence number: what a transaction asks that commits, or
// locks a key.
//
// The answer is exact as long as a snapshot at or below that number is held: no update after it has lost its number
// then. A key that is as absent as it was, put and deleted again or deleted though it was not there, may seem not to be
// updated, as nobody can tell.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/decide/transaction/conflict_set.h"
#include "db/engine/core/core.h"
#include "db/engine/core/family_state.h"

namespace sepal {

// As of now. `hash_seed`: the database's. Cost: a lookup in the memtables and the tables that have later updates.
absl::StatusOr<bool> IsUpdatedAfter(Core* core, const Family& family, uint64_t hash_seed, std::string_view key,
                                    SequenceNumber after);
// A key of the range, or of a deleted range that reaches into it. Where the order is not bytewise and the range has no
// begin, any later delete of a range counts, wherever it lies: nobody knows the first key. Cost: a scan of the range in
// those memtables and tables.
absl::StatusOr<std::optional<std::string>> FindUpdatedAfter(Core* core, const Family& family,
                                                            const ConflictRange& range, SequenceNumber after);

}  // namespace sepal

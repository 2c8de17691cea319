// Tells whether a key, or any key of a range, was updated after a sequence number. Transactions ask that when they
// commit or lock a key.
//
// The answer is exact as long as a snapshot at or below that number is held, because no later update has then lost its
// number. A key that was absent and is absent again (put and deleted, or deleted without having existed) may seem not
// to be updated.
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

// Tells whether the key was updated, as of now. `hash_seed` is the database's. Cost: a lookup in the memtables and in
// the tables that have later updates.
absl::StatusOr<bool> IsUpdatedAfter(Core* core, const Family& family, uint64_t hash_seed, std::string_view key,
                                    SequenceNumber after);
// Returns an updated key of the range, or of a deleted range that reaches into it. If the order is not bytewise and the
// range has no begin, any later delete of a range counts, because the first key is unknown. Cost: a scan of the range
// in those memtables and tables.
absl::StatusOr<std::optional<std::string>> FindUpdatedAfter(Core* core, const Family& family,
                                                            const ConflictRange& range, SequenceNumber after);

}  // namespace sepal

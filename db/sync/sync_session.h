// A sync of two databases, each with a side of its own (docs/reference/sync-protocol.md). Both must be open for
// writing, and nothing else may write meanwhile. Wherever it ends, each side has what it had and some of what the other
// has, every entry whole, and the sync can be begun again.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/sync/sync_messages.h"
#include "db/sync/sync_side.h"
#include "db/sync/sync_stream.h"
#include "sepal/db.h"

namespace sepal {

// The same as the calls of sepal/sync.h, with what tests set.
absl::StatusOr<SyncReport> BeginSync(DB* db, SyncChannel* other, const SyncOptions& options, const SyncTuning& tuning);
absl::Status ServeSync(DB* db, SyncChannel* other, const SyncTuning& tuning);

}  // namespace sepal

// A sync of two databases, each with a side of its own (docs/reference/sync-protocol.md). Both must be open for
// writing, and nothing else may write meanwhile. If it is interrupted, each side has its old entries and some of the
// other side's, each of them complete, and the sync can be started again.
#pragma once

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/sync/sync_messages.h"
#include "db/sync/sync_side.h"
#include "db/sync/sync_stream.h"
#include "sepal/db.h"

namespace sepal {

// The calls of sepal/sync.h, with settings for tests.
absl::StatusOr<SyncReport> BeginSync(DB* db, SyncChannel* other, const SyncOptions& options, const SyncTuning& tuning);
absl::Status ServeSync(DB* db, SyncChannel* other, const SyncTuning& tuning);

}  // namespace sepal

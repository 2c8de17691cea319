// The conditions that two databases must satisfy before a sync of them.
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/sync/sync_messages.h"
#include "sepal/db.h"

namespace sepal {

// The families of a database with their comparators, as in its greeting.
absl::StatusOr<std::vector<SyncFamily>> FamiliesToSync(DB* db);
// FailedPrecondition if the database has or may get keys that expire: a sync does not transfer their times.
absl::Status CheckNothingExpires(const DB& db);
// InvalidArgument if a family has another comparator on the other side, or would get another one on the side where it
// is missing, because it is created there with default options.
absl::Status CheckComparators(const std::vector<SyncFamily>& here, const std::vector<SyncFamily>& there);

// ResourceExhausted if the names of the families of both sides, which each side has after the sync, are more than a
// greeting holds: the next sync could not begin.
absl::Status CheckNamesFit(const std::vector<SyncFamily>& here, const std::vector<SyncFamily>& there);

}  // namespace sepal

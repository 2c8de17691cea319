// Snapshots with names (sepal/named_snapshots.h): of each, the manifest has the name, the sequence number and the times
// (KeptSnapshot), and while the database is open a snapshot is held for it.
//
// Laws:
//   - a name is in the manifest only once all that it sees of the log is durable, so that no loss of power takes away
//     what it sees and gives the same numbers to other updates;
//   - what is held is in the list of snapshots from before the name's edit until after the edit that drops it, and from
//     before the first job or replayed flush of an opening;
//   - one thread at a time creates or drops by name (the caller's lock); jobs may drop what has expired beside it;
//   - one that has expired, and that nobody else holds, is not found any more, whether or not its drop is durable yet.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/engine/catalog/catalog.h"
#include "db/engine/core/database_state.h"
#include "sepal/env.h"
#include "sepal/named_snapshots.h"

namespace sepal {

uint64_t UnixMillis(Clock* clock);
bool SnapshotHasExpired(const KeptSnapshot& kept, uint64_t now_millis);

// Enters one that the manifest has.
void HoldSnapshot(EngineState* state, const KeptSnapshot& kept,
                  std::shared_ptr<const Snapshot> snapshot) EXCLUDES_STATE_LOCK;

// InvalidArgument: no snapshot can have that name.
absl::Status CheckSnapshotName(std::string_view name);
// AlreadyExists.
absl::Status CheckSnapshotNameIsFree(const EngineState& state, std::string_view name) EXCLUDES_STATE_LOCK;

// Makes `kept` durable, of which `snapshot` is held; what it sees of the log must be durable. AlreadyExists if the name
// is taken.
absl::Status AddNamedSnapshot(EngineState* state, Catalog* catalog, const KeptSnapshot& kept,
                              std::shared_ptr<const Snapshot> snapshot) EXCLUDES_STATE_LOCK;
absl::StatusOr<std::shared_ptr<const Snapshot>> FindNamedSnapshot(const EngineState& state,
                                                                  std::string_view name) EXCLUDES_STATE_LOCK;
absl::Status DropNamedSnapshot(EngineState* state, Catalog* catalog, std::string_view name) EXCLUDES_STATE_LOCK;
std::vector<NamedSnapshot> ListNamedSnapshots(const EngineState& state) EXCLUDES_STATE_LOCK;

// Of each a line, for people.
std::string NamedSnapshotsText(const EngineState& state) REQUIRES_STATE_LOCK;

// A look without a lock.
bool SnapshotsMayHaveExpired(const EngineState& state);
// Drops those that have expired and that nobody holds.
absl::Status DropExpiredSnapshots(EngineState* state, Catalog* catalog) EXCLUDES_STATE_LOCK;

}  // namespace sepal

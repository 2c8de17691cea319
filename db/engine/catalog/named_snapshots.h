// Named snapshots (sepal/named_snapshots.h): the manifest has the name, the sequence number and the times of each
// (KeptSnapshot), and a snapshot is held for each while the database is open.
//
// Laws:
//   - a name is in the manifest only once every log record that the snapshot sees is durable, so that a loss of power
//     cannot remove what it sees and reuse the sequence numbers;
//   - a held snapshot is in the list of snapshots from before the edit that adds its name until after the edit that
//     drops it, and on opening from before the first job or replayed flush;
//   - one thread at a time creates or drops by name (the caller's lock); jobs may drop expired ones concurrently;
//   - an expired snapshot that is not held elsewhere is no longer found, whether or not its drop is durable yet.
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

// Holds a snapshot that the manifest has.
void HoldSnapshot(EngineState* state, const KeptSnapshot& kept,
                  std::shared_ptr<const Snapshot> snapshot) EXCLUDES_STATE_LOCK;

// InvalidArgument: the name is empty or too long.
absl::Status CheckSnapshotName(std::string_view name);
// AlreadyExists: the name is taken.
absl::Status CheckSnapshotNameIsFree(const EngineState& state, std::string_view name) EXCLUDES_STATE_LOCK;

// Adds `kept`, for which `snapshot` is held, to the manifest; the log records that it sees must be durable.
// AlreadyExists if the name is taken.
absl::Status AddNamedSnapshot(EngineState* state, Catalog* catalog, const KeptSnapshot& kept,
                              std::shared_ptr<const Snapshot> snapshot) EXCLUDES_STATE_LOCK;
absl::StatusOr<std::shared_ptr<const Snapshot>> FindNamedSnapshot(const EngineState& state,
                                                                  std::string_view name) EXCLUDES_STATE_LOCK;
absl::Status DropNamedSnapshot(EngineState* state, Catalog* catalog, std::string_view name) EXCLUDES_STATE_LOCK;
std::vector<NamedSnapshot> ListNamedSnapshots(const EngineState& state) EXCLUDES_STATE_LOCK;

// Returns one line of text for each.
std::string NamedSnapshotsText(const EngineState& state) REQUIRES_STATE_LOCK;

// Takes no lock.
bool SnapshotsMayHaveExpired(const EngineState& state);
// Drops the expired ones that are not held elsewhere.
absl::Status DropExpiredSnapshots(EngineState* state, Catalog* catalog) EXCLUDES_STATE_LOCK;

}  // namespace sepal

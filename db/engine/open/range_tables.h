// Loads the contents of tables of range tombstones, before a version that lists them is used.
#pragma once

#include "absl/status/statusor.h"
#include "db/engine/core/core.h"
#include "db/state/version/version.h"

namespace sepal {

// Returns the version with all of them loaded. Aborted if a live writer has removed one.
absl::StatusOr<VersionRef> LoadRangeTombstones(Core* core, VersionRef version);

}  // namespace sepal

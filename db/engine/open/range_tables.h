// What tables of range tombstones hold, brought into memory before a version that lists them is read.
#pragma once

#include "absl/status/statusor.h"
#include "db/engine/core/core.h"
#include "db/state/version/version.h"

namespace sepal {

// The version with all of them. Beside a writer: Aborted where it has removed one.
absl::StatusOr<VersionRef> LoadRangeTombstones(Core* core, VersionRef version);

}  // namespace sepal

// Which features an edit needs its readers to know.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "db/format/version_edit.h"

namespace sepal {

// Those that it says, and those of what it has.
Features FeaturesOf(const VersionEdit& edit);
// Adds them to those that the edit says, but for those of what it has. FailedPrecondition: one is not known.
absl::Status TakeFeatures(uint64_t bits, VersionEdit* edit);

}  // namespace sepal

// The features that a database uses, as bits: what a reader of its manifest must know (version_edit.h has the list).
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "db/format/version_edit.h"

namespace sepal {

// Those that an edit needs; 0: none.
uint64_t FeaturesOf(const VersionEdit& edit);
// Sets the flags that the features stand for. FailedPrecondition: one is not known.
absl::Status TakeFeatures(uint64_t features, VersionEdit* edit);

}  // namespace sepal

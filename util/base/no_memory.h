// Distinguishes a lack of the system's memory from a lack of disk space: both are ResourceExhausted, but space is worth
// waiting for, and an operator looks for it elsewhere.
#pragma once

#include "absl/status/status.h"

namespace sepal {

// Returns the same status, which IsNoMemory then recognises, also once it was annotated (util/base/status.h).
absl::Status MarkNoMemory(absl::Status status);
bool IsNoMemory(const absl::Status& status);

}  // namespace sepal

// Distinguishes an error of another process, received over a stream, from one of the local files: both may be DataLoss,
// but only the second one calls for a repair.
#pragma once

#include "absl/status/status.h"

namespace sepal {

// Returns the same status, which IsOfOtherSide then recognises, also once it was annotated (util/base/status.h).
absl::Status MarkOtherSide(absl::Status status);
bool IsOfOtherSide(const absl::Status& status);

}  // namespace sepal

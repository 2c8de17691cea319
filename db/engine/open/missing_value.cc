#include "db/engine/open/missing_value.h"

#include "absl/status/statusor.h"
#include "util/base/status.h"

namespace sepal {

absl::Status JudgeMissingValue(const absl::Status& looked, Directory* directory, const ManifestRecovery& manifest) {
  if (!absl::IsAborted(looked)) return looked;
  ASSIGN_OR_RETURN(const bool gone_on, ManifestHasGoneOn(directory, manifest));
  return gone_on ? looked : absl::DataLossError("the value file that it names is missing");
}

}  // namespace sepal

// What a reader makes of a record whose value file is missing, beside a writer that may have removed it.
#pragma once

#include "absl/status/status.h"
#include "db/act/manifest/manifest_recovery.h"
#include "sepal/file_system.h"

namespace sepal {

// `looked`, of a value that an update of the logs refers to which is in no table by `manifest`. A writer removes such a
// value's file only after it has said more in its manifest. So where the file is missing (Aborted) and the manifest has
// not gone on, a loss of power took the file, and the record was never acknowledged as durable: DataLoss.
absl::Status JudgeMissingValue(const absl::Status& looked, Directory* directory, const ManifestRecovery& manifest);

}  // namespace sepal

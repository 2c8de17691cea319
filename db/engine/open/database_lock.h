// The lock that a process must hold to change a database: that of its directory and, if its logs lie elsewhere, also
// that of the logs' directory, so that two databases never create or remove logs in one directory. Readers take no
// lock.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "sepal/file_system.h"

namespace sepal {

// `log_directory` is null if the logs lie in `directory`. Both locks are held until the result is destroyed, the
// database's the longest, and `Check` checks both. `Unavailable` if another process holds one.
absl::StatusOr<std::unique_ptr<DirectoryLock>> LockDatabase(Directory* directory, Directory* log_directory,
                                                            LockRequest mode = LockRequest::kIfFree);

// Locks only a separate log directory. An error names it, and says what to do.
absl::StatusOr<std::unique_ptr<DirectoryLock>> LockLogDirectory(Directory* log_directory,
                                                                LockRequest mode = LockRequest::kIfFree);

}  // namespace sepal

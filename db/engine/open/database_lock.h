// Who may change a database: whoever holds the lock of its directory and, where its logs lie elsewhere, also that of
// the logs' directory, so that two databases never make or remove logs in one. Reading takes none.
#pragma once

#include <memory>

#include "absl/status/statusor.h"
#include "sepal/file_system.h"

namespace sepal {

// `log_directory`: null where the logs lie in `directory`. Both are held until the lock goes, the database's the
// longest, and `Check` is of both. `Unavailable` where another holds one.
absl::StatusOr<std::unique_ptr<DirectoryLock>> LockDatabase(Directory* directory, Directory* log_directory,
                                                            LockRequest mode = LockRequest::kIfFree);

// Of a separate log directory alone. An error names it, and what to do.
absl::StatusOr<std::unique_ptr<DirectoryLock>> LockLogDirectory(Directory* log_directory,
                                                                LockRequest mode = LockRequest::kIfFree);

}  // namespace sepal

// Finds out whether a directory belongs to another engine. LevelDB and RocksDB name their files as Sepal does; theirs
// are recognised by the file CURRENT, which they always have and which Sepal fills differently (guard.h), and are left
// alone. So are a database in a directory that should have only logs, and another database's logs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/act/log/log_recovery.h"
#include "sepal/file_system.h"
#include "sepal/options.h"

namespace sepal {

// Writes nothing. A CURRENT that may be an unfinished guard is taken for one if a manifest of Sepal's exists, or if no
// file exists that another engine would need.
absl::Status CheckNotForeign(Directory* directory, std::string_view path);
// The same under the lock, for a caller that is going to write: afterwards there is a durable guard. Syncs nothing if
// it existed.
absl::Status EnsureGuard(Directory* directory, std::string_view path);

// Checks a separate log directory.
absl::Status CheckHoldsNoDatabase(const std::vector<DirectoryEntry>& listing, std::string_view path);

// Checks that the logs in the separate directory `log_path` belong to the database `id` in `path`, as far as their
// headers say.
absl::Status CheckLogsAreOf(std::span<const LogFile> logs, uint64_t id, std::string_view log_path,
                            std::string_view path);

// Returns whether `options` put the logs outside of the database directory `path`, under whatever name.
absl::StatusOr<bool> LogsLieElsewhere(FileSystem* files, const Options& options, std::string_view path);

}  // namespace sepal

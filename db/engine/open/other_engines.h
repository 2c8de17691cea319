// Whose a directory is. LevelDB and RocksDB name their files as Sepal does; what is theirs is told by the file CURRENT,
// which they always have and in which Sepal has other bytes (guard.h), and is left alone. So is a database where only
// logs are to lie, and another database's logs.
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

// Writes nothing. A CURRENT that may be an unfinished guard is one where a manifest of Sepal's is, or where no file is
// that another engine would miss.
absl::Status CheckNotForeign(Directory* directory, std::string_view path);
// The same under the lock, for a caller that is going to write: afterwards there is a guard, and it is durable. Syncs
// nothing where it was there.
absl::Status EnsureGuard(Directory* directory, std::string_view path);

// Of a separate log directory.
absl::Status CheckHoldsNoDatabase(const std::vector<DirectoryEntry>& listing, std::string_view path);

// Whether the logs in the separate directory `log_path` are those of the database `id` in `path`, as far as they say.
absl::Status CheckLogsAreOf(std::span<const LogFile> logs, uint64_t id, std::string_view log_path,
                            std::string_view path);

// Whether `options` want logs elsewhere than in the database directory `path`, under whatever name.
absl::StatusOr<bool> LogsLieElsewhere(FileSystem* files, const Options& options, std::string_view path);

}  // namespace sepal

// Where the logs of a database lie: the manifest's record, and Options::log_directory.
//
// If no directory is given, the recorded one is used, unless the logs have been moved into the database directory. The
// record is valid only if the database is still in the path recorded with it: for a copy of the database, the recorded
// directory has the original's logs, and opening the copy would take them over and remove them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "db/format/version_edit.h"
#include "sepal/file_system.h"
#include "util/base/numbers.h"

namespace sepal {

// Returns the two paths as a manifest records them: absolute ones on the operating system's file system, so that they
// do not depend on the working directory.
KeptLogDirectory PlacesToKeep(FileSystem* files, std::string_view log_directory, std::string_view path);

// The manifest's record of the logs.
struct KeptLogs {
  std::optional<KeptLogDirectory> place = {};
  uint64_t database_id = 0;
  FileNumber needed = {};  // the oldest log that the database needs; 0 if there may be none

  void TakeEdit(const VersionEdit& edit);
};

// Returns the log directory of the database in `path`, if the caller has given `given`; empty stands for `path`.
// DataLoss if none is given and the recorded one is gone or may belong to another copy; FailedPrecondition if the given
// one is not the recorded one, which has the logs.
absl::StatusOr<std::string> LogDirectoryOf(FileSystem* files, std::string_view path, const std::string& given,
                                           const KeptLogs& kept);

// The same, with the record of the manifest in `path`, as far as it can be read. Costs a reading of the manifest.
absl::StatusOr<std::string> FindLogDirectory(FileSystem* files, std::string_view path, const std::string& given);

}  // namespace sepal

// Where the logs of a database lie: what its manifest keeps of that, beside what Options::log_directory says.
//
// A directory that is not given is the kept one, unless the logs have been moved home. That holds only where the
// database lies in the place that was kept with it: beside a copy, the kept directory has the original's logs, which
// opening the copy would take over and remove.
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

// The two places as a manifest keeps them: on the operating system's file system as absolute paths, so that they mean
// the same to a process with another working directory.
KeptLogDirectory PlacesToKeep(FileSystem* files, std::string_view log_directory, std::string_view path);

// What the manifest says of the logs.
struct KeptLogs {
  std::optional<KeptLogDirectory> place = {};
  uint64_t database_id = 0;
  FileNumber needed = {};  // the oldest log that the database needs; 0: there may be none

  void TakeEdit(const VersionEdit& edit);
};

// The log directory of the database in `path`, where the caller has given `given`; empty: `path`. DataLoss where none
// is given and the kept one is gone or may be another copy's; FailedPrecondition where the given one is not the kept
// one, which has the logs.
absl::StatusOr<std::string> LogDirectoryOf(FileSystem* files, std::string_view path, const std::string& given,
                                           const KeptLogs& kept);

// The same, with what the manifest in `path` says, as far as it can be read. It costs a reading of the manifest.
absl::StatusOr<std::string> FindLogDirectory(FileSystem* files, std::string_view path, const std::string& given);

}  // namespace sepal

// LevelDB and RocksDB name their files as Sepal does. What is theirs is told by the file CURRENT, which they always
// have and Sepal never, and is left alone. So is a database where only logs are to lie.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "db/format/file_names.h"
#include "sepal/file_system.h"
#include "sepal/options.h"

namespace sepal {

inline absl::Status CheckNotForeign(const std::vector<DirectoryEntry>& listing, std::string_view path) {
  const bool foreign =
      std::any_of(listing.begin(), listing.end(), [](const DirectoryEntry& entry) { return entry.name == "CURRENT"; });
  if (!foreign) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrFormat(
      "%s holds a LevelDB or RocksDB database (it has a file CURRENT), which Sepal neither reads nor changes; `sepal "
      "import` brings its contents over",
      path));
}

// Of a separate log directory.
inline absl::Status CheckHoldsNoDatabase(const std::vector<DirectoryEntry>& listing, std::string_view path) {
  for (const DirectoryEntry& entry : listing) {
    const std::optional<ParsedFileName> parsed = ParseFileName(entry.name);
    if (!parsed.has_value() || (parsed->kind != FileKind::kTable && parsed->kind != FileKind::kManifest)) continue;
    return absl::FailedPreconditionError(absl::StrFormat(
        "log_directory %s holds %s, so another database: give these logs a directory of their own, or leave "
        "log_directory empty if they are to lie in the database's own directory",
        path, entry.name));
  }
  return absl::OkStatus();
}

// Whether `options` want logs elsewhere than in the database directory `path`.
inline bool LogsLieElsewhere(const Options& options, std::string_view path) {
  const auto without_slash = [](std::string_view p) { return p.substr(0, p.find_last_not_of('/') + 1); };
  return !options.log_directory.empty() && without_slash(options.log_directory) != without_slash(path);
}

}  // namespace sepal

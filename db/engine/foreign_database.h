// LevelDB and RocksDB name their files as Sepal does. What is theirs is told by the file CURRENT, which they always
// have and Sepal never, and is left alone.
#pragma once

#include <algorithm>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "sepal/file_system.h"

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

}  // namespace sepal

// The places where a new database may be created.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace sepal::tools {

// Whether the directory has files of a Sepal database.
bool HoldsDatabase(const std::string& directory);

// NotFound for a symbolic link to nothing, as of a volume that is not mounted.
absl::Status CheckLink(const std::string& path);

// For a database that an opening creates if it is missing: ok for an existing one, for an empty directory (a fresh
// volume has a directory lost+found), and for a new name in an existing directory.
absl::Status CheckPlaceForDatabase(const std::string& directory);

// For a directory that is filled beside `directory` and then renamed to it: ok if it is missing or empty, and if the
// rename can succeed.
absl::Status CheckReplaceable(const std::string& directory);

// Removes the files of an opening that failed; `directory` was new or empty before. `was_there`: it existed.
void RemoveHalfMade(const std::string& directory, bool was_there);

}  // namespace sepal::tools

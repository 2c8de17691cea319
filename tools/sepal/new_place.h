// Where a new database may be made.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace sepal::tools {

// Whether the directory holds files of a Sepal database.
bool HoldsDatabase(const std::string& directory);

// NotFound for a symbolic link to nothing, as of a volume that is not mounted.
absl::Status CheckLink(const std::string& path);

// For a database that opening makes if it is missing: ok for one that is there, for an empty directory (a fresh volume
// has a directory lost+found), and for a new name in a directory that exists.
absl::Status CheckPlaceForDatabase(const std::string& directory);

// For a directory that is made beside `directory` and then renamed to it: ok if it is missing or empty, and if the
// rename can succeed.
absl::Status CheckReplaceable(const std::string& directory);

// Removes what an opening that failed has made; `directory` was new or empty before. `was_there`: it existed.
void RemoveHalfMade(const std::string& directory, bool was_there);

}  // namespace sepal::tools

// Programs that use LevelDB, started so that they find Sepal's libleveldb instead of the system's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sepal::tools {

inline constexpr std::string_view kRunVerb = "run";

// All words after the program's name belong to the program, whatever they look like: puts "--" in front of that name.
// `flags_with_value`: those of the verb that take the next word.
void EndFlagsAtProgram(const std::vector<std::string>& flags_with_value, std::vector<std::string>* arguments);

// The directory of Sepal's libleveldb, which lies in a place relative to this program's. NotFound if there is none.
absl::StatusOr<std::string> FindLevelDbDirectory();

// The file that a shell would run for that name. NotFound if there is none.
absl::StatusOr<std::string> FindProgram(const std::string& name);

// FailedPrecondition if the program contains LevelDB itself, so that no library can replace it.
absl::Status CheckNoLevelDbWithin(const std::string& program);

// `directory` in front of the present LD_LIBRARY_PATH.
std::string LibraryPathWith(const std::string& directory);

}  // namespace sepal::tools

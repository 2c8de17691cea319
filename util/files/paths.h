// Names of files and directories as text.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sepal {

// Ok if `name` can name a file in a directory: not empty, no slash, no zero byte, not "." or "..".
absl::Status CheckFileName(std::string_view directory, std::string_view name);
// Without slashes at the end; `InvalidArgument` if `path` is empty or holds a zero byte.
absl::StatusOr<std::string> CleanPath(std::string_view path);
// What stands before the last slash of a clean path: "/" at the root, "." if there is none.
std::string ParentPath(std::string_view path);

}  // namespace sepal

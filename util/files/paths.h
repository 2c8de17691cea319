// File names and paths as text.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sepal {

// Returns ok if `name` can name a file in a directory: not empty, no slash, no zero byte, not "." or "..".
absl::Status CheckFileName(std::string_view directory, std::string_view name);
// Removes trailing slashes; `InvalidArgument` if `path` is empty or holds a zero byte.
absl::StatusOr<std::string> CleanPath(std::string_view path);
// The part of a clean path before its last slash: "/" at the root, "." if there is no slash.
std::string ParentPath(std::string_view path);

}  // namespace sepal

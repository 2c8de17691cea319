#include "util/files/paths.h"

#include "absl/strings/str_format.h"
#include "util/base/strings.h"

namespace sepal {

absl::Status CheckFileName(std::string_view directory, std::string_view name) {
  if (name.empty() || name == "." || name == ".." || name.find_first_of(std::string_view("/\0", 2)) != name.npos) {
    return absl::InvalidArgumentError(absl::StrFormat("%s: \"%s\" is not a file name", directory, Printable(name)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> CleanPath(std::string_view path) {
  if (path.empty() || path.find('\0') != path.npos) {
    return absl::InvalidArgumentError(absl::StrFormat("\"%s\" is not a path", Printable(path)));
  }
  const size_t end = path.find_last_not_of('/');
  return end == path.npos ? std::string("/") : std::string(path.substr(0, end + 1));
}

std::string ParentPath(std::string_view path) {
  const size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  const size_t end = path.find_last_not_of('/', slash);
  return end == path.npos ? "/" : std::string(path.substr(0, end + 1));
}

}  // namespace sepal

#include "tools/sepal/new_place.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/format/file_names.h"
#include "tools/files/tool_files.h"
#include "util/base/status.h"

namespace sepal::tools {
namespace {

namespace fs = std::filesystem;

// mkfs puts this directory into each new volume.
constexpr char kLostAndFound[] = "lost+found";

// The names of the files because of which the directory is not empty, of a database or not.
std::vector<std::string> FilesIn(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    std::string name = it->path().filename().string();
    if (name != kLostAndFound) names.push_back(std::move(name));
  }
  return names;
}

bool IsMountPoint(const std::string& directory) {
  struct statx status = {};
  if (statx(AT_FDCWD, directory.c_str(), AT_SYMLINK_NOFOLLOW, STATX_TYPE, &status) != 0) return false;
  return (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

bool RemoteHoldsDatabase(const std::string& directory) {
  const absl::StatusOr<std::unique_ptr<Directory>> opened = ToolFiles()->OpenDirectory(directory, /*create=*/false);
  if (!opened.ok()) return false;
  const absl::StatusOr<std::vector<DirectoryEntry>> files = (*opened)->List();
  return files.ok() && std::any_of(files->begin(), files->end(),
                                   [](const DirectoryEntry& file) { return ParseFileName(file.name).has_value(); });
}

}  // namespace

bool HoldsDatabase(const std::string& directory) {
  if (IsRemote(directory)) return RemoteHoldsDatabase(directory);
  for (const std::string& name : FilesIn(directory)) {
    if (ParseFileName(name).has_value()) return true;
  }
  return false;
}

absl::Status CheckLink(const std::string& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error) || fs::exists(path, error)) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrFormat("%s is a symbolic link to %s, which does not exist (is the volume mounted?)", path,
                      fs::read_symlink(path, error).string()));
}

absl::Status CheckPlaceForDatabase(const std::string& directory) {
  if (IsRemote(directory)) return absl::OkStatus();  // names in a pool need no parents, and belong to nothing else
  RETURN_IF_ERROR(CheckLink(directory));
  std::error_code error;
  if (!fs::exists(directory, error)) {
    fs::path path(directory);
    if (!path.has_filename()) path = path.parent_path();  // "/new/"
    const fs::path parent = path.has_parent_path() ? path.parent_path() : ".";
    if (fs::is_directory(parent, error)) return absl::OkStatus();
    return absl::NotFoundError(absl::StrFormat("%s does not exist; if the path is right, make it first: mkdir -p %s",
                                               parent.string(), parent.string()));
  }
  if (!fs::is_directory(directory, error)) {
    return absl::FailedPreconditionError(absl::StrFormat("%s is a file; a database is a directory", directory));
  }
  const std::vector<std::string> files = FilesIn(directory);
  if (files.empty() || HoldsDatabase(directory)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("%s holds other files (%s) and no database; a new database needs a new or empty directory",
                      directory, files.front()));
}

absl::Status CheckReplaceable(const std::string& directory) {
  if (IsRemote(directory)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: this is made on a local disk; sepal db checkpoint then copies it there", directory));
  }
  std::error_code error;
  const std::string name = fs::path(directory).filename();
  if (name == "." || name == ".." || fs::equivalent(directory, fs::current_path(error), error)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is the working directory or above it, and cannot be replaced by the new database; name another directory",
        directory));
  }
  const fs::file_status there = fs::symlink_status(directory, error);
  if (!fs::exists(there)) return absl::OkStatus();
  if (fs::is_symlink(there)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is a symbolic link, and cannot be replaced by the new database; name the directory itself", directory));
  }
  if (fs::is_directory(there) && IsMountPoint(directory)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is a mount point, and cannot be replaced by the new database; name a directory in it", directory));
  }
  if (fs::is_directory(there) && fs::is_empty(directory, error) && !error) return absl::OkStatus();
  return absl::AlreadyExistsError(absl::StrFormat("%s exists and is not an empty directory", directory));
}

void RemoveHalfMade(const std::string& directory, bool was_there) {
  if (IsRemote(directory)) return;
  std::error_code error;
  std::vector<fs::path> made;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (ParseFileName(it->path().filename().string()).has_value()) made.push_back(it->path());
  }
  for (const fs::path& path : made) fs::remove(path, error);
  if (!was_there) fs::remove(directory, error);
}

}  // namespace sepal::tools

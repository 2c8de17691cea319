#include "tools/sepal/new_part.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_format.h"
#include "sepal/file_system.h"
#include "tools/sepal/new_place.h"
#include "util/base/status.h"

namespace sepal::tools {
namespace {

namespace fs = std::filesystem;

absl::StatusOr<std::unique_ptr<Directory>> OpenDirectory(const std::string& path, bool create) {
  return FileSystem::Posix()->OpenDirectory(path, create);
}

}  // namespace

NewPart::NewPart(std::string directory, std::string verb, std::function<absl::Status(const std::string& part)> remove)
    : directory_(std::move(directory)),
      path_(directory_ + ".part"),
      verb_(std::move(verb)),
      marker_(absl::AsciiStrToUpper(verb_) + "ING"),
      remove_(std::move(remove)) {}

absl::Status NewPart::CheckTarget(const std::string& source) const {
  RETURN_IF_ERROR(CheckReplaceable(directory_));
  std::error_code error;
  const fs::path inside = fs::weakly_canonical(directory_, error), around = fs::weakly_canonical(source, error);
  if (std::mismatch(around.begin(), around.end(), inside.begin(), inside.end()).first != around.end()) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      absl::StrFormat("%s is in the source %s, which an %s does not change", directory_, source, verb_));
}

absl::Status NewPart::Remove() const {
  std::error_code error;
  const fs::file_status there = fs::symlink_status(path_, error);
  if (!fs::exists(there)) return absl::OkStatus();
  const fs::path marker = fs::path(path_) / marker_;
  if (fs::is_directory(there) && fs::exists(marker, error)) {
    const absl::Status removed = remove_(path_);
    if (absl::IsUnavailable(removed)) {
      return absl::UnavailableError(absl::StrFormat("another %s writes to %s", verb_, path_));
    }
    RETURN_IF_ERROR(removed);
    fs::remove(marker, error);
  }
  // If it is empty.
  if (fs::is_directory(there) && (!fs::exists(path_, error) || fs::remove(path_, error))) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("%s exists, and is not what an interrupted %s has left; move it or remove it", path_, verb_));
}

absl::Status NewPart::Begin() const {
  ASSIGN_OR_RETURN(const std::unique_ptr<Directory> directory, OpenDirectory(path_, /*create=*/true));
  ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> marker, directory->OpenForWrite(marker_, WriteMode::kCreateNew));
  RETURN_IF_ERROR(marker->Close());
  return directory->Sync();
}

absl::Status NewPart::WithPlaceOfWhole(const absl::Status& status, const std::string& place) const {
  if (status.ok()) return status;
  return absl::InternalError(
      absl::StrFormat("%s; the database that was %sed is %s", ToStd(status.message()), verb_, place));
}

absl::Status NewPart::Unmark() const {
  ASSIGN_OR_RETURN(const std::unique_ptr<Directory> directory, OpenDirectory(path_, /*create=*/false));
  RETURN_IF_ERROR(directory->Remove(marker_));
  return WithPlaceOfWhole(directory->Sync(), path_);
}

absl::Status NewPart::GiveName() const {
  std::error_code error;
  fs::rename(path_, directory_, error);
  if (error) {
    return WithPlaceOfWhole(absl::InternalError(absl::StrFormat("%s: %s", directory_, error.message())), path_);
  }
  std::string parent = fs::path(directory_).parent_path();
  if (parent.empty()) parent = ".";
  const absl::StatusOr<std::unique_ptr<Directory>> handle = OpenDirectory(parent, /*create=*/false);
  return WithPlaceOfWhole(handle.ok() ? (*handle)->Sync() : handle.status(), directory_);
}

absl::Status NewPart::Finish() const {
  RETURN_IF_ERROR(Unmark());
  return GiveName();
}

}  // namespace sepal::tools

#include "db/engine/open/log_place.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/act/log/log_recovery.h"
#include "db/act/manifest/manifest_recovery.h"
#include "util/base/status.h"

namespace sepal {
namespace {

std::string WithoutSlash(std::string_view path) {
  const size_t end = path.find_last_not_of('/');
  return std::string(path.substr(0, end == std::string_view::npos ? 1 : end + 1));
}

// Symbolic links are resolved in the database's path, so that it is the same under all its names. Those in the log
// directory's path are kept, because they may point to another disk after the logs were moved there.
std::string PlaceOf(FileSystem* files, std::string_view path, bool follow_links) {
  if (files != FileSystem::Posix()) return WithoutSlash(path);
  std::error_code error;
  const std::filesystem::path whole =
      follow_links ? std::filesystem::weakly_canonical(path, error) : std::filesystem::absolute(path, error);
  return WithoutSlash(error ? std::string(path) : whole.string());
}

// Returns whether the directory has a log that the database needs; false if it cannot be read.
bool HoldsLogs(FileSystem* files, std::string_view path, const KeptLogs& kept) {
  const absl::StatusOr<std::unique_ptr<Directory>> directory = files->OpenDirectory(path, /*create=*/false);
  if (!directory.ok()) return false;
  const absl::StatusOr<std::vector<LogFile>> logs = ListLogs(directory->get());
  return logs.ok() && std::any_of(logs->begin(), logs->end(), [&](const LogFile& log) {
           return log.header.has_value() && log.header->database_id == kept.database_id &&
                  log.header->number >= kept.needed;
         });
}

bool SameDirectory(FileSystem* files, std::string_view a, std::string_view b) {
  if (WithoutSlash(a) == WithoutSlash(b)) return true;
  const auto one = files->OpenDirectory(a, /*create=*/false);
  const auto other = files->OpenDirectory(b, /*create=*/false);
  return one.ok() && other.ok() && (*one)->Identity() == (*other)->Identity();
}

}  // namespace

KeptLogDirectory PlacesToKeep(FileSystem* files, std::string_view log_directory, std::string_view path) {
  return {.logs = PlaceOf(files, log_directory, /*follow_links=*/false),
          .database = PlaceOf(files, path, /*follow_links=*/true)};
}

void KeptLogs::TakeEdit(const VersionEdit& edit) {
  if (edit.log_directory.has_value()) place = edit.log_directory;
  if (edit.database_id.has_value()) database_id = *edit.database_id;
  if (edit.min_log_number.has_value()) needed = *edit.min_log_number;
}

absl::StatusOr<std::string> LogDirectoryOf(FileSystem* files, std::string_view path, const std::string& given,
                                           const KeptLogs& kept) {
  if (!kept.place.has_value()) return given;
  const auto& [logs, database] = *kept.place;
  const bool moved = database != PlaceOf(files, path, /*follow_links=*/true);
  if (!given.empty()) {
    if (moved || SameDirectory(files, given, logs) || !HoldsLogs(files, logs, kept)) return given;
    return absl::FailedPreconditionError(
        absl::StrFormat("log_directory is %s, but the write-ahead logs of the database in %s are in %s: open it with "
                        "that log_directory, or move the logs first",
                        given, path, logs));
  }
  if (HoldsLogs(files, path, kept)) return given;
  if (moved) {
    return absl::DataLossError(absl::StrFormat(
        "%s: its write-ahead logs were in %s when the database was in %s; set Options::log_directory to where they are "
        "now: to the same directory if the database was moved, or to the copy of the logs if this is a copy",
        path, logs, database));
  }
  const absl::StatusOr<std::unique_ptr<Directory>> directory = files->OpenDirectory(logs, /*create=*/false);
  if (absl::IsNotFound(directory.status())) {
    return absl::DataLossError(
        absl::StrFormat("%s: its write-ahead logs were in %s, which does not exist; if they are in another directory, "
                        "set Options::log_directory to it",
                        path, logs));
  }
  RETURN_IF_ERROR(directory.status());
  return logs;
}

absl::StatusOr<std::string> FindLogDirectory(FileSystem* files, std::string_view path, const std::string& given) {
  const absl::StatusOr<std::unique_ptr<Directory>> directory = files->OpenDirectory(path, /*create=*/false);
  if (!directory.ok()) return given;
  KeptLogs kept;
  // The caller finds out about errors in the manifest.
  RecoverManifest(directory->get(), ManifestReference{}, /*other_files=*/false,
                  [&](const VersionEdit& edit) {
                    kept.TakeEdit(edit);
                    return absl::OkStatus();
                  })
      .status()
      .IgnoreError();
  return LogDirectoryOf(files, path, given, kept);
}

}  // namespace sepal

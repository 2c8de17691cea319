#include "db/engine/open/other_engines.h"

#include <memory>
#include <optional>

#include "absl/strings/str_format.h"
#include "db/act/files/directory_listing.h"
#include "db/format/file_names.h"
#include "util/base/status.h"

namespace sepal {

absl::Status CheckNotForeign(Directory* directory, std::string_view path) {
  ASSIGN_OR_RETURN(const bool foreign, FileExists(directory, "CURRENT"));
  if (!foreign) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrFormat("%s holds a LevelDB or RocksDB database (it has a file CURRENT), which Sepal neither reads nor "
                      "changes; `sepal import` copies its contents",
                      path));
}

absl::Status CheckHoldsNoDatabase(const std::vector<DirectoryEntry>& listing, std::string_view path) {
  for (const DirectoryEntry& entry : listing) {
    const std::optional<ParsedFileName> parsed = ParseFileName(entry.name);
    if (!parsed.has_value() || (parsed->kind != FileKind::kTable && parsed->kind != FileKind::kManifest)) continue;
    return absl::FailedPreconditionError(
        absl::StrFormat("log_directory %s holds %s, so it is another database's: give these logs a directory of their "
                        "own, or leave log_directory empty to keep them in the database directory",
                        path, entry.name));
  }
  return absl::OkStatus();
}

absl::Status CheckLogsAreOf(std::span<const LogFile> logs, uint64_t id, std::string_view log_path,
                            std::string_view path) {
  for (const LogFile& log : logs) {
    if (!log.header.has_value() || log.header->database_id == id) continue;
    return absl::FailedPreconditionError(
        absl::StrFormat("log_directory %s holds %s, a log of a database other than the one in %s: give these logs a "
                        "directory of their own",
                        log_path, log.name, path));
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> LogsLieElsewhere(FileSystem* files, const Options& options, std::string_view path) {
  const auto without_slash = [](std::string_view p) { return p.substr(0, p.find_last_not_of('/') + 1); };
  if (options.log_directory.empty() || without_slash(options.log_directory) == without_slash(path)) return false;
  const auto own = files->OpenDirectory(path, /*create=*/false);
  const auto other = files->OpenDirectory(options.log_directory, /*create=*/false);
  if (absl::IsNotFound(own.status()) || absl::IsNotFound(other.status())) return true;
  RETURN_IF_ERROR(own.status());
  RETURN_IF_ERROR(other.status());
  return (*own)->Identity() != (*other)->Identity();
}

}  // namespace sepal

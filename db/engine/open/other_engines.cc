#include "db/engine/open/other_engines.h"

#include <memory>
#include <optional>

#include "absl/strings/str_format.h"
#include "db/act/files/buffered_file_reader.h"
#include "db/act/files/directory_listing.h"
#include "db/act/files/guard.h"
#include "db/format/file_names.h"
#include "db/format/manifest_format.h"
#include "util/base/coding.h"
#include "util/base/status.h"

namespace sepal {

namespace {

// Returns whether the file is one of Sepal's manifests, by its first bytes.
bool BeginsAsManifest(Directory* directory, std::string_view name) {
  absl::StatusOr<BufferedFileReader> file = BufferedFileReader::Open(directory, name, sizeof(kManifestMagic));
  if (!file.ok()) return false;
  const absl::StatusOr<std::string_view> magic = file->At(0, sizeof(kManifestMagic));
  return magic.ok() && magic->size() == sizeof(kManifestMagic) && DecodeFixed64(magic->data()) == kManifestMagic;
}

// Returns whether another engine's database would be lost without the file. A loss of power may have emptied that
// database's CURRENT.
bool MayBeOfAnotherEngine(std::string_view name) {
  for (const std::string_view prefix : {"MANIFEST-", "OPTIONS-", "IDENTITY"}) {
    if (name.starts_with(prefix)) return true;
  }
  for (const std::string_view suffix : {".ldb", ".sst", ".log", ".blob", ".dbtmp"}) {
    if (name.ends_with(suffix)) return true;
  }
  return false;
}

absl::StatusOr<bool> UnfinishedGuardIsOurs(Directory* directory) {
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, directory->List());
  bool other_engine = false;
  for (const DirectoryEntry& entry : listing) {
    if (!MayBeOfAnotherEngine(entry.name)) continue;
    if (BeginsAsManifest(directory, entry.name)) return true;
    other_engine = true;
  }
  return !other_engine;
}

absl::Status MayBeForeign(std::string_view path) {
  return absl::FailedPreconditionError(
      absl::StrFormat("%s may hold a LevelDB or RocksDB database: its file CURRENT is short or cannot be read, and no "
                      "manifest of Sepal's is there; if no other engine's database was ever there, remove CURRENT",
                      path));
}

absl::Status Foreign(std::string_view path) {
  return absl::FailedPreconditionError(
      absl::StrFormat("%s holds a LevelDB or RocksDB database (it has a file CURRENT), which Sepal neither reads nor "
                      "changes; `sepal import` copies its contents",
                      path));
}

// Reads the guard; an error if it is not Sepal's.
absl::StatusOr<GuardState> OwnGuard(Directory* directory, std::string_view path) {
  ASSIGN_OR_RETURN(GuardState guard, ReadGuard(directory));
  if (guard == GuardState::kUnfinished) {
    ASSIGN_OR_RETURN(const bool ours, UnfinishedGuardIsOurs(directory));
    // Another opening may have completed it meanwhile, and created what was listed.
    if (!ours) {
      ASSIGN_OR_RETURN(guard, ReadGuard(directory));
      if (guard == GuardState::kUnfinished) return MayBeForeign(path);
    }
  }
  if (guard == GuardState::kForeign) return Foreign(path);
  return guard;
}

}  // namespace

absl::Status CheckNotForeign(Directory* directory, std::string_view path) { return OwnGuard(directory, path).status(); }

absl::Status EnsureGuard(Directory* directory, std::string_view path) {
  ASSIGN_OR_RETURN(const GuardState guard, OwnGuard(directory, path));
  if (guard == GuardState::kWhole) return absl::OkStatus();
  if (guard == GuardState::kUnfinished) RETURN_IF_ERROR(directory->Remove(kGuardFileName));
  RETURN_IF_ERROR(WriteGuard(directory));
  const absl::Status synced = directory->Sync();
  // Otherwise a name that the failed sync has lost would be taken for a durable one.
  if (!synced.ok()) directory->Remove(kGuardFileName).IgnoreError();
  return synced;
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

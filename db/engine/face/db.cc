// Functions on databases that are not open.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/act/files/directory_listing.h"
#include "db/act/log/log_recovery.h"
#include "db/act/manifest/manifest_recovery.h"
#include "db/engine/core/shared_resources_impl.h"
#include "db/engine/face/engine.h"
#include "db/engine/open/database_lock.h"
#include "db/engine/open/log_place.h"
#include "db/engine/open/opening.h"
#include "db/engine/open/other_engines.h"
#include "db/format/file_names.h"
#include "db/format/system_row.h"
#include "util/base/status.h"
#include "util/files/retry_beside_writer.h"

namespace sepal {

absl::StatusOr<std::unique_ptr<DB>> Engine::Open(const Options& options, const Tuning& tuning,
                                                 std::string_view directory) {
  const auto open = [&]() -> absl::StatusOr<DatabaseParts> {
    Options there = options;
    {
      // The first opening's lock is released before the second try.
      Opening opening(options, tuning, directory);
      absl::StatusOr<DatabaseParts> opened = opening.Run();
      if (!opening.logs_elsewhere().has_value()) return opened;
      there.log_directory = *opening.logs_elsewhere();
    }
    return Opening(there, tuning, directory).Run();
  };
  ASSIGN_OR_RETURN(DatabaseParts parts, options.read_only ? RetryBesideWriter(open) : open());
  auto engine = std::make_unique<Engine>(std::move(parts));
  if (!engine->read_only_ && engine->had_system_rows_) RETURN_IF_ERROR(engine->RetakeLocks());
  RETURN_IF_ERROR(engine->StartHistories());
  return engine;
}

absl::StatusOr<std::unique_ptr<DB>> DB::Open(const Options& options, std::string_view directory) {
  const Options with_limits = SharedResourcesAccess::WithLimits(options);
  const size_t sharers = options.shared != nullptr ? options.shared->databases() + 1 : 1;
  return Engine::Open(with_limits, Tuning::From(with_limits, sharers), directory);
}

namespace {

absl::Status CannotTellWhoseLogs(const absl::Status& damage, const Options& options, std::string_view path) {
  return absl::FailedPreconditionError(
      absl::StrFormat("%s: so it is unknown whether the logs in log_directory %s belong to the database in %s: repair "
                      "it first, or remove its logs yourself and destroy it without log_directory",
                      ToStd(damage.message()), options.log_directory, path));
}

absl::Status RemoveIfThere(Directory* directory, std::string_view name) {
  const absl::Status removed = directory->Remove(name);
  return absl::IsNotFound(removed) ? absl::OkStatus() : removed;
}

// Removes the logs of the database in `directory`, whose manifest still exists. Removes nothing if any log belongs, or
// may belong, to another database.
absl::Status RemoveLogsElsewhere(FileSystem* files, const Options& options, Directory* directory,
                                 std::string_view path) {
  ASSIGN_OR_RETURN(const bool elsewhere, LogsLieElsewhere(files, options, path));
  if (!elsewhere) return absl::OkStatus();
  const absl::StatusOr<std::unique_ptr<Directory>> log_directory =
      files->OpenDirectory(options.log_directory, /*create=*/false);
  if (absl::IsNotFound(log_directory.status())) return absl::OkStatus();
  RETURN_IF_ERROR(log_directory.status());
  ASSIGN_OR_RETURN(const std::unique_ptr<DirectoryLock> lock, LockLogDirectory(log_directory->get()));
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, (*log_directory)->List());
  ASSIGN_OR_RETURN(const std::vector<LogFile> logs, ListLogs(log_directory->get(), listing));
  const absl::StatusOr<ManifestRecovery> manifest = RecoverManifest(
      directory, ManifestReference{}, /*other_files=*/false, [](const VersionEdit&) { return absl::OkStatus(); });
  const bool any = std::any_of(logs.begin(), logs.end(), [](const LogFile& log) { return log.header.has_value(); });
  if (!manifest.ok() && !absl::IsDataLoss(manifest.status())) return manifest.status();
  if (!manifest.ok() && any) return CannotTellWhoseLogs(manifest.status(), options, path);
  const bool known = manifest.ok() && manifest->found;
  RETURN_IF_ERROR(CheckLogsAreOf(logs, known ? manifest->database_id : 0, options.log_directory, path));
  for (const DirectoryEntry& entry : listing) {
    const std::optional<ParsedFileName> parsed = ParseFileName(entry.name);
    const bool of_a_log = parsed.has_value() && (parsed->kind == FileKind::kLog || parsed->kind == FileKind::kLogRing);
    if (of_a_log) RETURN_IF_ERROR((*log_directory)->Remove(entry.name));
  }
  RETURN_IF_ERROR(RemoveIfThere(log_directory->get(), kLockFileName));
  // Synced before the manifest is removed, because the manifest proves that the logs are the database's own.
  return (*log_directory)->Sync();
}

// Called with the lock held; the lock file goes last, after the guard. Lists again, because the previous holder may
// have changed files until then. The manifest goes first, so that a crash never leaves a database that lacks tables.
absl::Status RemoveDatabaseFiles(Directory* directory) {
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, directory->List());
  for (const bool manifests : {true, false}) {
    for (const DirectoryEntry& entry : listing) {
      const std::optional<ParsedFileName> parsed = ParseFileName(entry.name);
      if (!parsed.has_value() || parsed->kind == FileKind::kLock || parsed->kind == FileKind::kGuard) continue;
      if ((parsed->kind == FileKind::kManifest) != manifests) continue;
      RETURN_IF_ERROR(RemoveIfThere(directory, entry.name));
    }
    RETURN_IF_ERROR(directory->Sync());
  }
  RETURN_IF_ERROR(RemoveIfThere(directory, kGuardFileName));
  RETURN_IF_ERROR(RemoveIfThere(directory, kLockFileName));
  return directory->Sync();
}

// Parses the name of a file that a repair has put aside, possibly with a number appended to make it unique.
std::optional<ParsedFileName> ParseNameAside(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789");
  const bool numbered = end != std::string_view::npos && end + 1 < name.size() && name[end] == '.';
  return ParseFileName(numbered ? name.substr(0, end) : name);
}

struct PutAside {
  std::unique_ptr<Directory> directory;  // null if nothing was put aside
  std::vector<std::string> names;
};

// A directory with a lock or an info log is a database, not the result of a repair.
absl::StatusOr<PutAside> FindWhatIsPutAside(FileSystem* files, const std::string& lost) {
  absl::StatusOr<std::unique_ptr<Directory>> directory = files->OpenDirectory(lost, /*create=*/false);
  const bool none = absl::IsNotFound(directory.status()) || absl::IsFailedPrecondition(directory.status());
  if (none) return PutAside();
  RETURN_IF_ERROR(directory.status());
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, (*directory)->List());
  PutAside found{.directory = std::move(directory).value(), .names = {}};
  for (const DirectoryEntry& entry : listing) {
    const std::optional<ParsedFileName> parsed = ParseNameAside(entry.name);
    if (!parsed.has_value()) continue;
    switch (parsed->kind) {
      case FileKind::kTable:
      case FileKind::kValues:
      case FileKind::kLog:
      case FileKind::kLogRing:
      case FileKind::kManifest:
        found.names.push_back(entry.name);
        break;
      case FileKind::kLock:
      case FileKind::kInfoLog:
      case FileKind::kOldInfoLog:
      case FileKind::kGuard:
        return PutAside();
    }
  }
  return found;
}

absl::Status RemoveWhatIsPutAside(FileSystem* files, const std::string& lost, const PutAside& found) {
  if (found.directory == nullptr) return absl::OkStatus();
  for (const std::string& name : found.names) RETURN_IF_ERROR(RemoveIfThere(found.directory.get(), name));
  RETURN_IF_ERROR(found.directory->Sync());
  // It stays if it has other files.
  files->RemoveDirectory(lost).IgnoreError();
  return absl::OkStatus();
}

}  // namespace

absl::Status DB::Destroy(const Options& given, std::string_view path) {
  const World world = World::From(given.env);
  Options options = given;
  if (given.log_directory.empty()) {
    // Logs that are gone, or may belong to another copy, are left alone.
    options.log_directory = FindLogDirectory(world.file_system, path, "").value_or("");
  }
  absl::StatusOr<std::unique_ptr<Directory>> directory = world.file_system->OpenDirectory(path, /*create=*/false);
  if (absl::IsNotFound(directory.status())) return absl::OkStatus();
  RETURN_IF_ERROR(directory.status());
  RETURN_IF_ERROR(CheckNotForeign(directory->get(), path));
  ASSIGN_OR_RETURN(const bool any, HoldsDatabaseFiles(directory->get()));
  if (any) {
    const absl::StatusOr<std::unique_ptr<DirectoryLock>> lock = (*directory)->Lock(kLockFileName);
    // Another process has destroyed the database meanwhile, and the directory is gone.
    if (absl::IsNotFound(lock.status())) return absl::OkStatus();
    RETURN_IF_ERROR(lock.status());
    const std::string lost = absl::StrFormat("%s/%s", path, kLostDirectoryName);
    ASSIGN_OR_RETURN(const PutAside put_aside, FindWhatIsPutAside(world.file_system, lost));
    RETURN_IF_ERROR(RemoveLogsElsewhere(world.file_system, options, directory->get(), path));
    RETURN_IF_ERROR(RemoveWhatIsPutAside(world.file_system, lost, put_aside));
    RETURN_IF_ERROR(RemoveDatabaseFiles(directory->get()));
  }
  directory->reset();
  // It stays if it has other files.
  world.file_system->RemoveDirectory(path).IgnoreError();
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> DB::ListColumnFamilies(const Options& options, std::string_view path) {
  const World world = World::From(options.env);
  return RetryBesideWriter([&]() -> absl::StatusOr<std::vector<std::string>> {
    ASSIGN_OR_RETURN(const std::unique_ptr<Directory> directory,
                     world.file_system->OpenDirectory(path, /*create=*/false));
    RETURN_IF_ERROR(CheckNotForeign(directory.get(), path));
    std::map<ColumnFamilyId, std::string> names;
    ASSIGN_OR_RETURN(
        const ManifestRecovery manifest,
        RecoverManifest(directory.get(), ManifestReference{}, /*other_files=*/false, [&](const VersionEdit& edit) {
          for (const ColumnFamilyCreation& made : edit.created_families) names[made.id] = made.name;
          for (const ColumnFamilyId id : edit.dropped_families) names.erase(id);
          return absl::OkStatus();
        }));
    if (!manifest.found) return absl::NotFoundError(absl::StrFormat("there is no database in %s", path));
    std::vector<std::string> list;
    for (auto& [id, name] : names) {
      if (id != kSystemFamilyId) list.push_back(std::move(name));
    }
    return list;
  });
}

}  // namespace sepal

#include "tools/sepal/database_access.h"

#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "db/act/files/guard.h"
#include "db/doctor/kept_families.h"
#include "db/engine/core/check_options.h"
#include "db/engine/open/other_engines.h"
#include "db/format/file_names.h"
#include "db/state/version/manifest_state.h"
#include "sepal/options_text.h"
#include "tools/files/tool_files.h"
#include "tools/sepal/new_place.h"
#include "tools/terminal/cli.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/files/retry_beside_writer.h"

namespace sepal::tools {
namespace {

constexpr std::string_view kNoFamily = "there is no column family";

bool IsManifest(const std::filesystem::path& file) {
  const std::optional<ParsedFileName> name = ParseFileName(file.filename().string());
  return name.has_value() && name->kind == FileKind::kManifest;
}

// The contents of a directory that has no database.
struct Contents {
  std::string other_file = {};  // the first by name
  std::string database = {};    // a directory in it that has one; the last by name, which is the newest of backups
};

Contents Look(const std::filesystem::path& directory) {
  Contents contents;
  std::error_code error;
  for (std::filesystem::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (contents.other_file.empty() || name < contents.other_file) contents.other_file = name;
    std::error_code inner;
    for (std::filesystem::directory_iterator file(it->path(), inner); !inner && file != end; file.increment(inner)) {
      if (IsManifest(file->path())) contents.database = std::max(contents.database, it->path().string());
    }
  }
  return contents;
}

// A database beside `path` that may have been meant: "; did you mean /var/lib/app?", or nothing.
std::string NearDatabase(const std::filesystem::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  const std::filesystem::path parent = path.has_parent_path() ? path.parent_path() : ".";
  for (std::filesystem::directory_iterator it(parent, error), end; !error && it != end; it.increment(error)) {
    if (HoldsDatabase(it->path().string())) names.push_back(it->path().filename().string());
  }
  const std::string nearest = Nearest(names, path.filename().string());
  if (nearest.empty()) return "";
  return absl::StrFormat("; did you mean %s?", path.has_parent_path() ? (parent / nearest).string() : nearest);
}

// Not ok if CURRENT exists, and is or may be another engine's file rather than the guard.
absl::Status WhyForeign(const std::string& directory) {
  const auto opened = ToolFiles()->OpenDirectory(directory, /*create=*/false);
  if (!opened.ok()) return absl::OkStatus();
  const absl::Status whose = CheckNotForeign(opened->get(), directory);
  if (!absl::IsFailedPrecondition(whose)) return absl::OkStatus();
  const absl::StatusOr<GuardState> guard = ReadGuard(opened->get());
  if (!guard.ok() || *guard != GuardState::kForeign) return absl::NotFoundError(whose.message());
  return absl::NotFoundError(
      absl::StrFormat("%s holds a LevelDB or RocksDB database (it has a file CURRENT), which Sepal does not open; "
                      "sepal import NEW %s copies its contents into a new Sepal database",
                      directory, directory));
}

bool IsForeign(const std::string& directory) { return !WhyForeign(directory).ok(); }

// The error for a directory without a database, with a remedy.
absl::Status NoDatabase(const std::string& directory) {
  if (IsRemote(directory)) {
    RETURN_IF_ERROR(ToolFiles()->OpenDirectory(directory, /*create=*/false).status());
    return absl::NotFoundError(absl::StrFormat("%s holds no database", directory));
  }
  std::error_code error;
  const std::filesystem::path path(directory);
  RETURN_IF_ERROR(CheckLink(directory));
  if (!std::filesystem::exists(path, error)) {
    return absl::NotFoundError(absl::StrFormat("%s does not exist%s", directory, NearDatabase(path)));
  }
  if (!std::filesystem::is_directory(path, error)) {
    return absl::NotFoundError(
        absl::StrFormat("%s is a file; a database is a directory (for one table file: sepal sst show)", directory));
  }
  RETURN_IF_ERROR(WhyForeign(directory));
  const Contents contents = Look(path);
  if (!contents.database.empty()) {
    return absl::NotFoundError(absl::StrFormat("%s is not a database, but %s is", directory, contents.database));
  }
  if (!contents.other_file.empty()) {
    return absl::NotFoundError(absl::StrFormat("%s is not a database: it holds %s, but no file MANIFEST-NNNNNN",
                                               directory, contents.other_file));
  }
  return absl::NotFoundError(absl::StrFormat("%s is an empty directory, not a database", directory));
}

// The tables of each family in the order of the tree; only those in bytewise order can be arranged.
absl::Status TakeFamilies(ManifestState* manifest, std::map<ColumnFamilyId, FamilyTree>* families) {
  for (auto& [id, described] : manifest->families) {
    FamilyTree& family = (*families)[id];
    family.created = described.creation;
    family.flushed_through = described.flushed_through;
    family.kept_options = described.kept_options;
    if (described.creation.comparator_name == BytewiseComparator()->Name()) {
      ASSIGN_OR_RETURN(family.version, described.tables.Build());
    }
    family.tables = family.version != nullptr ? family.version->Contents(id) : described.tables.Added(id);
  }
  return absl::OkStatus();
}

// For a file that was listed a moment ago: a live writer has removed it.
absl::Status Vanished(const absl::Status& status) {
  return absl::IsNotFound(status) ? absl::AbortedError(status.message()) : status;
}

// The logs of the database; `directory` is where its tables lie.
absl::StatusOr<std::vector<LogFile>> LogsOf(const Place& place, Directory* directory) {
  std::unique_ptr<Directory> elsewhere;
  if (!place.log_directory.empty()) {
    ASSIGN_OR_RETURN(elsewhere, ToolFiles()->OpenDirectory(place.log_directory, /*create=*/false));
  }
  absl::StatusOr<std::vector<LogFile>> logs = ListLogs(elsewhere != nullptr ? elsewhere.get() : directory);
  if (!logs.ok()) return Vanished(logs.status());
  return logs;
}

// `edits` are those of the newest manifest, up to the damage if there is any.
absl::StatusOr<Tree> ReadTreeOnce(const Place& place, std::vector<VersionEdit>* edits) {
  const std::string& path = place.directory;
  absl::StatusOr<std::unique_ptr<Directory>> directory = ToolFiles()->OpenDirectory(path, /*create=*/false);
  if (!directory.ok()) return WithRemedy(directory.status(), place);
  Tree tree;
  tree.place = place;
  absl::StatusOr<std::vector<LogFile>> logs = LogsOf(place, directory->get());
  if (!logs.ok()) return WithRemedy(logs.status(), place);
  tree.logs = *std::move(logs);
  if (IsForeign(path)) return NoDatabase(path);
  ManifestState state;
  absl::StatusOr<ManifestRecovery> manifest =
      RecoverManifest(directory->get(), NewestManifest(tree.logs), /*other_files=*/false, [&](VersionEdit&& edit) {
        edits->push_back(edit);
        tree.kept_logs.TakeEdit(edit);
        return state.Take(std::move(edit));
      });
  if (!manifest.ok()) return Vanished(manifest.status());
  tree.manifest = *std::move(manifest);
  if (!tree.manifest.found) return NoDatabase(path);
  // Missing logs are reported when they are read.
  const absl::StatusOr<std::string> logs_in = LogDirectoryOf(place.Files(), path, place.log_directory, tree.kept_logs);
  if (logs_in.ok() && *logs_in != place.log_directory) {
    edits->clear();
    return ReadTreeOnce({.directory = path, .log_directory = *logs_in}, edits);
  }
  tree.last_sequence = state.last_sequence;
  tree.min_log = state.min_log_number;
  tree.closed_log = state.closed_log;
  RETURN_IF_ERROR(TakeFamilies(&state, &tree.families));
  return tree;
}

}  // namespace

void Place::AddFlags(CLI::App* app) {
  app->add_option("DIR", directory, "Directory of the database")->required();
  app->add_option("--log-directory", log_directory,
                  "Directory of the write-ahead logs (default: as the database was last opened)");
}

void Place::AddFlagsToWrite(CLI::App* app) {
  AddFlags(app);
  app->add_option("--options", options_file, "File of options to write with (sepal options show prints one)")
      ->check(CLI::ExistingFile);
}

FileSystem* Place::Files() const { return FilesFor({directory, log_directory, target}); }

std::string Place::Arguments() const {
  return log_directory.empty() ? directory : directory + " --log-directory " + log_directory;
}

absl::Status WithRemedy(const absl::Status& status, const Place& place) {
  if (status.ok()) return status;
  const std::string& directory = place.directory;
  std::error_code error;
  if (absl::IsNotFound(status) && ToStd(status.message()).starts_with(kNoFamily)) {
    return absl::NotFoundError(absl::StrFormat("%s (it is named by %s; sepal family create makes one)",
                                               ToStd(status.message()).substr(0, ToStd(status.message()).find(';')),
                                               place.options_file));
  }
  const bool no_logs = !place.log_directory.empty() && !std::filesystem::exists(place.log_directory, error);
  if (absl::IsNotFound(status) && no_logs && std::filesystem::is_directory(directory, error)) {
    return absl::NotFoundError(absl::StrFormat("%s does not exist; --log-directory names where the logs of %s lie",
                                               place.log_directory, directory));
  }
  const bool is_there = IsRemote(directory) || std::filesystem::is_directory(directory, error);
  if (absl::IsNotFound(status) || !is_there || IsForeign(directory)) return NoDatabase(directory);
  if (absl::IsUnavailable(status)) {
    // The engine's remedy is for programs.
    const std::string_view message = ToStd(status.message());
    return absl::UnavailableError(
        absl::StrFormat("%s; close it there first (read-only commands such as db get and db scan work beside it)",
                        message.substr(0, message.find("; close"))));
  }
  if (absl::IsResourceExhausted(status)) {
    return absl::ResourceExhaustedError(absl::StrFormat("%s; free some space and try again", ToStd(status.message())));
  }
  if (absl::IsInvalidArgument(status)) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s (the sepal command supports bytewise order only; use the program that has the comparator)",
                        ToStd(status.message())));
  }
  return status;
}

absl::Status WithNothingLeft(const absl::Status& status) {
  if (!absl::IsResourceExhausted(status)) return status;
  return absl::ResourceExhaustedError(
      absl::StrFormat("%s; nothing was left behind: free some space and try again", ToStd(status.message())));
}

Options OptionsAt(const Place& place) {
  Options options;
  options.log_directory = place.log_directory;
  options.env.file_system = place.Files();
  return options;
}

absl::StatusOr<std::unique_ptr<DB>> OpenToRead(const Place& place) {
  Options options = OptionsAt(place);
  options.read_only = true;
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, place.directory);
  if (absl::IsAborted(db.status())) return Overtaken(db.status(), place);
  if (!db.ok()) return WithRemedy(db.status(), place);
  return db;
}

absl::StatusOr<std::unique_ptr<DB>> OpenToWrite(const Place& place, bool create, uint64_t memory_limit) {
  std::error_code error;
  if (create) {
    if (IsForeign(place.directory)) return NoDatabase(place.directory);
    RETURN_IF_ERROR(CheckPlaceForDatabase(place.directory));
  }
  const bool was_there = std::filesystem::exists(place.directory, error);
  const bool fresh = create && !HoldsDatabase(place.directory);
  Options options = OptionsAt(place);
  options.create_if_missing = create;
  options.memory_limit = memory_limit;
  // The opening reports any problem of the database.
  if (auto kept = KeptFamilies(place.Files(), place.directory, place.log_directory); kept.ok()) {
    options.column_families = *std::move(kept);
  }
  if (!place.options_file.empty()) {
    ASSIGN_OR_RETURN(options, OptionsFromFile(place.options_file, options));
    if (options.log_directory.empty() || !place.log_directory.empty()) options.log_directory = place.log_directory;
    if (memory_limit != Options().memory_limit) options.memory_limit = memory_limit;
  }
  absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options, place.directory);
  if (db.ok()) return db;
  const absl::Status told = WithRemedy(db.status(), place);
  // Unavailable: another was faster.
  if (fresh && !absl::IsUnavailable(db.status())) RemoveHalfMade(place.directory, was_there);
  return told;
}

void AddMemoryLimit(CLI::App* app, uint64_t* bytes) {
  const auto check = [](const std::string& number) {
    return std::string(ToStd(CheckOptions({.memory_limit = std::stoull(number)}).message()));
  };
  AddBytes(app, "--memory-limit", bytes, "Limit for all memory; must be more than four times the largest value")
      ->check(CLI::Validator(check, ""))
      ->capture_default_str();
}

absl::Status WithMemoryRemedy(const absl::Status& status) {
  if (!absl::IsInvalidArgument(status) || ToStd(status.message()).find("memory_limit") == std::string_view::npos) {
    return status;
  }
  return absl::InvalidArgumentError(absl::StrFormat("%s (--memory-limit)", ToStd(status.message())));
}

absl::Status Overtaken(const absl::Status& status, const Place& place) {
  const std::string_view message = ToStd(status.message());
  if (message.find("; try again") != message.npos) return status;
  return absl::AbortedError(absl::StrFormat("%s; try again, or read a copy instead (sepal db checkpoint %s COPY)",
                                            message.substr(0, message.find("; open it again")), place.Arguments()));
}

absl::Status LookAt(const Place& place, const std::function<absl::Status(DB*)>& look) {
  constexpr int kLooks = 8;  // beside a live writer
  absl::Status status;
  for (int looks = 0; looks < kLooks; ++looks) {
    ASSIGN_OR_RETURN(const std::unique_ptr<DB> db, OpenToRead(place));
    status = look(db.get());
    if (!absl::IsAborted(status)) return status;
  }
  return Overtaken(status, place);
}

absl::Status CheckNotOpen(const Place& place) {
  if (IsRemote(place.directory)) return absl::OkStatus();  // only taking the lock tells
  const std::string path = absl::StrFormat("%s/%s", place.directory, kLockFileName);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return absl::OkStatus();  // it was never opened, or the opening will report the problem
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  const bool held = fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
  close(fd);
  if (!held) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrFormat("%s is open in another process; close it there first", place.directory));
}

absl::StatusOr<std::shared_ptr<ColumnFamily>> FamilyNamed(DB* db, const std::string& name) {
  absl::StatusOr<std::shared_ptr<ColumnFamily>> family =
      db->FindColumnFamily(name.empty() ? kDefaultColumnFamilyName : name);
  if (!absl::IsNotFound(family.status())) return family;
  std::string known;
  for (const std::string& other : db->ColumnFamilyNames()) known += " " + other;
  return absl::NotFoundError(absl::StrFormat("there is no column family \"%s\"; known:%s", name, known));
}

absl::StatusOr<std::string> BytesFrom(const std::string& text, bool hex) {
  if (!hex) return text;
  std::optional<std::string> bytes = FromHex(text);
  if (!bytes.has_value()) return absl::CancelledError(absl::StrFormat("\"%s\" is not hexadecimal", text));
  return *std::move(bytes);
}

std::vector<AddedTable> Tree::Tables() const {
  std::vector<AddedTable> all;
  for (const auto& [id, family] : families) all.insert(all.end(), family.tables.begin(), family.tables.end());
  return all;
}

absl::StatusOr<Tree> ReadTree(const Place& place, const EditVisitor& visit) {
  std::vector<VersionEdit> edits;
  absl::StatusOr<Tree> tree = RetryBesideWriter([&] {
    edits.clear();
    return ReadTreeOnce(place, &edits);
  });
  if (absl::IsAborted(tree.status())) return Overtaken(tree.status(), place);
  for (const VersionEdit& edit : edits) {
    if (visit) RETURN_IF_ERROR(visit(edit));
  }
  return tree;
}

absl::StatusOr<LogRecovery> ReadLogs(const Tree& tree,
                                     const std::function<absl::Status(SequenceNumber, std::string_view)>& visit) {
  const Place& place = tree.place;
  const std::string& where = place.log_directory.empty() ? place.directory : place.log_directory;
  ASSIGN_OR_RETURN(const std::unique_ptr<Directory> directory, ToolFiles()->OpenDirectory(where, /*create=*/false));
  LogRecoveryOptions options;
  options.database_id = tree.manifest.database_id;
  options.minimum = tree.min_log;
  if (tree.closed_log.has_value()) options.closed = LogEnd{tree.closed_log->number, tree.closed_log->length_bytes};
  return RecoverLogs(directory.get(), tree.logs, options, visit);
}

absl::StatusOr<std::shared_ptr<TableReader>> OpenTableOf(Directory* directory, const TableMetadata& metadata) {
  const std::string name = TableFileName(metadata.number);
  ASSIGN_OR_RETURN(std::unique_ptr<ReadableFile> file, directory->OpenForRead(name));
  TableReaderOptions options;
  options.name = directory->path() + "/" + name;
  options.expected_size = metadata.size_bytes;
  options.expected_table_id = metadata.table_id;
  options.expected_footer_checksum = metadata.footer_checksum;
  return TableReader::Open(std::move(options), std::move(file));
}

nlohmann::json TableJson(const AddedTable& added) {
  const TableMetadata& table = added.table;
  return {{"column_family_id", added.family.value()},
          {"level", added.level},
          {"run", table.run.value()},
          {"number", table.number.value()},
          {"file", TableFileName(table.number)},
          {"bytes", table.size_bytes},
          {"raw_bytes", table.raw_bytes},
          {"entries", table.entries},
          {"tombstones", table.tombstones},
          {"smallest_key", BytesJson(table.smallest.user_key)},
          {"largest_key", BytesJson(table.largest.user_key)},
          {"lowest_sequence", table.lowest_sequence.value()},
          {"highest_sequence", table.highest_sequence.value()},
          {"table_id", Hex64(table.table_id)},
          {"creation_unix_micros", table.creation_unix_micros}};
}

std::string ShownKey(std::string_view key) { return "'" + Escaped(key, 40) + "'"; }

}  // namespace sepal::tools

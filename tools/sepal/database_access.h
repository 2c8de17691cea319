// Opens databases for tools, and reads their files without opening them.
//
// Read-only verbs use `OpenToRead` or `ReadTree`: neither takes a lock nor writes, and both work beside a live writer.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "db/act/log/log_recovery.h"
#include "db/act/manifest/manifest_recovery.h"
#include "db/engine/open/log_place.h"
#include "db/format/version_edit.h"
#include "db/state/version/version.h"
#include "sepal/db.h"
#include "table/file/table_reader.h"

namespace CLI {
class App;
}  // namespace CLI

namespace sepal::tools {

// The place of a database (tools/files/tool_files.h). `log_directory` is empty if the logs lie beside the tables.
struct Place {
  std::string directory = {};
  std::string log_directory = {};
  // The target if it is going to be copied, perhaps from a cluster, or into one.
  std::string target = {};
  // For verbs that write; empty: none.
  std::string options_file = {};

  // DIR, the first argument of every verb, and --log-directory.
  void AddFlags(CLI::App* app);
  // The same, and --options.
  void AddFlagsToWrite(CLI::App* app);
  // The two arguments as text: "/db --log-directory /logs".
  std::string Arguments() const;
  FileSystem* Files() const;
};

// Returns an error of the database there with a remedy in terms of the command.
absl::Status WithRemedy(const absl::Status& status, const Place& place);
// The same for creating a new database, which removes its files when it fails.
absl::Status WithNothingLeft(const absl::Status& status);

// Options for a database there: only its place and that of its logs.
Options OptionsAt(const Place& place);

// Errors contain a remedy. A database is written with the options that its manifest stores, except for those that the
// file of --options changes.
absl::StatusOr<std::unique_ptr<DB>> OpenToRead(const Place& place);
absl::StatusOr<std::unique_ptr<DB>> OpenToWrite(const Place& place, bool create,
                                                uint64_t memory_limit = Options().memory_limit);

// --memory-limit, for verbs that write values, each of which may take at most a quarter of it.
void AddMemoryLimit(CLI::App* app, uint64_t* bytes);
// Returns an error of a write, with that flag as the remedy if it helps.
absl::Status WithMemoryRemedy(const absl::Status& status);

// Calls `look` with a view of the database, and again with a newer one if it returns Aborted, because a live writer has
// removed files of the view. So `look` must not return Aborted once it has printed anything.
absl::Status LookAt(const Place& place, const std::function<absl::Status(DB*)>& look);
// The error to report then, or if it happens repeatedly.
absl::Status Overtaken(const absl::Status& status, const Place& place);
// Unavailable if some process has the database open for writing, as far as this can be seen without taking the lock.
absl::Status CheckNotOpen(const Place& place);

// The family of that name; the default one for an empty name.
absl::StatusOr<std::shared_ptr<ColumnFamily>> FamilyNamed(DB* db, const std::string& name);

// A key or value from the command line: `text`, or with --hex the bytes that it encodes.
absl::StatusOr<std::string> BytesFrom(const std::string& text, bool hex);

// One column family according to the manifest.
struct FamilyTree {
  ColumnFamilyCreation created;
  SequenceNumber flushed_through;
  std::string kept_options;  // db/format/kept_options.h
  // Null for a family whose order is not bytewise: only a program that has its comparator can say more.
  VersionRef version;
  std::vector<AddedTable> tables;
};

// The database according to manifest and log headers.
struct Tree {
  Place place;  // with the log directory that was found
  ManifestRecovery manifest;
  std::vector<LogFile> logs;
  SequenceNumber last_sequence;
  FileNumber min_log;
  std::optional<ClosedLog> closed_log;
  KeptLogs kept_logs;
  std::map<ColumnFamilyId, FamilyTree> families;

  std::vector<AddedTable> Tables() const;
};

using EditVisitor = std::function<absl::Status(const VersionEdit& edit)>;

// Reads everything; `visit`, if any, is then called for each edit of the newest manifest, in order: for a damaged one
// up to the damage. DataLoss for a damaged manifest, NotFound for no database, Aborted if a live writer was faster
// every time.
absl::StatusOr<Tree> ReadTree(const Place& place, const EditVisitor& visit = nullptr);

// Reads the write-ahead logs of the tree: `visit` is called for each batch with the sequence number of its first
// update.
absl::StatusOr<LogRecovery> ReadLogs(const Tree& tree,
                                     const std::function<absl::Status(SequenceNumber, std::string_view)>& visit);

// Opens a table of the tree, to be checked against its entry in the manifest.
absl::StatusOr<std::shared_ptr<TableReader>> OpenTableOf(Directory* directory, const TableMetadata& metadata);

// A table of the tree, as JSON.
nlohmann::json TableJson(const AddedTable& added);

// A user key for people.
std::string ShownKey(std::string_view key);

}  // namespace sepal::tools

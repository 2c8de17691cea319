// Databases as tools open them, and what their files say without opening them.
//
// What only looks uses `OpenToRead` or `ReadTree`: neither takes a lock nor writes, and both work beside a live writer.
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

// Where a database lies (tools/files/tool_files.h). `log_directory` is empty where the logs lie beside the tables.
struct Place {
  std::string directory = {};
  std::string log_directory = {};
  // Where it is going to be copied, if anywhere: maybe from a cluster, or into one.
  std::string target = {};
  // Of verbs that write; empty: none.
  std::string options_file = {};

  // DIR, the first argument of every verb, and --log-directory.
  void AddFlags(CLI::App* app);
  // The same, and --options.
  void AddFlagsToWrite(CLI::App* app);
  // The same two as they are given: "/db --log-directory /logs".
  std::string Arguments() const;
  FileSystem* Files() const;
};

// What went wrong with the database there, with what to do about it in the words of the command.
absl::Status WithRemedy(const absl::Status& status, const Place& place);
// The same of making a new database, which takes away what it has written when it fails.
absl::Status WithNothingLeft(const absl::Status& status);

// For a database there: where it and its logs lie, and no more.
Options OptionsAt(const Place& place);

// Errors are with remedy. A database that is written to is kept as it was: with the options that its manifest keeps,
// but for those that the file of --options changes.
absl::StatusOr<std::unique_ptr<DB>> OpenToRead(const Place& place);
absl::StatusOr<std::unique_ptr<DB>> OpenToWrite(const Place& place, bool create,
                                                uint64_t memory_limit = Options().memory_limit);

// --memory-limit, of verbs that write values, of which each takes at most a quarter of it.
void AddMemoryLimit(CLI::App* app, uint64_t* bytes);
// An error of a write, with that flag where it helps.
absl::Status WithMemoryRemedy(const absl::Status& status);

// Calls `look` with a view of the database: again, with a newer one, where it returns Aborted, since a live writer has
// removed what the view needs. So `look` does not say Aborted once it has printed something.
absl::Status LookAt(const Place& place, const std::function<absl::Status(DB*)>& look);
// What to say then, or where that happens again and again.
absl::Status Overtaken(const absl::Status& status, const Place& place);
// Unavailable if some process has the database open to write, where looking tells.
absl::Status CheckNotOpen(const Place& place);

// The family of that name; the default one for an empty name.
absl::StatusOr<std::shared_ptr<ColumnFamily>> FamilyNamed(DB* db, const std::string& name);

// A key or value from the command line: `text`, or the bytes it stands for with --hex.
absl::StatusOr<std::string> BytesFrom(const std::string& text, bool hex);

// One column family as the manifest has it.
struct FamilyTree {
  ColumnFamilyCreation created;
  SequenceNumber flushed_through;
  std::string kept_options;  // db/format/kept_options.h
  // Null for a family whose order is not bytewise: only a program that has its comparator can say more.
  VersionRef version;
  std::vector<AddedTable> tables;
};

// The database as manifest and log headers have it.
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

// Reads it all; `visit`, if any, is then shown each edit of the newest manifest, in order: of a damaged one those
// before the damage. DataLoss for a damaged manifest, NotFound for no database, Aborted where a live writer was faster
// than every try.
absl::StatusOr<Tree> ReadTree(const Place& place, const EditVisitor& visit = nullptr);

// Reads the write-ahead logs of the tree: `visit` is shown each batch with the sequence number of its first update.
absl::StatusOr<LogRecovery> ReadLogs(const Tree& tree,
                                     const std::function<absl::Status(SequenceNumber, std::string_view)>& visit);

// Opens a table of the tree, to be checked against what the manifest says of it.
absl::StatusOr<std::shared_ptr<TableReader>> OpenTableOf(Directory* directory, const TableMetadata& metadata);

// A table of the tree, as JSON.
nlohmann::json TableJson(const AddedTable& added);

// A user key for people.
std::string ShownKey(std::string_view key);

}  // namespace sepal::tools

// Opening a database: lock, guard, manifest, logs, tables for replayed updates, a new manifest, a new log.
//
// The order, and the reasons for it:
//   1. the logs' headers are listed before the manifest is read, so that what they say of it is older;
//   2. updates of the logs above each family's flushed-through mark are written anew and synced: many of them through
//      memtables into tables, a few into memtables and the new log. The old logs are not trusted any more, because
//      after a failed sync the page cache may hold what the disk lacks;
//   3. the new log is made before the new manifest names it as the minimum;
//   4. the new manifest, whose snapshot has the new tables, retires the old logs in one step;
//   5. only then are old manifests, logs and stray tables removed, and writes accepted.
// A crash between any two steps leaves a database that opens to the same contents: until step 4 the logs hold some
// batches twice, with the same sequence numbers (log_recovery.h). An opening that fails before step 4 removes its
// tables. Before step 2 the guard is made, if a new or an older database has none (guard.h).
//
// Read-only, nothing is written: the updates of the logs stay in memtables.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "db/act/files/directory_listing.h"
#include "db/act/log/log_recovery.h"
#include "db/act/log/replay.h"
#include "db/act/manifest/manifest_recovery.h"
#include "db/engine/open/database_parts.h"
#include "db/engine/open/log_place.h"
#include "db/format/value_reference.h"
#include "db/state/version/manifest_state.h"

namespace sepal {

class Opening {
 public:
  Opening(const Options& options, const Tuning& tuning, std::string_view directory)
      : options_(options), tuning_(tuning), path_(directory) {}

  absl::StatusOr<DatabaseParts> Run();
  // After a failed Run: the log directory that the manifest records. Nothing was changed; the database must be opened
  // with that directory.
  const std::optional<std::string>& logs_elsewhere() const { return logs_elsewhere_; }

 private:
  absl::Status Open();
  void RemoveNewTables();
  absl::Status CheckAddressSpace() const;
  absl::Status CheckLogDirectory() const;
  absl::Status OpenAndLock();
  absl::Status CheckCanTakeOver(const Directory& directory) const;
  absl::Status OpenDirectories();
  absl::Status TakeLock();
  absl::Status GuardAndStartInfoLog();
  absl::Status RecoverCatalog();
  absl::Status CheckPlaceOfLogs();
  void RestoreSnapshots();
  absl::Status PassNumbersOfFiles();
  absl::Status ListAgain();
  absl::Status CheckNoLogWasBegun() const;
  absl::Status AddFamily(ColumnFamilyId id, std::string_view name, const Comparator* comparator);
  // Makes the families that the manifest describes, each with its options.
  absl::Status MakeFamilies();
  absl::Status CheckFamilies() const;
  absl::Status CheckTables();
  // Separated values (recover_values.cc): these hold the value files in the directory, check that those that a table
  // refers to exist, check that those that a batch of the logs refers to can be read, and hold those that a memtable
  // refers to.
  void HoldValueFiles();
  absl::Status CheckLinksOf(const TableMetadata& table) const;
  absl::Status CheckValuesOf(SequenceNumber first, std::string_view batch);
  void HoldValue(MemTable* memtable, std::string_view reference) const;
  bool ClosedInOrder() const { return state_.closed_log.has_value(); }
  // Wraps `sink` so that it gets each batch with references to copies of its values, unless its updates are in a table.
  LogSink WithCopies(LogSink sink);
  absl::StatusOr<std::string> WithValuesCopied(SequenceNumber first, std::string_view batch);
  absl::StatusOr<ValueReference> CopyValue(const ValueReference& reference);
  void RemoveNewValueFiles();
  void LetValueFilesGo();
  void StartValues();
  // Marks the listed tables that `version` has.
  absl::Status CheckTablesOf(const Version& version, std::vector<bool>* named) const;
  std::span<const DirectoryEntry> ListingOfLogs() const;
  // Returns the maker of tables' shared objects; `parts_.core` must exist when it is used.
  TableFactory MakeTable() const;
  SequenceNumber LastSequence() const { return std::max(state_.last_sequence, logs_.last_sequence); }
  absl::Status DescribeNew();
  absl::Status AddMissingFamilies();
  absl::Status ReplayLogs();
  Replay::Options HowToReplay();
  absl::Status ChooseExecutor();
  // For a read-only view that follows its writer.
  absl::Status ChooseFollowersExecutor();
  absl::Status FlushReplayed(ColumnFamilyId id, const std::shared_ptr<const MemTable>& memtable);
  absl::Status FinishReplay();
  absl::Status PublishFamilies();
  absl::Status StartWriting();
  absl::Status RemoveLeftOverLogs();
  absl::Status RemoveLeftOverRings() const;
  absl::Status MakeLastHeaderSure() const;
  absl::Status StartNew();
  absl::Status StartExisting();
  absl::Status StartLog(FileNumber number, ManifestReference manifest);
  LogOptions MakeLogOptions() const;
  void StartFamiliesAt(FileNumber log) REQUIRES_STATE_LOCK;
  void RemoveStrayFiles();
  std::shared_ptr<MemTable> NewMemTable(const KeyOrder& order) const;

  const Options& options_;
  const Tuning tuning_;
  const std::string path_;

  World world_ = {};
  DatabaseParts parts_;
  // The database directory's listing. While the lock is held no other process changes it, so that one listing serves
  // all steps; what this opening creates or removes does not matter to later ones.
  DirectoryListing listing_;
  // The listing of a separate log directory. Logs with a header belong to this database, because RecoverLogs refuses
  // others.
  std::vector<DirectoryEntry> log_listing_;
  std::vector<LogFile> log_files_;
  absl::flat_hash_set<FileNumber> value_files_;  // those that are listed
  std::vector<FileNumber> new_value_files_;
  std::vector<FileNumber> stray_tables_;  // listed, but in no version
  ManifestRecovery manifest_;
  LogRecovery logs_;
  // From the manifest's edits.
  ManifestState state_{MakeTable()};
  Catalog::Identity identity_;
  KeptLogs kept_logs_;
  std::optional<std::string> logs_elsewhere_;
  FileNumber next_file_number_{1};  // above the numbers of all existing files, too
  std::map<ColumnFamilyId, FamilyRef> families_;
  std::optional<Replay> replay_;  // set when the manifest was read
  std::vector<FileNumber> new_tables_;
  bool tables_may_be_listed_ = false;  // by a manifest that another opening may find
};

}  // namespace sepal

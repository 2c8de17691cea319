// Opening a database: lock, guard, manifest, logs, tables of what was replayed, a new manifest, a new log.
//
// Order, and why:
//   1. the logs' headers are listed before the manifest is read: what they say of it is older than they are;
//   2. what the logs hold above each family's flushed-through mark is written anew, and synced: if it is much, through
//      memtables into tables; if it is little, into the memtables and the new log. After a failed sync the page cache
//      may hold what the disk lacks, so nothing replayed is trusted to the old logs any longer;
//   3. the new log is made before the new manifest names it as the minimum;
//   4. the new manifest, whose snapshot has the new tables, retires the old logs in one step;
//   5. only then are old manifests, logs and stray tables removed, and writes taken.
// A crash between any two steps leaves a database that opens to the same contents: until 4 the logs hold some batches
// twice, with the same sequence numbers (log_recovery.h). An opening that fails before 4 removes its tables.
// Before 2 the guard is made, where a new or an older database has none (guard.h).
//
// Read-only, nothing is written: what the logs hold stays in memtables.
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
  // After a Run that has failed: where the manifest says that the logs lie. Nothing was changed; the database is to be
  // opened with that log directory.
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
  // Values in files of their own (recover_values.cc): holds what the directory has; looks whether what a table refers
  // to is among it, and whether what a batch of the logs refers to can be read; holds what a memtable refers to.
  void HoldValueFiles();
  absl::Status CheckLinksOf(const TableMetadata& table) const;
  absl::Status CheckValuesOf(SequenceNumber first, std::string_view batch);
  void HoldValue(MemTable* memtable, std::string_view reference) const;
  bool ClosedInOrder() const { return state_.closed_log.has_value(); }
  // Gives `sink` each batch with references to copies, where its updates are in no table.
  LogSink WithCopies(LogSink sink);
  absl::StatusOr<std::string> WithValuesCopied(SequenceNumber first, std::string_view batch);
  absl::StatusOr<ValueReference> CopyValue(const ValueReference& reference);
  void RemoveNewValueFiles();
  void LetValueFilesGo();
  void StartValues();
  // Marks the tables of `version` among the listed ones.
  absl::Status CheckTablesOf(const Version& version, std::vector<bool>* named) const;
  std::span<const DirectoryEntry> ListingOfLogs() const;
  // Makes the shared objects of tables; `parts_.core` must be there by then.
  TableFactory MakeTable() const;
  SequenceNumber LastSequence() const { return std::max(state_.last_sequence, logs_.last_sequence); }
  absl::Status DescribeNew();
  absl::Status AddMissingFamilies();
  absl::Status ReplayLogs();
  Replay::Options HowToReplay();
  absl::Status ChooseExecutor();
  // Of a view that follows its writer.
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
  // Of the database directory. Under the lock nobody else changes it, and one listing serves for all: what this opening
  // removes or makes meanwhile matters to no later step.
  DirectoryListing listing_;
  // Of a separate one for logs. Those that have a header are this database's: RecoverLogs refuses others.
  std::vector<DirectoryEntry> log_listing_;
  std::vector<LogFile> log_files_;
  absl::flat_hash_set<FileNumber> value_files_;  // listed
  std::vector<FileNumber> new_value_files_;
  std::vector<FileNumber> stray_tables_;  // listed, and in no version
  ManifestRecovery manifest_;
  LogRecovery logs_;
  // From the manifest's edits.
  ManifestState state_{MakeTable()};
  Catalog::Identity identity_;
  KeptLogs kept_logs_;
  std::optional<std::string> logs_elsewhere_;
  FileNumber next_file_number_{1};  // beyond all files that are there, too
  std::map<ColumnFamilyId, FamilyRef> families_;
  std::optional<Replay> replay_;  // set once the manifest was read
  std::vector<FileNumber> new_tables_;
  bool tables_may_be_listed_ = false;  // by a manifest that another opening may find
};

}  // namespace sepal

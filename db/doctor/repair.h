// Restores a database from what can be read of it (DB::Repair).
//
// The order, and the reasons for it:
//   1. manifest, tables and logs are read, and the guard is made if there is none; if nothing is wrong, that is all;
//   2. new tables are written for the readable parts of damaged tables (in the same level and run) and for the updates
//      of the logs; they are synced with their names;
//   3. every damaged file, and the manifests, are copied or linked into `lost`, synced: from here on, no data is only
//      in files that will be removed;
//   4. a new log is written, then a sealed manifest whose snapshot has the whole new state; while an older manifest
//      exists, the new one counts as an unfinished one;
//   5. the older manifests are removed durably, oldest first: once the last is gone, the new state is the database's;
//   6. the files that it does not need are removed.
// A crash before step 5 leaves the database as it was, and after step 5 repaired; within step 5, another repair
// completes it.
//
// A repair checks the same things as an opening, by the same code: edits by ManifestState, batches of logs by Replay.
// Edits that contradict each other, or the logs, are damage of the manifest, whatever their checksums say.
//
// An entry whose value is not in any value file as it was written is lost, like an entry in a damaged block: its table
// is rewritten without it, and an update of the logs is left out. The report names its key. Intact parts of value files
// stay; rescued_values.h says what is copied. Files that nothing refers to any more are removed; those that were
// damaged, or did not have all that was looked for, go into `lost`.
//
// If the manifest cannot be read completely, it is not certain which tables belong to the database: all existing ones,
// except those that the readable part names as removed, are merged into one run. The updates of the logs are merged
// with them, because only the readable part can say up to where they are in tables. An existing table proves that only
// for its own sequence numbers, since it may come from an unfinished flush or from a repair that was interrupted.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "db/act/jobs/table_output.h"
#include "db/act/log/log_recovery.h"
#include "db/act/log/replay.h"
#include "db/doctor/rescued_values.h"
#include "db/engine/catalog/manifest_contents.h"
#include "db/engine/core/core.h"
#include "db/format/version_edit.h"
#include "db/state/memtable/memtable.h"
#include "db/state/version/manifest_state.h"
#include "sepal/repair.h"
#include "table/file/table_reader.h"

namespace sepal {

class Repairing {
 public:
  Repairing(const Options& options, const Tuning& tuning, std::string_view directory, RepairReport* report,
            const RepairOptions& repair = {})
      : options_(options),
        tuning_(tuning),
        path_(directory),
        world_(World::From(options.env)),
        report_(report),
        dry_run_(repair.dry_run),
        logs_lost_(repair.logs_lost),
        progress_(repair.progress) {}

  absl::Status Run();

 private:
  struct FamilyState {
    ColumnFamilyCreation creation;
    std::string kept_options;  // db/format/kept_options.h
    FamilySchema schema;       // as in the manifest
    ColumnFamilyOptions options;
    KeyOrder order;
    SequenceNumber flushed_through;
    VersionRef version;                       // as in the manifest; null if that is not certain
    std::map<FileNumber, AddedTable> listed;  // by the manifest
    std::vector<AddedTable> tables;           // of the new state
  };

  absl::Status OpenDirectories();
  absl::Status ListFiles();
  void TakeNumber(FileNumber number);
  // For the logs, and for the tables written from them.
  std::vector<SequenceNumber> NamedSequences() const;
  std::map<ColumnFamilyId, SequenceNumber> HistoryFloors() const;
  void SalvageSchemas(const VersionEdit& edit);
  void TellOfLostSnapshots(const std::string& manifest);
  // The manifest.
  absl::Status ReadManifest();
  absl::Status CheckOwnerOfLogs() const;
  absl::Status CheckPlaceOfLogs() const;
  absl::Status TakeManifest();
  absl::Status SalvageFromManifest(const absl::Status& damage);
  void SalvageEdit(const VersionEdit& edit);
  void AddFamily(const ColumnFamilyCreation& creation);
  // Returns whether the family is the latest with its name; an earlier one is dropped then.
  bool GetsName(const ColumnFamilyCreation& creation);
  void DropNamesake(ColumnFamilyId id);
  void TellOfNamesake(FileNumber number, std::string_view name);
  void DropFamily(ColumnFamilyId id);
  // Finds the family's options by name, or uses the kept ones; InvalidArgument for another comparator.
  absl::Status Resolve(FamilyState* family) const;
  absl::Status MadeWith(std::string_view comparator, const FamilyState& family) const;
  // The tables.
  absl::StatusOr<std::shared_ptr<TableReader>> OpenTable(FileNumber number, KeyOrder order,
                                                         const TableMetadata* expected) const;
  uint64_t FileBytes(FileNumber number) const;
  void CountTables();
  void Advance(uint64_t bytes);
  absl::Status CheckListedTables();
  absl::Status CheckTable(FamilyState* family, const AddedTable& listed);
  absl::Status Rewrite(FamilyState* family, const AddedTable& listed, const TableReader& damaged);
  void NoteTable(const TableMetadata& table);
  FileNumber RankOf(const TableMetadata& table) const;
  absl::Status FindTables();
  absl::Status FindTable(FileNumber number);
  // The value files.
  // Returns whether all of a table can be read and, if it refers or may refer to values (`refers`), all of these.
  absl::StatusOr<bool> IsWhole(const std::shared_ptr<TableReader>& table, bool refers);
  // Returns whether all values of a table are where it says; notes the files that have them.
  absl::StatusOr<bool> ValuesAreThere(const std::shared_ptr<TableReader>& table);
  // Of the entry of a key, whose bytes are `*value`: `*value` becomes the reference to take in its place, kept in
  // `*settled`, where it is another. False: the value is lost, which is told. `where`: what has the entry.
  absl::StatusOr<bool> SettleReference(const FamilyState& family, ValueKind kind, std::string_view key,
                                       std::string_view where, std::string_view* value, std::string* settled);
  absl::StatusOr<bool> SettleLogged(ColumnFamilyId id, ValueKind kind, std::string_view key, std::string_view* value,
                                    std::string* settled);
  void DropValue(const FamilyState& family, std::string_view key, std::string_view where,
                 const std::optional<ValueReference>& reference, const absl::Status& why);
  absl::Status LookAtValues(Replay* replay, SequenceNumber first, std::string_view batch);
  void AdvanceByValue(uint64_t bytes);
  void StartValues();
  std::set<FileNumber> LiveValueFiles() const;
  // Returns those that are removed and did not have all that was looked for in them.
  std::vector<std::string> ValueFilesToPutAside() const;
  absl::Status LinkAside(const std::string& name, Directory* lost);
  // A table of range tombstones, loaded into memory.
  struct RangeTable {
    FileNumber number;
    RangeTombstonesRef tombstones;
  };
  absl::StatusOr<std::vector<RangeTable>> TakeRanges(const FamilyState& family, std::vector<AddedTable>* tables);
  static bool IsCovered(const std::vector<RangeTable>& ranges, const KeyOrder& order, const InternalKeyView& key,
                        FileNumber table);
  // Notes features that the database uses, which the lost manifest recorded.
  void NoteFeaturesOf(const InternalKeyView& key);
  void NoteFeaturesOf(const ValueReference& reference);
  absl::Status MergeTables(FamilyState* family);
  // The logs.
  // `replay` knows which of their updates count.
  LogRecoveryOptions HowToReadLogs(Replay* replay);
  void AddFamilies(Replay* replay) const;
  // Sets `logs_whole_`. `contradiction`: how the logs contradict the manifest.
  absl::Status CheckLogs(absl::Status* contradiction);
  absl::Status ReplayLogs();
  absl::Status ReadLogsInto(Replay* replay);
  absl::Status FlushReplayed(ColumnFamilyId id, const std::shared_ptr<const MemTable>& memtable);
  // The new state.
  absl::Status AddRings();
  absl::Status PutAside();
  absl::Status CopyAside(Directory* from, const std::string& name, Directory* lost);
  absl::StatusOr<FileNumber> WriteState();
  // Takes the place of WriteState in a dry run.
  absl::Status Foresee();
  // Valid as long as `families_` does not change.
  ManifestContents Snapshot(FileNumber log);
  void RemoveOldFiles(FileNumber log);

  TableOutputContext OutputContext(const FamilyState& family);
  FileNumber NewFileNumber() { return FileNumber(next_file_number_++); }
  Directory* log_directory() const { return log_directory_ != nullptr ? log_directory_.get() : directory_.get(); }
  void Drop(DroppedData dropped) { report_->dropped.push_back(std::move(dropped)); }

  const Options& options_;
  const Tuning tuning_;
  const std::string path_;
  const World world_;
  RepairReport* const report_;
  const bool dry_run_;
  const bool logs_lost_;
  const std::function<void(uint64_t, uint64_t)> progress_;

  std::unique_ptr<Directory> directory_;
  std::unique_ptr<Directory> log_directory_;
  std::unique_ptr<DirectoryLock> lock_;
  MemoryBudget budget_{0};

  std::map<FileNumber, uint64_t> table_files_;  // existing tables and their sizes
  std::vector<std::string> manifests_;
  std::vector<LogFile> logs_;
  uint64_t next_file_number_ = 1;

  bool certain_ = true;  // the manifest was read completely
  bool logs_whole_ = true;
  // Its families and tables count only while `certain_` is true.
  ManifestState manifest_;
  uint64_t database_id_ = 0;
  std::map<ColumnFamilyId, FamilyState> families_;
  std::set<ColumnFamilyId> dropped_;    // dropped according to the manifest
  std::set<ColumnFamilyId> namesakes_;  // dropped, because a later family has the same name
  std::set<FileNumber> removed_;        // removed according to the manifest
  std::set<FileNumber> listed_;         // by the manifest, or its readable part, in any family
  // By the id that a salvaged table gets, the number of the original, which ranks it by age.
  std::map<uint64_t, FileNumber> salvaged_ranks_;
  std::set<std::string> damaged_tables_;
  std::set<std::string> damaged_logs_;  // and their rings
  std::optional<RescuedValues> values_;
  uint64_t lost_of_table_ = 0;     // number of lost values; the first ones are reported by key
  uint64_t lost_of_logs_ = 0;      // likewise
  uint64_t unreported_bytes_ = 0;  // of values, since the last call of `progress_`
  // Bytes of tables and values: read, and to be read.
  uint64_t done_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

}  // namespace sepal

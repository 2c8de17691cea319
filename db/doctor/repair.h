// Making a database whole again out of what can be read (DB::Repair).
//
// Order, and why:
//   1. manifest, tables and logs are read, and the guard is made where there is none; if nothing is wrong, that is all;
//   2. what must be written anew goes into new tables, synced with their names: the parts of damaged tables that can be
//      read (in the same level and run), and what the logs hold;
//   3. every damaged file, and the manifests, are copied or linked into `lost`, synced: from here on nothing is only
//      in the files that will go;
//   4. a new log, then a sealed manifest whose snapshot is all of the new state; while an older manifest is there, it
//      is taken for one that was made in vain;
//   5. the older manifests are removed, oldest first, each durably: with the last of them the new state is the
//      database's;
//   6. the files that it does not need are removed.
// A crash before 5 leaves the database as it was, and after 5 as it is to be; within 5 another repair ends it.
//
// What opening checks, repair checks by the same code: edits by ManifestState, batches of logs by Replay. Edits that
// contradict each other, or what the logs hold, are damage of the manifest, whatever their checksums say.
//
// An entry whose value is in no value file as it was written is lost as one in a damaged block is: its table is written
// anew without it, and an update of the logs is left out. The report names its key. What is whole of value files stays;
// rescued_values.h says what is copied. Files that nothing refers to any more go: those that had nothing to give, or
// that were damaged, into `lost`.
//
// Where the manifest cannot be read whole, which tables belong to the database is not known for certain: all that are
// there, but for those that the readable part names as removed, are merged into one run. What the logs hold is merged
// with them: up to where it is in tables the readable part alone can say. A table that is there says it of no number
// but those that it has, as it may be of a flush that did not end, or of a repair that died.
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
    FamilySchema schema;       // as the manifest has it
    ColumnFamilyOptions options;
    KeyOrder order;
    SequenceNumber flushed_through;
    VersionRef version;                       // as the manifest has it; null if that is not certain
    std::map<FileNumber, AddedTable> listed;  // by the manifest
    std::vector<AddedTable> tables;           // of the new state
  };

  absl::Status OpenDirectories();
  absl::Status ListFiles();
  void TakeNumber(FileNumber number);
  // Of the logs, and of what is written of them.
  std::vector<SequenceNumber> NamedSequences() const;
  std::map<ColumnFamilyId, SequenceNumber> HistoryFloors() const;
  void SalvageSchemas(const VersionEdit& edit);
  void TellOfLostSnapshots(const std::string& manifest);
  // What the manifest says.
  absl::Status ReadManifest();
  absl::Status CheckOwnerOfLogs() const;
  absl::Status CheckPlaceOfLogs() const;
  absl::Status TakeManifest();
  absl::Status SalvageFromManifest(const absl::Status& damage);
  void SalvageEdit(const VersionEdit& edit);
  void AddFamily(const ColumnFamilyCreation& creation);
  // Whether the family is the latest of its name; an earlier one goes then.
  bool GetsName(const ColumnFamilyCreation& creation);
  void DropNamesake(ColumnFamilyId id);
  void TellOfNamesake(FileNumber number, std::string_view name);
  void DropFamily(ColumnFamilyId id);
  // Options by name, or as kept; InvalidArgument for another comparator.
  absl::Status Resolve(FamilyState* family) const;
  absl::Status MadeWith(std::string_view comparator, const FamilyState& family) const;
  // What the tables hold.
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
  // What value files hold.
  // Whether all of a table can be read and, if it `refers` to values or may do so, all of these.
  absl::StatusOr<bool> IsWhole(const std::shared_ptr<TableReader>& table, bool refers);
  // Whether all values of a table are where it says; notes the files that they are in.
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
  // Those that go, and have not given all that was looked for in them.
  std::vector<std::string> ValueFilesToPutAside() const;
  absl::Status LinkAside(const std::string& name, Directory* lost);
  // A table of range tombstones, in memory.
  struct RangeTable {
    FileNumber number;
    RangeTombstonesRef tombstones;
  };
  absl::StatusOr<std::vector<RangeTable>> TakeRanges(const FamilyState& family, std::vector<AddedTable>* tables);
  static bool IsCovered(const std::vector<RangeTable>& ranges, const KeyOrder& order, const InternalKeyView& key,
                        FileNumber table);
  // What the database uses, of which the lost manifest told.
  void NoteFeaturesOf(const InternalKeyView& key);
  void NoteFeaturesOf(const ValueReference& reference);
  absl::Status MergeTables(FamilyState* family);
  // What the logs hold.
  // `replay` knows which of their updates count.
  LogRecoveryOptions HowToReadLogs(Replay* replay);
  void AddFamilies(Replay* replay) const;
  // Sets `logs_whole_`. `contradiction`: what the logs hold that the manifest denies.
  absl::Status CheckLogs(absl::Status* contradiction);
  absl::Status ReplayLogs();
  absl::Status ReadLogsInto(Replay* replay);
  absl::Status FlushReplayed(ColumnFamilyId id, const std::shared_ptr<const MemTable>& memtable);
  // The new state.
  absl::Status AddRings();
  absl::Status PutAside();
  absl::Status CopyAside(Directory* from, const std::string& name, Directory* lost);
  absl::StatusOr<FileNumber> WriteState();
  // In its place in a dry run.
  absl::Status Foresee();
  // As long as `families_` stays as it is.
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

  std::map<FileNumber, uint64_t> table_files_;  // that are there, and their bytes
  std::vector<std::string> manifests_;
  std::vector<LogFile> logs_;
  uint64_t next_file_number_ = 1;

  bool certain_ = true;  // the manifest was read whole
  bool logs_whole_ = true;
  // Families and tables of it count only while it is certain.
  ManifestState manifest_;
  uint64_t database_id_ = 0;
  std::map<ColumnFamilyId, FamilyState> families_;
  std::set<ColumnFamilyId> dropped_;    // that the manifest says were dropped
  std::set<ColumnFamilyId> namesakes_;  // dropped, as a later one has their name
  std::set<FileNumber> removed_;        // that the manifest says were removed
  std::set<FileNumber> listed_;         // by the manifest, or what of it can be read, in whatever family
  // The rank, in the order of age, of what was salvaged of a table, by the id that this gets.
  std::map<uint64_t, FileNumber> salvaged_ranks_;
  std::set<std::string> damaged_tables_;
  std::set<std::string> damaged_logs_;  // and their rings
  std::optional<RescuedValues> values_;
  uint64_t lost_of_table_ = 0;     // values, named by their keys up to some number
  uint64_t lost_of_logs_ = 0;      // likewise
  uint64_t unreported_bytes_ = 0;  // of values, since the last call of `progress_`
  // Of tables and values, read and to be read.
  uint64_t done_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

}  // namespace sepal

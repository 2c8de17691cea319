#include "db/doctor/repair.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/files/buffered_file_reader.h"
#include "db/act/files/directory_listing.h"
#include "db/act/files/fd_limited_directory.h"
#include "db/act/files/sync_failure_latch.h"
#include "db/act/manifest/manifest_recovery.h"
#include "db/act/manifest/manifest_salvage.h"
#include "db/act/manifest/manifest_writer.h"
#include "db/engine/catalog/manifest_families.h"
#include "db/engine/core/check_options.h"
#include "db/engine/open/database_lock.h"
#include "db/engine/open/log_place.h"
#include "db/engine/open/other_engines.h"
#include "db/format/file_names.h"
#include "db/format/system_row.h"
#include "db/state/version/snapshot_list.h"
#include "util/base/hash.h"
#include "util/base/random.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

std::string RepairReport::ToString() const {
  if (!changed && dry_run) return "nothing is wrong; a repair would change nothing\n";
  if (!changed) return "nothing was wrong; nothing was changed\n";
  std::string text = dry_run ? "a dry run: nothing was changed; this is what a repair would do\n" : "";
  absl::StrAppendFormat(&text, "tables: %u kept, %u rewritten; updates from logs: %u\n", tables_kept, tables_rewritten,
                        updates_from_logs);
  for (const DroppedData& data : dropped) {
    text += absl::StrFormat("dropped: %s", data.file);
    if (data.end_offset > 0) text += absl::StrFormat(", bytes %u to %u", data.begin_offset, data.end_offset);
    if (!data.column_family.empty()) text += absl::StrFormat(", column family \"%s\"", Printable(data.column_family));
    const bool one_key = data.first_key.has_value() && data.first_key == data.last_key;
    if (one_key) {
      text += absl::StrFormat(", key \"%s\"", Printable(*data.first_key));
    } else if (data.first_key.has_value()) {
      text += absl::StrFormat(", from key \"%s\"", Printable(*data.first_key));
    }
    if (data.last_key.has_value() && !one_key) text += absl::StrFormat(", to key \"%s\"", Printable(*data.last_key));
    text += ": " + data.reason + "\n";
  }
  for (const std::string& name : put_aside) text += absl::StrFormat("put aside: %s\n", name);
  return text;
}

absl::StatusOr<RepairReport> DB::Repair(const Options& options, std::string_view directory,
                                        const RepairOptions& repair) {
  RepairReport report{.dry_run = repair.dry_run};
  const World world = World::From(options.env);
  absl::StatusOr<std::string> logs = FindLogDirectory(world.file_system, directory, options.log_directory);
  if (absl::IsFailedPrecondition(logs.status()) && !repair.logs_lost) return logs.status();
  Options there = options;
  // If the logs are not found, the repair itself reports what is known.
  if (logs.ok()) there.log_directory = *std::move(logs);
  RETURN_IF_ERROR(Repairing(there, Tuning::From(there), directory, &report, repair).Run());
  return report;
}

absl::Status Repairing::Run() {
  RETURN_IF_ERROR(CheckFamilyOptions(options_));
  RETURN_IF_ERROR(OpenDirectories());
  RETURN_IF_ERROR(ListFiles());
  RETURN_IF_ERROR(ReadManifest());
  RETURN_IF_ERROR(CheckOwnerOfLogs());
  RETURN_IF_ERROR(CheckPlaceOfLogs());
  StartValues();
  absl::Status contradiction;
  RETURN_IF_ERROR(CheckLogs(&contradiction));
  if (!contradiction.ok()) {
    RETURN_IF_ERROR(SalvageFromManifest(contradiction));
    RETURN_IF_ERROR(CheckLogs(&contradiction));
  }
  CountTables();
  RETURN_IF_ERROR(certain_ ? CheckListedTables() : FindTables());
  if ((certain_ || dry_run_) && done_bytes_ < total_bytes_) Advance(total_bytes_);
  if (!dry_run_) RETURN_IF_ERROR(EnsureGuard(directory_.get(), path_));
  if (certain_ && logs_whole_ && damaged_tables_.empty() && report_->dropped.empty()) return absl::OkStatus();
  report_->changed = true;
  if (dry_run_) return Foresee();
  RETURN_IF_ERROR(ReplayLogs());
  if (!certain_) {
    for (auto& [id, family] : families_) RETURN_IF_ERROR(MergeTables(&family));
    Advance(total_bytes_);
  }
  RETURN_IF_ERROR(values_->Sync());
  RETURN_IF_ERROR(directory_->Sync());
  RETURN_IF_ERROR(PutAside());
  ASSIGN_OR_RETURN(const FileNumber log, WriteState());
  RemoveOldFiles(log);
  return absl::OkStatus();
}

absl::Status Repairing::Foresee() {
  RETURN_IF_ERROR(ReplayLogs());
  report_->put_aside = manifests_;
  report_->put_aside.insert(report_->put_aside.end(), damaged_tables_.begin(), damaged_tables_.end());
  report_->put_aside.insert(report_->put_aside.end(), damaged_logs_.begin(), damaged_logs_.end());
  const std::vector<std::string> values = ValueFilesToPutAside();
  report_->put_aside.insert(report_->put_aside.end(), values.begin(), values.end());
  return absl::OkStatus();
}

absl::Status Repairing::OpenDirectories() {
  ASSIGN_OR_RETURN(std::unique_ptr<Directory> directory, world_.file_system->OpenDirectory(path_, /*create=*/false));
  directory_ = std::make_unique<SyncFailureLatchDirectory>(std::make_unique<FdLimitedDirectory>(
      std::move(directory), FdLimitedDirectory::ShareOf(world_.file_system->MaxOpenFiles()),
      /*beside_a_writer=*/dry_run_));
  ASSIGN_OR_RETURN(const bool elsewhere, LogsLieElsewhere(world_.file_system, options_, path_));
  if (elsewhere) {
    ASSIGN_OR_RETURN(directory, world_.file_system->OpenDirectory(options_.log_directory, /*create=*/false));
    ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, directory->List());
    RETURN_IF_ERROR(CheckHoldsNoDatabase(listing, options_.log_directory));
    log_directory_ = std::make_unique<SyncFailureLatchDirectory>(std::move(directory));
  }
  return absl::OkStatus();
}

absl::Status Repairing::ListFiles() {
  RETURN_IF_ERROR(CheckNotForeign(directory_.get(), path_));
  ASSIGN_OR_RETURN(const bool any, HoldsDatabaseFiles(directory_.get()));
  if (!any) return absl::NotFoundError(absl::StrFormat("there is no database in %s", path_));
  // Locked before the listing, because the previous holder may have created and removed files.
  if (!dry_run_) {
    ASSIGN_OR_RETURN(lock_, LockDatabase(directory_.get(), log_directory_.get()));
  }
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, directory_->List());
  values_.emplace(directory_.get());
  for (const DirectoryEntry& entry : listing) {
    const std::optional<ParsedFileName> parsed = ParseFileName(entry.name);
    if (!parsed.has_value()) continue;
    TakeNumber(parsed->number);
    if (parsed->kind == FileKind::kValues) values_->AddFile(parsed->number, entry.size_bytes);
    if (parsed->kind == FileKind::kTable) table_files_.emplace(parsed->number, entry.size_bytes);
    if (parsed->kind == FileKind::kManifest) manifests_.push_back(entry.name);
  }
  ASSIGN_OR_RETURN(logs_, ListLogs(log_directory()));
  for (const LogFile& log : logs_) {
    TakeNumber(log.named);
    if (!log.header.has_value()) continue;
    TakeNumber(log.header->number);
    TakeNumber(log.header->manifest.number);
  }
  ASSIGN_OR_RETURN(const std::vector<RingFile> rings, ListRings(log_directory()));
  TakeNumber(NewestNumber(rings));
  return absl::OkStatus();
}

// New files must not get the number of an existing one.
void Repairing::TakeNumber(FileNumber number) {
  if (number.value() < kFileNumbersEnd) next_file_number_ = std::max(next_file_number_, number.value() + 1);
}

// --- the manifest ---

absl::Status Repairing::ReadManifest() {
  const bool other_files = log_directory_ != nullptr && !logs_.empty();
  const absl::StatusOr<ManifestRecovery> manifest =
      RecoverManifest(directory_.get(), NewestManifest(logs_), other_files,
                      [this](VersionEdit&& edit) { return manifest_.Take(std::move(edit)); });
  if (manifest.ok() && !manifest->found) {
    return absl::NotFoundError(absl::StrFormat("there is no database in %s", path_));
  }
  if (manifest.ok()) database_id_ = manifest->database_id;
  const absl::Status status = manifest.ok() ? TakeManifest() : manifest.status();
  return absl::IsDataLoss(status) ? SalvageFromManifest(status) : status;
}

absl::Status Repairing::TakeManifest() {
  TakeNumber(FileNumber(manifest_.next_file_number.value() - 1));
  for (auto& [id, described] : manifest_.families) {
    AddFamily(described.creation);
    FamilyState& family = families_.at(id);
    family.kept_options = described.kept_options;
    family.schema = described.schema;
    family.flushed_through = described.flushed_through;
    RETURN_IF_ERROR(Resolve(&family));
    described.tables.OrderBy(family.order);
    ASSIGN_OR_RETURN(family.version, described.tables.Build());
    for (AddedTable& added : family.version->Contents(id)) {
      TakeNumber(added.table.number);
      family.listed.emplace(added.table.number, std::move(added));
    }
  }
  if (families_.contains(ColumnFamilyId(0))) return absl::OkStatus();
  return absl::DataLossError("the manifest has no default column family");
}

// Foreign logs in the database directory are put aside; a separate directory with foreign logs belongs to another
// database.
absl::Status Repairing::CheckOwnerOfLogs() const {
  if (log_directory_ == nullptr) return absl::OkStatus();
  return CheckLogsAreOf(logs_, database_id_, options_.log_directory, path_);
}

// Repairing without logs that lie elsewhere would separate the database from them for good. If the manifest is damaged,
// its lost part may have needed a log.
absl::Status Repairing::CheckPlaceOfLogs() const {
  FileNumber needed = manifest_.min_log_number;
  if (needed == FileNumber(0) && manifest_.closed_log.has_value()) needed = manifest_.closed_log->number;
  if (logs_lost_ || !logs_.empty() || (certain_ && needed == FileNumber(0))) return absl::OkStatus();
  const std::string what = needed == FileNumber(0)
                               ? absl::StrFormat("the manifest of %s, which is damaged, may have needed one", path_)
                               : absl::StrFormat("the manifest of %s needs %s", path_, LogFileName(needed));
  return absl::FailedPreconditionError(
      absl::StrFormat("there is no log in %s, and %s: name the directory of the logs (Options::log_directory, "
                      "--log-directory) or, if they are lost for good, say so (RepairOptions::logs_lost, --logs-lost)",
                      log_directory()->path(), what));
}

// The logs may hold updates of families that are unknown then; they are kept for people.
absl::Status Repairing::SalvageFromManifest(const absl::Status& damage) {
  certain_ = false;
  families_.clear();
  manifest_ = ManifestState();
  ASSIGN_OR_RETURN(const SalvagedManifest salvaged, SalvageManifest(directory_.get()));
  Drop({.file = salvaged.name.empty() ? ManifestFileName(salvaged.highest) : salvaged.name,
        .reason =
            absl::StrFormat("%s: its records of tables and column families may be incomplete; all existing "
                            "tables were merged, so entries that were overwritten or deleted may reappear, and named "
                            "snapshots and histories are lost, as are prepared transactions that only logs had",
                            ToStd(damage.message()))});
  database_id_ = salvaged.database_id;
  removed_ = salvaged.removed;
  for (const FileNumber number : removed_) TakeNumber(number);
  for (const VersionEdit& edit : salvaged.edits) SalvageEdit(edit);
  for (const ColumnFamilyId id : salvaged.dropped) DropFamily(id);
  TellOfLostSnapshots(report_->dropped.back().file);
  for (const LogFile& log : logs_) {
    if (database_id_ == 0 && log.header.has_value()) database_id_ = log.header->database_id;
    damaged_logs_.insert(log.name);
  }
  const ColumnFamilyId default_id(0);
  if (!families_.contains(default_id)) {
    const Comparator* const comparator = OptionsByName(options_, kDefaultColumnFamilyName).comparator;
    AddFamily(CreationOf(default_id, kDefaultColumnFamilyName, *comparator));
  }
  for (auto& [id, family] : families_) RETURN_IF_ERROR(Resolve(&family));
  return absl::OkStatus();
}

std::vector<SequenceNumber> Repairing::NamedSequences() const {
  std::vector<KeptSnapshot> kept;
  for (const auto& [name, snapshot] : manifest_.snapshots) kept.push_back(snapshot);
  return SequencesOf(kept);
}

// Merging all tables keeps only the newest version of each key, so named snapshots are lost.
void Repairing::TellOfLostSnapshots(const std::string& manifest) {
  for (const auto& [name, snapshot] : std::exchange(manifest_.snapshots, {})) {
    Drop({.file = manifest,
          .reason = absl::StrFormat("the named snapshot \"%s\", at sequence %u", Printable(name),
                                    snapshot.sequence.value())});
  }
}

// Takes an edit when other edits may be missing, or may contradict it.
void Repairing::SalvageEdit(const VersionEdit& edit) {
  manifest_.TakeNumbers(edit);
  TakeNumber(FileNumber(manifest_.next_file_number.value() - 1));
  if (edit.database_id.has_value() && database_id_ == 0) database_id_ = *edit.database_id;
  for (const ColumnFamilyCreation& creation : edit.created_families) {
    // The first creation with an id counts; all tables with that id belong to it.
    if (!families_.contains(creation.id) && GetsName(creation)) AddFamily(creation);
  }
  for (const KeptOptions& kept : edit.kept_options) {
    const auto it = families_.find(kept.family);
    if (it != families_.end()) it->second.kept_options = kept.fields;
  }
  SalvageSchemas(edit);
  for (const ColumnFamilyId id : edit.dropped_families) DropFamily(id);
  for (const RemovedTable& table : edit.removed_tables) {
    TakeNumber(table.number);
    const auto it = families_.find(table.family);
    if (it != families_.end()) {
      const auto listed = it->second.listed.find(table.number);
      // A removal from a level in which the table is not does not remove it.
      if (listed != it->second.listed.end() && listed->second.level != table.level) continue;
      if (listed != it->second.listed.end()) it->second.listed.erase(listed);
    }
    removed_.insert(table.number);
  }
  for (const AddedTable& added : edit.added_tables) {
    TakeNumber(added.table.number);
    removed_.erase(added.table.number);
    const auto it = families_.find(added.family);
    if (it != families_.end()) it->second.listed.insert_or_assign(added.table.number, added);
  }
  for (const FlushedThrough& flushed : edit.flushed_through) {
    const auto it = families_.find(flushed.family);
    if (it != families_.end()) it->second.flushed_through = flushed.sequence;
  }
}

void Repairing::AddFamily(const ColumnFamilyCreation& creation) {
  FamilyState family;
  family.creation = creation;
  if (creation.id != kSystemFamilyId)
    next_file_number_ = std::max(next_file_number_, uint64_t{creation.id.value()} + 1);
  families_.insert_or_assign(creation.id, std::move(family));
}

// No two families have the same name: if they would, the edit that dropped the earlier one is missing.
bool Repairing::GetsName(const ColumnFamilyCreation& creation) {
  const auto it = std::find_if(families_.begin(), families_.end(),
                               [&](const auto& entry) { return entry.second.creation.name == creation.name; });
  if (it == families_.end()) return true;
  const bool earlier = it->first == ColumnFamilyId(0) || creation.id < it->first;
  if (earlier) {
    namesakes_.insert(creation.id);
  } else {
    DropNamesake(it->first);
  }
  return !earlier;
}

void Repairing::DropNamesake(ColumnFamilyId id) {
  const FamilyState& family = families_.at(id);
  std::set<FileNumber> numbers;
  for (const auto& [number, listed] : family.listed) numbers.insert(number);
  for (const AddedTable& added : family.tables) {
    const FileNumber number = added.table.number;
    const bool whole = table_files_.contains(number) && !damaged_tables_.contains(TableFileName(number));
    --(whole ? report_->tables_kept : report_->tables_rewritten);
    numbers.insert(number);
  }
  for (const FileNumber number : numbers) {
    if (table_files_.contains(number)) TellOfNamesake(number, family.creation.name);
  }
  namesakes_.insert(id);
  DropFamily(id);
}

void Repairing::TellOfNamesake(FileNumber number, std::string_view name) {
  damaged_tables_.insert(TableFileName(number));
  Drop({.file = TableFileName(number),
        .column_family = std::string(name),
        .reason = "a table of a column family that was dropped: a later one has its name"});
}

// No edit drops the default family or the system family; one that says so is wrong.
void Repairing::DropFamily(ColumnFamilyId id) {
  if (id == ColumnFamilyId(0) || id == kSystemFamilyId) return;
  dropped_.insert(id);
  const auto it = families_.find(id);
  if (it == families_.end()) return;
  for (const auto& [number, table] : it->second.listed) removed_.insert(number);
  families_.erase(it);
}

absl::Status Repairing::MadeWith(std::string_view comparator, const FamilyState& family) const {
  return absl::InvalidArgumentError(
      absl::StrFormat("column family \"%s\" in %s was created with comparator \"%s\": repair it with that one",
                      family.creation.name, path_, comparator));
}

absl::Status Repairing::Resolve(FamilyState* family) const {
  ASSIGN_OR_RETURN(const ColumnFamilyOptions given, OptionsFor(options_, path_, family->creation, family->schema));
  family->options = OptionsGivenOrKept(given, family->kept_options);
  family->order = KeyOrder(family->options.comparator);
  return absl::OkStatus();
}

// --- the new state ---

// Puts damaged files and all manifests aside, before any of them is removed.
absl::Status Repairing::PutAside() {
  const std::string path = path_ + "/" + std::string(kLostDirectoryName);
  ASSIGN_OR_RETURN(const std::unique_ptr<Directory> lost, world_.file_system->OpenDirectory(path, /*create=*/true));
  for (const std::string& name : manifests_) RETURN_IF_ERROR(CopyAside(directory_.get(), name, lost.get()));
  for (const std::string& name : damaged_tables_) RETURN_IF_ERROR(CopyAside(directory_.get(), name, lost.get()));
  for (const std::string& name : damaged_logs_) RETURN_IF_ERROR(CopyAside(log_directory(), name, lost.get()));
  for (const std::string& name : ValueFilesToPutAside()) RETURN_IF_ERROR(LinkAside(name, lost.get()));
  return lost->Sync();
}

// Makes a copy rather than a link, because a disk that has begun to lose data should write it again. An earlier file
// with that name stays.
absl::Status Repairing::CopyAside(Directory* from, const std::string& name, Directory* lost) {
  ASSIGN_OR_RETURN(BufferedFileReader window, BufferedFileReader::Open(from, name));
  std::string target = name;
  absl::StatusOr<std::unique_ptr<WritableFile>> file = lost->OpenForWrite(target, WriteMode::kCreateNew);
  for (int copy = 1; absl::IsAlreadyExists(file.status()); ++copy) {
    target = absl::StrFormat("%s.%d", name, copy);
    file = lost->OpenForWrite(target, WriteMode::kCreateNew);
  }
  RETURN_IF_ERROR(file.status());
  constexpr uint64_t kPiece = uint64_t{256} << 10;
  for (uint64_t offset = 0; offset < window.size(); offset += kPiece) {
    ASSIGN_OR_RETURN(const std::string_view bytes, window.At(offset, kPiece));
    RETURN_IF_ERROR((*file)->Append(bytes));
  }
  RETURN_IF_ERROR((*file)->Sync());
  RETURN_IF_ERROR((*file)->Close());
  report_->put_aside.push_back(target);
  return absl::OkStatus();
}

ManifestContents Repairing::Snapshot(FileNumber log) {
  for (const auto& [id, family] : families_) {
    for (const AddedTable& added : family.tables) {
      manifest_.last_sequence = std::max(manifest_.last_sequence, added.table.highest_sequence);
    }
    manifest_.last_sequence = std::max(manifest_.last_sequence, family.flushed_through);
  }
  std::vector<ManifestContents::Family> families;
  for (const auto& [id, family] : families_) {
    families.push_back({.id = id,
                        .description = DescribeFamily(
                            family.creation, family.options,
                            MakeSchema(family.options, family.schema, manifest_.last_sequence), family.flushed_through),
                        .version = std::make_shared<const Version>(family.order),
                        .tables = family.tables});
  }
  VersionEdit head;
  head.features = manifest_.features;
  for (const auto& [name, snapshot] : manifest_.snapshots) head.created_snapshots.push_back(snapshot);
  for (const auto& [id, family] : families_) {
    if (std::any_of(family.tables.begin(), family.tables.end(),
                    [](const AddedTable& added) { return HoldsRangeTombstones(added.table); })) {
      head.features |= Feature::kRangeDeletes;
    }
  }
  head.database_id = database_id_;
  head.hash_seed = manifest_.hash_seed;
  head.next_file_number = FileNumber(next_file_number_);
  head.last_sequence = manifest_.last_sequence;
  head.min_log_number = log;
  if (!LiveValueFiles().empty()) head.features |= Feature::kValueFiles;
  if (head.features.Has(Feature::kExpiry)) head.clock_floor = manifest_.clock_floor;
  if (log_directory_ != nullptr) {
    head.log_directory = PlacesToKeep(world_.file_system, options_.log_directory, path_);
  }
  return {std::move(head), std::move(families)};
}

// Returns the number of the new log.
absl::StatusOr<FileNumber> Repairing::WriteState() {
  const FileNumber log = NewFileNumber();
  const FileNumber number = NewFileNumber();
  ManifestContents snapshot = Snapshot(log);
  LogOptions log_options;
  log_options.database_id = database_id_;
  log_options.random_seed = world_.random_seed;
  log_options.allocation_step_bytes = kLogHeaderBytes;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<WriteAheadLog> empty,
      WriteAheadLog::Create(log_directory(), log_options, {.number = log, .last_sequence = manifest_.last_sequence}));
  ASSIGN_OR_RETURN(const std::unique_ptr<ManifestWriter> manifest,
                   ManifestWriter::Create(directory_.get(), number, database_id_, &snapshot, /*old=*/nullptr));
  RETURN_IF_ERROR(manifest->Close());
  RETURN_IF_ERROR(RemoveManifestsBefore(directory_.get(), number));
  return log;
}

// Files that stay are removed when the database is next opened.
void Repairing::RemoveOldFiles(FileNumber log) {
  std::set<FileNumber> live;
  for (const auto& [id, family] : families_) {
    for (const AddedTable& added : family.tables) live.insert(added.table.number);
  }
  for (const auto& [number, bytes] : table_files_) {
    if (!live.contains(number)) directory_->Remove(TableFileName(number)).IgnoreError();
  }
  const std::set<FileNumber> live_values = LiveValueFiles();
  for (const auto& [number, bytes] : values_->files()) {
    if (!live_values.contains(number)) directory_->Remove(ValueFileName(number)).IgnoreError();
  }
  for (const LogFile& file : logs_) {
    if (file.named < log) log_directory()->Remove(file.name).IgnoreError();
  }
}

TableOutputContext Repairing::OutputContext(const FamilyState& family) {
  TableOutputContext context;
  context.directory = directory_.get();
  context.budget = &budget_;
  context.tuning = tuning_;
  context.options = &family.options;
  context.order = family.order;
  context.family_name = family.creation.name;
  context.family_id = family.creation.id.value();
  context.database_id = database_id_;
  context.hash_seed = manifest_.hash_seed;
  context.now_unix_micros = world_.clock->UnixMicros();
  context.new_file_number = [this] { return NewFileNumber(); };
  context.new_table_id = [this] { return Mix64(world_.random_seed ^ Mix64(database_id_ + NewFileNumber().value())); };
  return context;
}

}  // namespace sepal

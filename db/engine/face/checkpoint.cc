#include "db/engine/face/checkpoint.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/files/guard.h"
#include "db/act/files/table_files.h"
#include "db/act/jobs/range_table.h"
#include "db/act/jobs/verify_values.h"
#include "db/act/log/log_recovery.h"
#include "db/act/manifest/manifest_recovery.h"
#include "db/act/manifest/manifest_writer.h"
#include "db/engine/catalog/manifest_contents.h"
#include "db/engine/catalog/manifest_families.h"
#include "db/format/file_names.h"
#include "db/format/value_file.h"
#include "db/state/version/snapshot_list.h"
#include "util/base/status.h"

namespace sepal {
namespace {

constexpr size_t kCopyBytes = size_t{1} << 20;

class CheckpointWriter {
 public:
  CheckpointWriter(const CheckpointSource& source, std::string_view path, const CheckpointOptions& options)
      : source_(source), path_(path), options_(options) {}

  absl::Status Run() {
    FileSystem* const files = source_.core->world.file_system;
    if (!options_.base.empty()) RETURN_IF_ERROR(ReadBase(files));
    // A directory that is created here is removed again after a failure.
    absl::StatusOr<std::unique_ptr<Directory>> present = files->OpenDirectory(path_, /*create=*/false);
    made_directory_ = absl::IsNotFound(present.status());
    if (made_directory_) present = files->OpenDirectory(path_, /*create=*/true);
    RETURN_IF_ERROR(present.status());
    target_ = std::move(present).value();
    ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, target_->List());
    if (!listing.empty()) {
      made_directory_ = false;
      return absl::AlreadyExistsError(absl::StrFormat(
          "%s is not empty (it holds %s): a checkpoint needs a new or an empty directory", path_, listing[0].name));
    }
    const absl::Status status = Write();
    if (!status.ok()) RemoveAll();
    return status;
  }

 private:
  // Reads which tables the base has.
  absl::Status ReadBase(FileSystem* files) {
    ASSIGN_OR_RETURN(base_, files->OpenDirectory(options_.base, /*create=*/false));
    ASSIGN_OR_RETURN(const std::vector<LogFile> logs, ListLogs(base_.get()));
    ASSIGN_OR_RETURN(
        const ManifestRecovery manifest,
        RecoverManifest(base_.get(), NewestManifest(logs), /*other_files=*/false, [&](const VersionEdit& edit) {
          for (const AddedTable& added : edit.added_tables) {
            base_tables_[added.table.table_id] = added.table;
          }
          return absl::OkStatus();
        }));
    if (manifest.found && manifest.database_id == source_.database_id) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrFormat("%s is not a checkpoint of the database in %s", options_.base, source_.core->path));
  }

  absl::Status Write() {
    RETURN_IF_ERROR(WriteGuard(target_.get()));
    made_.push_back(std::string(kGuardFileName));
    for (const CheckpointFamily& part : source_.families) {
      for (const TableRef& table : part.version->Tables()) total_bytes_ += table->metadata().size_bytes;
    }
    std::vector<std::vector<AddedTable>> flushed;
    for (const CheckpointFamily& part : source_.families) {
      RETURN_IF_ERROR(TakeTables(part));
      ASSIGN_OR_RETURN(flushed.emplace_back(), FlushMemTablesOf(part));
    }
    RETURN_IF_ERROR(TakeValues(flushed));
    RETURN_IF_ERROR(target_->Sync());
    const FileNumber manifest = source_.new_file_number();
    ManifestContents snapshot = Snapshot(manifest.next(), flushed);
    // A failed Create removes its file.
    ASSIGN_OR_RETURN(const std::unique_ptr<ManifestWriter> writer,
                     ManifestWriter::Create(target_.get(), manifest, source_.database_id, &snapshot, /*old=*/nullptr));
    made_.push_back(ManifestFileName(manifest));
    return writer->Close();
  }

  // `flushed`: the tables of each family's memtables; it must outlive the snapshot.
  ManifestContents Snapshot(FileNumber next_file_number, const std::vector<std::vector<AddedTable>>& flushed) const {
    VersionEdit head;
    head.database_id = source_.database_id;
    head.hash_seed = source_.hash_seed;
    head.last_sequence = source_.last;
    head.next_file_number = next_file_number;
    head.features = source_.features;
    head.created_snapshots = source_.snapshots;
    if (source_.core->expiry.in_use()) {
      head.features |= Feature::kExpiry;
      head.clock_floor = source_.core->expiry.Floor();
    }
    std::vector<ManifestContents::Family> families;
    for (size_t i = 0; i < source_.families.size(); ++i) {
      const Family& family = *source_.families[i].family;
      families.push_back({.id = family.id,
                          .description = DescribeFamily(family, source_.families[i].schema, source_.last),
                          .version = source_.families[i].version,
                          .tables = flushed[i]});
    }
    return {std::move(head), std::move(families)};
  }

  absl::Status TakeTables(const CheckpointFamily& part) {
    for (const TableRef& table : part.version->Tables()) {
      RETURN_IF_ERROR(TakeTable(*part.family, table->metadata()));
      done_bytes_ += table->metadata().size_bytes;
      if (options_.progress) options_.progress(done_bytes_, total_bytes_);
    }
    return absl::OkStatus();
  }

  absl::StatusOr<std::vector<AddedTable>> FlushMemTablesOf(const CheckpointFamily& part) {
    const Family& family = *part.family;
    std::vector<AddedTable> flushed;
    if (part.memtables.empty()) return flushed;
    TableOutputContext context = source_.output_context(family);
    context.directory = target_.get();
    const std::vector<SequenceNumber> standing =
        StandingThrough(SequencesOf(source_.snapshots), part.schema.SettledThrough(source_.last));
    // An unfinished table removes itself.
    ASSIGN_OR_RETURN(const std::vector<TableMetadata> tables,
                     FlushMemTablesAndRanges({.context = context, .memtables = part.memtables, .snapshots = standing}));
    for (const TableMetadata& table : tables) {
      made_.push_back(TableFileName(table.number));
      flushed.push_back({.family = family.id, .level = 0, .table = table});
      if (options_.verify) RETURN_IF_ERROR(Verify(target_.get(), family, table));
    }
    return flushed;
  }

  // Takes the value files that tables refer to. Read-only beside a writer, the files may have contents that are not
  // durable, so they are copied, not linked.
  absl::Status TakeValues(const std::vector<std::vector<AddedTable>>& flushed) {
    std::set<FileNumber> files;
    const auto take = [&files](const TableMetadata& table) {
      for (const ValueLinks& links : table.value_links) files.insert(links.file);
    };
    for (const CheckpointFamily& part : source_.families) {
      for (const TableRef& table : part.version->Tables()) take(table->metadata());
    }
    for (const std::vector<AddedTable>& tables : flushed) {
      for (const AddedTable& added : tables) take(added.table);
    }
    const bool links = options_.link_tables && !source_.core->read_only;
    for (const FileNumber file : files) {
      const std::string name = ValueFileName(file);
      if (BaseHasValues(name) && Link(base_.get(), name, name)) continue;
      if (links && Link(source_.core->directory.get(), name, name)) continue;
      RETURN_IF_ERROR(CopyValues(name));
    }
    return options_.verify && !files.empty() ? VerifyAllValues(flushed) : absl::OkStatus();
  }

  // Returns whether the base has the same value file. Its bytes, once written, never change.
  bool BaseHasValues(const std::string& name) const {
    if (base_ == nullptr) return false;
    const std::optional<std::string> there = BeginningOf(base_.get(), name);
    return there.has_value() && there == BeginningOf(source_.core->directory.get(), name);
  }

  // Returns a value file's size and its header, which has a random id; nullopt if it cannot be read.
  static std::optional<std::string> BeginningOf(Directory* directory, const std::string& name) {
    const absl::StatusOr<std::unique_ptr<ReadableFile>> file = directory->OpenForRead(name);
    if (!file.ok()) return std::nullopt;
    const absl::StatusOr<uint64_t> size = (*file)->Size();
    char header[kValueFileHeaderBytes];
    const absl::StatusOr<size_t> read = (*file)->Read(0, sizeof header, header);
    if (!size.ok() || !read.ok() || *read < sizeof header) return std::nullopt;
    return std::to_string(*size) + ":" + std::string(header, sizeof header);
  }

  absl::Status VerifyAllValues(const std::vector<std::vector<AddedTable>>& flushed) {
    ValueStore values(target_.get(), /*beside_a_writer=*/false, /*cache=*/nullptr);
    values.Identify(source_.database_id);
    for (size_t i = 0; i < source_.families.size(); ++i) {
      const CheckpointFamily& part = source_.families[i];
      for (const TableRef& table : part.version->Tables()) {
        RETURN_IF_ERROR(VerifyValuesOf(*part.family, table->metadata(), &values));
      }
      for (const AddedTable& added : flushed[i]) {
        RETURN_IF_ERROR(VerifyValuesOf(*part.family, added.table, &values));
      }
    }
    return absl::OkStatus();
  }

  absl::Status VerifyValuesOf(const Family& family, const TableMetadata& table, ValueStore* values) {
    if (table.value_links.empty()) return absl::OkStatus();
    FamilyTableOpener opener(WithoutCache(target_.get()), family.order);
    ASSIGN_OR_RETURN(std::shared_ptr<const TableReader> reader, opener.OpenTable(table));
    return VerifyValues(std::move(reader), table.value_links, values);
  }

  absl::Status CopyValues(const std::string& name) {
    Directory* const from = source_.core->directory.get();
    const absl::StatusOr<std::unique_ptr<ReadableFile>> in = from->OpenForRead(name);
    if (absl::IsNotFound(in.status()) && source_.core->read_only) {
      return absl::AbortedError(absl::StrFormat(
          "%s/%s was removed by the writer of the database: open the database again", from->path(), name));
    }
    RETURN_IF_ERROR(in.status());
    ASSIGN_OR_RETURN(const uint64_t size, (*in)->Size());
    return Copy(from, name, size, FileUseKind::kValues);
  }

  // Takes a table: it is immutable, so a link is as good as a copy.
  absl::Status TakeTable(const Family& family, const TableMetadata& table) {
    const std::string name = TableFileName(table.number);
    Directory* const from = source_.core->directory.get();
    const auto in_base = base_tables_.find(table.table_id);
    if (in_base != base_tables_.end() && in_base->second.size_bytes == table.size_bytes &&
        in_base->second.footer_checksum == table.footer_checksum &&
        Link(base_.get(), TableFileName(in_base->second.number), name)) {
      return absl::OkStatus();
    }
    if (options_.link_tables && Link(from, name, name)) return absl::OkStatus();
    const absl::Status copied = Copy(from, name, table.size_bytes, FileUseKind::kTable);
    if (absl::IsNotFound(copied) && source_.core->read_only) {
      return absl::AbortedError(absl::StrFormat(
          "%s/%s was removed by the writer of the database: open the database again", from->path(), name));
    }
    RETURN_IF_ERROR(copied);
    if (!options_.verify) return absl::OkStatus();
    const absl::Status whole = Verify(target_.get(), family, table);
    if (!absl::IsDataLoss(whole)) return whole;
    // The copy is removed, so damage is reported for the original if the original has it.
    RETURN_IF_ERROR(Verify(from, family, table));
    return whole;
  }

  // Returns false if linking is not possible: on another file system, or one without links.
  bool Link(Directory* from, const std::string& name, const std::string& new_name) {
    if (!from->capabilities().hard_link || !from->Link(name, *target_, new_name).ok()) return false;
    made_.push_back(new_name);
    return true;
  }

  FamilyTableOpener::Parts WithoutCache(Directory* directory) const {
    Core& core = *source_.core;
    return {directory, /*cache=*/nullptr, &core.budget, &core.statistics, core.read_only};
  }

  absl::Status Verify(Directory* directory, const Family& family, const TableMetadata& table) {
    FamilyTableOpener opener(WithoutCache(directory), family.order);
    ASSIGN_OR_RETURN(const std::shared_ptr<TableReader> reader, opener.OpenTable(table));
    return reader->Verify();
  }

  absl::Status Copy(Directory* from, const std::string& name, uint64_t size, FileUseKind kind) {
    ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> in, from->OpenForRead(name));
    in->Advise(AccessPattern::kSequential);
    ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> out,
                     target_->OpenForWrite(name, WriteMode::kCreateNew, {.kind = kind, .expected_bytes = size}));
    made_.push_back(name);
    RETURN_IF_ERROR(out->Allocate(0, size));
    std::string buffer(std::min<uint64_t>(size, kCopyBytes), '\0');
    for (uint64_t offset = 0; offset < size;) {
      const size_t want = std::min<uint64_t>(buffer.size(), size - offset);
      ASSIGN_OR_RETURN(const size_t got, in->Read(offset, want, buffer.data()));
      if (got < want) {
        return Damaged(from->path() + "/" + name, offset + got, "size of the file", std::to_string(size),
                       std::to_string(offset + got));
      }
      RETURN_IF_ERROR(out->Append(std::string_view(buffer).substr(0, got)));
      offset += got;
    }
    RETURN_IF_ERROR(out->Sync());
    return out->Close();
  }

  // The manifest is removed first: without it the other files are no database.
  void RemoveAll() {
    for (auto it = made_.rbegin(); it != made_.rend(); ++it) target_->Remove(*it).IgnoreError();
    target_->Sync().IgnoreError();
    target_.reset();
    if (made_directory_) source_.core->world.file_system->RemoveDirectory(path_).IgnoreError();
  }

  const CheckpointSource& source_;
  const std::string path_;
  const CheckpointOptions& options_;
  std::unique_ptr<Directory> target_;
  bool made_directory_ = false;
  std::unique_ptr<Directory> base_;
  std::map<uint64_t, TableMetadata> base_tables_;  // by table id
  uint64_t done_bytes_ = 0, total_bytes_ = 0;
  std::vector<std::string> made_;  // by this call, as another process may write to the same directory
};

}  // namespace

absl::Status WriteCheckpoint(const CheckpointSource& source, std::string_view path, const CheckpointOptions& options) {
  return CheckpointWriter(source, path, options).Run();
}

}  // namespace sepal

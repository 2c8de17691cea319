#include "db/act/manifest/manifest_writer.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/manifest/manifest_recovery.h"
#include "db/format/file_names.h"
#include "util/base/check.h"
#include "util/base/coding.h"
#include "util/base/no_memory.h"
#include "util/base/status.h"

namespace sepal {
namespace {

constexpr uint64_t kAllocationStepBytes = 64 << 10;
constexpr FileUse kManifestUse = {.kind = FileUseKind::kManifest, .expected_bytes = 0};
constexpr size_t kSnapshotPieceBytes = 256 << 10;
constexpr uint64_t kControlRecordBytes = kManifestRecordHeaderBytes + kManifestControlBytes;

class EditsAtHand final : public EditSource {
 public:
  explicit EditsAtHand(std::span<const VersionEdit> edits) : left_(edits) {}
  const VersionEdit* Next() override {
    if (left_.empty()) return nullptr;
    const VersionEdit* const edit = &left_.front();
    left_ = left_.subspan(1);
    return edit;
  }

 private:
  std::span<const VersionEdit> left_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ManifestWriter>> ManifestWriter::Create(Directory* directory, FileNumber number,
                                                                       uint64_t database_id,
                                                                       std::span<const VersionEdit> snapshot,
                                                                       ManifestWriter* old) {
  EditsAtHand edits(snapshot);
  return Create(directory, number, database_id, &edits, old);
}

absl::StatusOr<std::unique_ptr<ManifestWriter>> ManifestWriter::Create(Directory* directory, FileNumber number,
                                                                       uint64_t database_id, EditSource* snapshot,
                                                                       ManifestWriter* old) {
  if (old != nullptr) {
    RETURN_IF_ERROR(old->failure_);
    SEPAL_CHECK(number > old->number_);
    RETURN_IF_ERROR(old->ReserveSpace(kControlRecordBytes));
  }
  std::unique_ptr<ManifestWriter> manifest(new ManifestWriter(directory, number));
  const std::string name = ManifestFileName(number);
  ASSIGN_OR_RETURN(manifest->file_, directory->OpenForWrite(name, WriteMode::kCreateNew, kManifestUse));
  if (absl::Status status = manifest->WriteSnapshot(database_id, snapshot); !status.ok()) {
    manifest->file_.reset();
    const absl::Status removed = RemoveDurably(directory, std::span(&name, 1));
    if (!removed.ok() && old != nullptr) (void)old->Latch(removed);
    return status;
  }
  if (old != nullptr) RETURN_IF_ERROR(old->ContinueIn(number));
  manifest->takes_edits_ = true;
  manifest->MarkSynced();
  return manifest;
}

absl::StatusOr<std::unique_ptr<ManifestWriter>> ManifestWriter::Reopen(Directory* directory,
                                                                       const ManifestRecovery& recovered) {
  SEPAL_CHECK(recovered.found);
  std::unique_ptr<ManifestWriter> manifest(new ManifestWriter(directory, recovered.number));
  ASSIGN_OR_RETURN(manifest->file_,
                   directory->OpenForWrite(ManifestFileName(recovered.number), WriteMode::kOpenExisting, kManifestUse));
  if (manifest->file_->Size() != recovered.length_bytes) {
    RETURN_IF_ERROR(manifest->file_->Truncate(recovered.length_bytes));
  }
  manifest->header_checksum_ = recovered.header_checksum;
  manifest->checksum_ = recovered.checksum;
  manifest->size_ = recovered.length_bytes;
  manifest->allocated_ = recovered.length_bytes;
  return manifest;
}

absl::Status ManifestWriter::WriteSnapshot(uint64_t database_id, EditSource* snapshot) {
  buffer_ = ManifestHeader{number_, database_id}.Encode();
  header_checksum_ = ManifestHeaderChecksum(buffer_);
  checksum_ = header_checksum_;
  size_t edits = 0;
  std::string payload;
  while (const VersionEdit* const edit = snapshot->Next()) {
    ++edits;
    payload.clear();
    edit->EncodeTo(&payload);
    RETURN_IF_ERROR(CheckManifestPayload(payload.size()));
    checksum_ = AppendManifestRecord(&buffer_, ManifestRecordKind::kEdit, payload, checksum_);
    if (buffer_.size() < kSnapshotPieceBytes) continue;
    RETURN_IF_ERROR(file_->Append(buffer_));
    size_ += buffer_.size();
    buffer_.clear();
  }
  const std::string seal = EncodeManifestSeal(edits, checksum_);
  checksum_ = AppendManifestRecord(&buffer_, ManifestRecordKind::kSeal, seal, checksum_);
  RETURN_IF_ERROR(file_->Append(buffer_));
  size_ += buffer_.size();
  // Space for the record that says that all this is synced: once this is the newest manifest, a failure would stop all
  // writes.
  RETURN_IF_ERROR(file_->Allocate(size_, kControlRecordBytes));
  allocated_ = size_ + kControlRecordBytes;
  RETURN_IF_ERROR(file_->Sync());
  RETURN_IF_ERROR(directory_->Sync());
  durable_.store(size_, std::memory_order_release);
  return absl::OkStatus();
}

absl::Status ManifestWriter::AddEdit(const VersionEdit& edit) {
  RETURN_IF_ERROR(failure_);
  SEPAL_CHECK(takes_edits_);
  const std::string payload = edit.Encode();
  RETURN_IF_ERROR(CheckManifestPayload(payload.size()));
  SEPAL_DCHECK(VersionEdit::Decode(payload).ok());
  buffer_.clear();
  const uint64_t checksum = AppendManifestRecord(&buffer_, ManifestRecordKind::kEdit, payload, checksum_);
  RETURN_IF_ERROR(ReserveSpace(buffer_.size() + kControlRecordBytes));
  RETURN_IF_ERROR(AppendAndSync(checksum));
  MarkSynced();
  return absl::OkStatus();
}

absl::Status ManifestWriter::ContinueIn(FileNumber next) {
  takes_edits_ = false;
  buffer_.clear();
  const std::string payload =
      EncodeManifestControl(ManifestRecordKind::kContinuedIn, next.value(), size_, header_checksum_);
  return AppendAndSync(AppendManifestRecord(&buffer_, ManifestRecordKind::kContinuedIn, payload, checksum_));
}

// If the disk is full, this fails without harm, because nothing has been written.
absl::Status ManifestWriter::ReserveSpace(uint64_t bytes) {
  const uint64_t needed = size_ + bytes;
  if (needed <= allocated_) return absl::OkStatus();
  absl::Status status;
  for (const uint64_t length : {std::max(needed - allocated_, kAllocationStepBytes), needed - allocated_}) {
    status = file_->Allocate(allocated_, length);
    if (status.ok()) {
      allocated_ += length;
      return absl::OkStatus();
    }
    if (!absl::IsResourceExhausted(status)) return Latch(status);
  }
  return Annotate(status, absl::StrFormat("no %s for a version edit; nothing was written",
                                          IsNoMemory(status) ? "memory" : "space"));
}

absl::Status ManifestWriter::AppendAndSync(uint64_t checksum) {
  absl::Status status = file_->Append(buffer_);
  if (status.ok()) status = file_->Sync();
  if (!status.ok()) return Latch(status);
  checksum_ = checksum;
  size_ += buffer_.size();
  durable_.store(size_, std::memory_order_release);
  return absl::OkStatus();
}

// If the mark cannot be written, the synced edits remain durable, and the next edit reports the failure.
void ManifestWriter::MarkSynced() {
  buffer_.clear();
  const std::string payload = EncodeManifestControl(ManifestRecordKind::kSynced, size_, size_, header_checksum_);
  checksum_ = AppendManifestRecord(&buffer_, ManifestRecordKind::kSynced, payload, checksum_);
  const absl::Status status = file_->Append(buffer_);
  if (status.ok()) {
    size_ += buffer_.size();
  } else {
    (void)Latch(status);
  }
}

absl::Status ManifestWriter::Latch(const absl::Status& error) {
  KeepFirst(&failure_, Lasting(error, "the manifest failed: the outcome of the write is unknown; reopen the database"));
  return failure_;
}

absl::Status ManifestWriter::Close() { return file_->Close(); }

absl::Status RemoveDurably(Directory* directory, std::span<const std::string> names) {
  if (names.empty()) return absl::OkStatus();
  for (const std::string& name : names) {
    const absl::Status status = directory->Remove(name);
    if (!status.ok() && !absl::IsNotFound(status)) return status;
  }
  return directory->Sync();
}

absl::Status RemoveManifests(Directory* directory, std::vector<FileNumber>* manifests) {
  while (!manifests->empty()) {
    const std::string name = ManifestFileName(manifests->front());
    RETURN_IF_ERROR(RemoveDurably(directory, std::span(&name, 1)));
    manifests->erase(manifests->begin());
  }
  return absl::OkStatus();
}

absl::Status RemoveManifestsBefore(Directory* directory, FileNumber number) {
  ASSIGN_OR_RETURN(const std::vector<DirectoryEntry> listing, directory->List());
  return RemoveManifestsBefore(directory, listing, number);
}

absl::Status RemoveManifestsBefore(Directory* directory, std::span<const DirectoryEntry> listing, FileNumber number) {
  std::vector<FileNumber> older;
  for (const DirectoryEntry& entry : listing) {
    const std::optional<ParsedFileName> parsed = ParseFileName(entry.name);
    if (parsed.has_value() && parsed->kind == FileKind::kManifest && parsed->number < number) {
      older.push_back(parsed->number);
    }
  }
  std::sort(older.begin(), older.end());
  return RemoveManifests(directory, &older);
}

}  // namespace sepal

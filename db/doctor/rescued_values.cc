#include "db/doctor/rescued_values.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "db/act/files/value_steps.h"
#include "db/format/file_names.h"
#include "db/format/stored_value.h"
#include "db/format/value_file.h"
#include "util/base/status.h"

namespace sepal {

void RescuedValues::AddFile(FileNumber number, uint64_t bytes) {
  files_.emplace(number, bytes);
  store_.Hold(store_.Pin(number));
}

void RescuedValues::Identify(uint64_t database_id) {
  database_id_ = database_id;
  store_.Identify(database_id);
}

absl::StatusOr<RescuedValues::Place> RescuedValues::Find(const ValueReference& reference, absl::Status* why) {
  found_ = reference;
  found_in_ = reference.file;
  *why = reference.chunked ? store_.Verify(reference) : store_.ReadStored(reference, &stored_);
  if (why->ok()) return Place::kThere;
  if (!absl::IsDataLoss(*why)) return *why;
  damaged_.insert(reference.file);
  RETURN_IF_ERROR(ReadHeaders());
  ASSIGN_OR_RETURN(const bool under_a_bad_header, IsIn(reference.file, reference));
  if (under_a_bad_header) return Place::kElsewhere;
  const auto misnamed = misnamed_.find(reference.file);
  if (misnamed == misnamed_.end()) return Place::kNowhere;
  ASSIGN_OR_RETURN(const bool there, IsIn(misnamed->second, reference));
  return there ? Place::kElsewhere : Place::kNowhere;
}

absl::StatusOr<ValueReference> RescuedValues::Copy() {
  if (!std::exchange(writes_, true)) store_.Start(writing_);
  if (found_.chunked) return CopyChunked();
  ASSIGN_OR_RETURN(const ValueWriter::Written written, store_.fresh().Append(StoredAs(found_, stored_)));
  return written.reference;
}

absl::Status RescuedValues::Sync() {
  store_.fresh().EndFile();
  return store_.fresh().Sync();
}

absl::Status RescuedValues::ReadHeaders() {
  if (std::exchange(headers_read_, true)) return absl::OkStatus();
  for (const auto& [number, bytes] : files_) {
    const std::string name = ValueFileName(number);
    ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, directory_->OpenForRead(name));
    char header_bytes[kValueFileHeaderBytes];
    ASSIGN_OR_RETURN(const size_t read, file->Read(0, sizeof header_bytes, header_bytes));
    const absl::StatusOr<ValueFileHeader> header = ValueFileHeader::Decode({header_bytes, read}, name);
    if (!header.ok() || header->database_id != database_id_ || header->number == number) continue;
    misnamed_.emplace(header->number, number);
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> RescuedValues::IsIn(FileNumber number, const ValueReference& reference) {
  const auto listed = files_.find(number);
  if (listed == files_.end() || listed->second < reference.offset) return false;
  if (listed->second - reference.offset < reference.stored_bytes) return false;
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, directory_->OpenForRead(ValueFileName(number)));
  stored_.clear();
  const auto keep = [&](uint64_t, std::string_view step) {
    if (!reference.chunked) stored_.append(step);
    return absl::OkStatus();
  };
  const absl::Status status = ReadWithoutSums(*file, ValueFileName(number), reference, keep);
  if (absl::IsDataLoss(status)) return false;
  RETURN_IF_ERROR(status);
  found_in_ = number;
  damaged_.insert(number);
  return true;
}

absl::StatusOr<ValueReference> RescuedValues::CopyChunked() {
  ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, directory_->OpenForRead(ValueFileName(found_in_)));
  ASSIGN_OR_RETURN(const std::unique_ptr<ValueStreamWriter> stream, store_.BeginStream(found_.stored_bytes));
  RETURN_IF_ERROR(ReadWithoutSums(*file, ValueFileName(found_in_), found_,
                                  [&](uint64_t, std::string_view step) { return stream->Append(step); }));
  ASSIGN_OR_RETURN(const ValueWriter::Written written, stream->Finish());
  return written.reference;
}

}  // namespace sepal

#include "db/act/files/value_stream_writer.h"

#include <utility>

#include "db/format/file_names.h"
#include "db/format/value_file.h"
#include "util/base/check.h"
#include "util/base/status.h"

namespace sepal {

absl::StatusOr<std::unique_ptr<ValueStreamWriter>> ValueStreamWriter::Begin(const ValueOutputs& to, uint64_t bytes) {
  SEPAL_CHECK(to.new_file_number != nullptr && bytes > 0);
  const FileNumber number = to.new_file_number();
  const std::string name = ValueFileName(number);
  const ValueReference place{number, kValueFileHeaderBytes, bytes};
  const uint64_t file_bytes = place.sums_offset() + place.sums_bytes();
  auto stream = std::unique_ptr<ValueStreamWriter>(new ValueStreamWriter(to, number, bytes));
  // From here on, the file is removed with the stream.
  stream->file_ = to.pin(number);
  ASSIGN_OR_RETURN(stream->writer_,
                   to.directory->OpenForWrite(name, WriteMode::kCreateNew,
                                              {.kind = FileUseKind::kValues, .expected_bytes = file_bytes}));
  RETURN_IF_ERROR(stream->writer_->Allocate(0, file_bytes));
  const ValueFileHeader header{to.database_id, number, to.new_file_id()};
  RETURN_IF_ERROR(stream->writer_->WriteAt(0, header.Encode()));
  return stream;
}

absl::Status ValueStreamWriter::Append(std::string_view part) {
  SEPAL_CHECK(appended_ % kValueChunkBytes == 0 && part.size() <= bytes_ - appended_);
  if (to_.pacing.limiter != nullptr) to_.pacing.limiter->Take(part.size(), to_.pacing.priority);
  const uint64_t offset = kValueFileHeaderBytes + appended_;
  RETURN_IF_ERROR(writer_->WriteAt(offset, part));
  // Written back now, so that the final sync has little left, and the page cache does not fill up.
  RETURN_IF_ERROR(writer_->SyncRange(offset, part.size()));
  AppendChunkSums(number_, offset, part, &sums_);
  appended_ += part.size();
  return absl::OkStatus();
}

absl::StatusOr<ValueWriter::Written> ValueStreamWriter::Finish() {
  SEPAL_CHECK(appended_ == bytes_);
  const ValueReference reference = ReferenceToChunked(number_, kValueFileHeaderBytes, bytes_, sums_);
  RETURN_IF_ERROR(writer_->WriteAt(reference.sums_offset(), sums_));
  RETURN_IF_ERROR(writer_->Sync());
  RETURN_IF_ERROR(writer_->Close());
  writer_.reset();
  RETURN_IF_ERROR(to_.directory->Sync());
  to_.ended(number_, reference.sums_offset() + reference.sums_bytes());
  return ValueWriter::Written{reference, std::move(file_)};
}

}  // namespace sepal

#include "db/act/files/value_writer.h"

#include <algorithm>
#include <utility>

#include "db/format/file_names.h"
#include "db/format/value_file.h"
#include "util/base/check.h"
#include "util/base/status.h"

namespace sepal {

absl::StatusOr<ValueWriter::Written> ValueWriter::Append(const StoredValue& value) {
  ASSIGN_OR_RETURN(Place place, AppendBytes(value.bytes));
  return Written{ReferenceTo(place.number, place.offset, value), std::move(place.file)};
}

absl::StatusOr<ValueWriter::Place> ValueWriter::AppendBytes(std::string_view bytes) {
  if (to_.pacing.limiter != nullptr) to_.pacing.limiter->Take(bytes.size(), to_.pacing.priority);
  MutexLock lock(&append_mutex_);
  RETURN_IF_ERROR(failure_);
  if (active_ != nullptr && active_->end >= to_.file_bytes) EndActive();
  if (active_ == nullptr) RETURN_IF_ERROR(BeginFile());
  Output& output = *active_;
  const uint64_t offset = output.end;
  RETURN_IF_ERROR(Reserve(offset + bytes.size()));
  // After a failure, the next bytes are written to the same place.
  RETURN_IF_ERROR(output.writer->WriteAt(offset, bytes));
  output.end = offset + bytes.size();
  output.dirty = true;
  appended_.store(appended_.load(std::memory_order_relaxed) + bytes.size() + 1, std::memory_order_release);
  return Place{.number = output.number, .offset = offset, .file = output.file};
}

void ValueWriter::TakeBack(const ValueReference& reference) {
  MutexLock lock(&append_mutex_);
  const bool last = active_ != nullptr && active_->number == reference.file &&
                    active_->end == reference.offset + reference.stored_bytes;
  if (last) active_->end = reference.offset;
}

absl::Status ValueWriter::BeginFile() {
  SEPAL_CHECK(to_.new_file_number != nullptr);
  auto output = std::make_shared<Output>();
  const FileNumber number = to_.new_file_number();
  const std::string name = ValueFileName(number);
  absl::StatusOr<std::unique_ptr<WritableFile>> writer =
      to_.directory->OpenForWrite(name, WriteMode::kCreateNew, {.kind = to_.use, .expected_bytes = to_.file_bytes});
  RETURN_IF_ERROR(writer.status());
  const ValueFileHeader header{to_.database_id, number, to_.new_file_id()};
  if (const absl::Status written = (*writer)->Append(header.Encode()); !written.ok()) {
    to_.directory->Remove(name).IgnoreError();
    return written;
  }
  output->number = number;
  output->file = to_.pin(number);
  output->writer = *std::move(writer);
  output->end = output->space = kValueFileHeaderBytes;
  active_ = output;
  outputs_.push_back(std::move(output));
  return absl::OkStatus();
}

absl::Status ValueWriter::Reserve(uint64_t end) {
  Output& output = *active_;
  if (end <= output.space) return absl::OkStatus();
  const uint64_t needed = end - output.space;
  uint64_t bytes = std::max(needed, to_.step_bytes);
  absl::Status status = output.writer->Allocate(output.space, bytes);
  if (absl::IsResourceExhausted(status) && bytes > needed) {
    status = output.writer->Allocate(output.space, bytes = needed);
  }
  RETURN_IF_ERROR(status);
  output.space += bytes;
  return absl::OkStatus();
}

void ValueWriter::EndFile() {
  if (appended_.load(std::memory_order_acquire) == 0) return;
  MutexLock lock(&append_mutex_);
  if (active_ != nullptr) EndActive();
}

// Releases the space reserved after the values; if that fails, it is released when the file is removed.
void ValueWriter::EndActive() {
  const std::shared_ptr<Output> ended = std::exchange(active_, nullptr);
  if (ended->space > ended->end) ended->writer->Truncate(ended->end).IgnoreError();
  ended->space = ended->end;
  if (!ended->dirty) std::erase(outputs_, ended);
  to_.ended(ended->number, ended->end);
}

absl::Status ValueWriter::Sync() {
  if (!HasUnsynced()) [[likely]]
    return absl::OkStatus();
  MutexLock sync_lock(&sync_mutex_);
  std::vector<std::shared_ptr<Output>> outputs;
  uint64_t target = 0;
  {
    MutexLock lock(&append_mutex_);
    RETURN_IF_ERROR(failure_);
    target = appended_.load(std::memory_order_relaxed);
    for (const std::shared_ptr<Output>& output : outputs_) {
      if (std::exchange(output->dirty, false)) outputs.push_back(output);
    }
  }
  const absl::Status status = SyncOutputs(outputs);
  MutexLock lock(&append_mutex_);
  if (!status.ok()) {
    failure_ = Lasting(status, "a value file could not be synced: reopen the database");
    return failure_;
  }
  durable_.store(target, std::memory_order_release);
  const Output* const active = active_.get();
  std::erase_if(outputs_, [active](const auto& output) { return output.get() != active && !output->dirty; });
  return absl::OkStatus();
}

absl::Status ValueWriter::SyncOutputs(const std::vector<std::shared_ptr<Output>>& outputs) {
  bool all_named = true;
  for (const std::shared_ptr<Output>& output : outputs) {
    RETURN_IF_ERROR(output->writer->Sync());
    all_named = all_named && output->named;
  }
  if (all_named) return absl::OkStatus();
  RETURN_IF_ERROR(to_.directory->Sync());
  for (const std::shared_ptr<Output>& output : outputs) output->named = true;
  return absl::OkStatus();
}

}  // namespace sepal

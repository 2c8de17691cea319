#include "db/act/log/preallocated_log.h"

#include <string>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/format/file_names.h"
#include "db/format/log_format.h"
#include "util/base/no_memory.h"
#include "util/base/status.h"

namespace sepal {

absl::StatusOr<PreallocatedLog::Made> PreallocatedLog::Create(Directory* directory, FileNumber number, uint64_t bytes) {
  Made made{.number = number, .file = nullptr, .space_bytes = bytes};
  ASSIGN_OR_RETURN(made.file, directory->OpenForWrite(LogFileName(number), WriteMode::kCreateNew,
                                                      {.kind = FileUseKind::kLog, .expected_bytes = bytes}));
  absl::Status status = made.file->Allocate(0, bytes);
  if (absl::IsResourceExhausted(status) && bytes > kLogHeaderBytes) {
    made.space_bytes = kLogHeaderBytes;
    status = made.file->Allocate(0, kLogHeaderBytes);
  }
  if (status.ok()) return made;
  made.file.reset();
  Remove(directory, number);
  return Annotate(status, absl::StrFormat("no %s for a new write-ahead log", IsNoMemory(status) ? "memory" : "space"));
}

absl::StatusOr<PreallocatedLog::Made> PreallocatedLog::Make(Directory* directory, FileNumber number, uint64_t bytes,
                                                            bool extend) {
  ASSIGN_OR_RETURN(Made made, Create(directory, number, bytes));
  absl::Status status = made.file->Append(std::string(kLogHeaderBytes, '\0'));
  if (status.ok() && extend) made.file->Truncate(made.space_bytes).IgnoreError();  // writes would extend it, too
  if (status.ok()) status = made.file->Sync();
  if (status.ok()) status = directory->Sync();
  if (status.ok()) return made;
  made.file.reset();
  Remove(directory, number);
  return status;
}

// If the file remains nevertheless, it is zero, and recovery removes it.
void PreallocatedLog::Remove(Directory* directory, FileNumber number) {
  directory->Remove(LogFileName(number)).IgnoreError();
}

void PreallocatedLog::Prepare(FileNumber number, std::function<void()> then) {
  if (!wanted()) return;
  auto ahead = std::make_shared<Ahead>(number, /*awaited=*/then != nullptr);
  const bool runs = tasks_->Run([ahead, directory = directory_, bytes = bytes_, extend = extend_, then] {
    MakeAhead(ahead.get(), directory, bytes, extend);
    if (!ahead->awaited) return;
    then();
    {
      MutexLock lock(&ahead->mutex);
      ahead->ended = true;
    }
    ahead->changed.NotifyAll();
  });
  if (runs) ahead_ = std::move(ahead);
}

void PreallocatedLog::MakeAhead(Ahead* ahead, Directory* directory, uint64_t bytes, bool extend) {
  {
    MutexLock lock(&ahead->mutex);
    if (ahead->dropped) return;
    ahead->begun = true;
  }
  absl::StatusOr<Made> made = Make(directory, ahead->number, bytes, extend);
  // A writer that needs a file then creates one, and meets any lasting failure.
  if (!made.ok()) return;
  MutexLock lock(&ahead->mutex);
  if (ahead->dropped) {
    made->file.reset();
    Remove(directory, ahead->number);
  } else {
    ahead->made = *std::move(made);
  }
}

std::function<void()> PreallocatedLog::Awaiter() const {
  if (ahead_ == nullptr || !ahead_->awaited) return nullptr;
  return [ahead = ahead_] {
    MutexLock lock(&ahead->mutex);
    while (ahead->begun && !ahead->ended && !ahead->dropped) ahead->changed.Wait(&ahead->mutex);
  };
}

std::optional<PreallocatedLog::Made> PreallocatedLog::Take() {
  if (ahead_ == nullptr) return std::nullopt;
  const std::shared_ptr<Ahead> ahead = std::exchange(ahead_, nullptr);
  std::optional<Made> made;
  {
    MutexLock lock(&ahead->mutex);
    ahead->dropped = true;
    made = std::move(ahead->made);
  }
  if (ahead->awaited) ahead->changed.NotifyAll();
  return made;
}

void PreallocatedLog::Discard() {
  std::optional<Made> made = Take();
  if (!made.has_value()) return;
  made->file.reset();
  Remove(directory_, made->number);
}

}  // namespace sepal

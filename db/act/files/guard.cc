#include "db/act/files/guard.h"

#include <array>
#include <memory>

#include "db/act/files/directory_listing.h"
#include "db/format/file_names.h"
#include "util/base/status.h"

namespace sepal {

absl::StatusOr<GuardState> ReadGuard(Directory* directory) {
  const absl::StatusOr<std::unique_ptr<ReadableFile>> file = directory->OpenForRead(kGuardFileName);
  if (absl::IsNotFound(file.status())) return GuardState::kAbsent;
  if (!file.ok()) {
    ASSIGN_OR_RETURN(const bool there, FileExists(directory, kGuardFileName));
    return there ? GuardState::kUnfinished : GuardState::kAbsent;
  }
  std::array<char, kGuardContents.size() + 1> bytes;
  const absl::StatusOr<size_t> got = (*file)->Read(0, bytes.size(), bytes.data());
  if (!got.ok()) return GuardState::kUnfinished;
  if (*got > kGuardContents.size()) return GuardState::kForeign;
  return std::string_view(bytes.data(), *got) == kGuardContents ? GuardState::kWhole : GuardState::kUnfinished;
}

absl::Status WriteGuard(Directory* directory) {
  absl::StatusOr<std::unique_ptr<WritableFile>> file = directory->OpenForWrite(kGuardFileName, WriteMode::kCreateNew);
  RETURN_IF_ERROR(file.status());
  absl::Status written = (*file)->Append(kGuardContents);
  if (written.ok()) written = (*file)->Sync();
  if (written.ok()) written = (*file)->Close();
  if (written.ok()) return written;
  file->reset();
  directory->Remove(kGuardFileName).IgnoreError();
  return written;
}

}  // namespace sepal

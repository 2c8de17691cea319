#include "db/act/log/resync_header.h"

#include <memory>
#include <string>

#include "db/format/log_format.h"
#include "util/base/status.h"

namespace sepal {

// Writes the bytes once more, because a sync does not cover bytes that an earlier sync failed to write.
absl::Status MakeLastHeaderDurable(Directory* directory, const LogRecovery& recovery) {
  if (recovery.logs.empty()) return absl::OkStatus();
  const std::string& name = recovery.logs.back().name;
  std::string header(kLogHeaderBytes, '\0');
  {
    ASSIGN_OR_RETURN(const std::unique_ptr<ReadableFile> file, directory->OpenForRead(name));
    ASSIGN_OR_RETURN(const size_t read, file->Read(0, header.size(), header.data()));
    header.resize(read);
  }
  ASSIGN_OR_RETURN(
      const std::unique_ptr<WritableFile> file,
      directory->OpenForWrite(name, WriteMode::kOpenExisting, {.kind = FileUseKind::kLog, .expected_bytes = 0}));
  RETURN_IF_ERROR(file->WriteAt(0, header));
  RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

}  // namespace sepal

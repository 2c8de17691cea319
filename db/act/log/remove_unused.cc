#include "db/act/log/remove_unused.h"

#include <algorithm>
#include <memory>
#include <string>

#include "db/act/log/log_reader.h"
#include "db/act/manifest/manifest_writer.h"
#include "util/base/check.h"
#include "util/base/status.h"

namespace sepal {

namespace {

absl::Status CutTo(Directory* directory, const std::string& name, uint64_t bytes) {
  ASSIGN_OR_RETURN(
      const std::unique_ptr<WritableFile> file,
      directory->OpenForWrite(name, WriteMode::kOpenExisting, {.kind = FileUseKind::kLog, .expected_bytes = 0}));
  if (file->Size() > bytes) RETURN_IF_ERROR(file->Truncate(bytes));
  // Synced even if it was cut already, because the ring cuts a file without a sync once the log continues in the next
  // one.
  RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

absl::StatusOr<bool> HasLostItsRing(Directory* directory, const std::vector<LogFile>& logs, const RecoveredLog& log) {
  const auto file = std::find_if(logs.begin(), logs.end(), [&](const LogFile& f) { return f.name == log.name; });
  SEPAL_CHECK(file != logs.end() && file->header.has_value());
  ASSIGN_OR_RETURN(LogReader reader, LogReader::Open(directory, log.name, *file->header));
  return reader.RingIsMissing();
}

// A closed log needs no ring if its length shows that nothing is missing or, if it had continued in files without a
// record, if the length of the last of those does. So each file is cut to what it holds, the oldest first, while the
// last one still shows that.
absl::Status CutToWhatTheyHold(Directory* directory, const std::vector<LogFile>& logs, const LogRecovery& recovery) {
  if (recovery.leftovers.empty() || recovery.logs.empty() || !recovery.torn.empty()) return absl::OkStatus();
  const RecoveredLog& last = recovery.logs.back();
  ASSIGN_OR_RETURN(const bool needs_its_length, HasLostItsRing(directory, logs, last));
  if (!needs_its_length) return absl::OkStatus();
  RETURN_IF_ERROR(CutTo(directory, last.name, kLogHeaderBytes + last.end.value() - last.start.value()));
  for (auto name = recovery.leftovers.rbegin(); name != recovery.leftovers.rend(); ++name) {
    RETURN_IF_ERROR(CutTo(directory, *name, kLogHeaderBytes));
  }
  return absl::OkStatus();
}

}  // namespace

// The newest is removed first, because a log that remains names the one before it.
absl::Status RemoveUnusedLogs(Directory* directory, const std::vector<LogFile>& logs, const LogRecovery& recovery) {
  RETURN_IF_ERROR(CutToWhatTheyHold(directory, logs, recovery));
  for (const std::string& name : recovery.leftovers) RETURN_IF_ERROR(RemoveDurably(directory, {&name, 1}));
  return absl::OkStatus();
}

}  // namespace sepal

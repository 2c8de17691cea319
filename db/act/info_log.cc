#include "db/act/info_log.h"

#include "absl/time/time.h"
#include "db/format/file_names.h"

namespace sepal {

void InfoLog::Start(Directory* directory, Clock* clock, uint64_t limit_bytes) {
  directory_ = directory;
  clock_ = clock;
  limit_bytes_ = limit_bytes;
  MutexLock lock(&mutex_);
  Rotate();
}

// A failure leaves no file, and the lines that follow go nowhere.
void InfoLog::Rotate() {
  file_.reset();
  directory_->Remove(kOldInfoLogFileName).IgnoreError();
  directory_->Rename(kInfoLogFileName, kOldInfoLogFileName).IgnoreError();
  absl::StatusOr<std::unique_ptr<WritableFile>> file =
      directory_->OpenForWrite(kInfoLogFileName, WriteMode::kCreateNew);
  if (file.ok()) file_ = std::move(file).value();
}

void InfoLog::Write(std::string_view line) {
  if (directory_ == nullptr) return;
  const absl::Time now = absl::FromUnixMicros(static_cast<int64_t>(clock_->UnixMicros()));
  const std::string text =
      absl::StrFormat("%s %s\n", absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", now, absl::UTCTimeZone()), line);
  MutexLock lock(&mutex_);
  if (file_ == nullptr) return;
  if (file_->Size() + text.size() > limit_bytes_) Rotate();
  if (file_ != nullptr && !file_->Append(text).ok()) file_.reset();
}

}  // namespace sepal

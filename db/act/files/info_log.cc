#include "db/act/files/info_log.h"

#include "absl/time/time.h"
#include "db/format/file_names.h"

namespace sepal {

namespace {

// The interval at which opening a new file is retried after a failure.
constexpr uint64_t kRetryMicros = 1'000'000;

}  // namespace

void InfoLog::Start(Directory* directory, Clock* clock, uint64_t limit_bytes) {
  directory_ = directory;
  clock_ = clock;
  limit_bytes_ = limit_bytes;
  MutexLock lock(&mutex_);
  Rotate();
}

// After a failure there is no file. A log that was already renamed is not renamed again.
void InfoLog::Rotate() {
  file_.reset();
  if (!put_aside_) {
    directory_->Remove(kOldInfoLogFileName).IgnoreError();
    const absl::Status renamed = directory_->Rename(kInfoLogFileName, kOldInfoLogFileName);
    put_aside_ = renamed.ok() || absl::IsNotFound(renamed);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> file =
      directory_->OpenForWrite(kInfoLogFileName, WriteMode::kCreateNew);
  // A failed call may have created the file.
  if (absl::IsAlreadyExists(file.status())) put_aside_ = false;
  if (!file.ok()) return;
  file_ = std::move(file).value();
  put_aside_ = false;
}

void InfoLog::Write(std::string_view line) {
  if (directory_ == nullptr) return;
  const uint64_t now = clock_->UnixMicros();
  const absl::Time time = absl::FromUnixMicros(static_cast<int64_t>(now));
  const std::string text =
      absl::StrFormat("%s %s\n", absl::FormatTime("%Y-%m-%dT%H:%M:%E6SZ", time, absl::UTCTimeZone()), line);
  MutexLock lock(&mutex_);
  if (file_ == nullptr ? now - tried_micros_ >= kRetryMicros : file_->Size() + text.size() > limit_bytes_) {
    tried_micros_ = now;
    Rotate();
  }
  // After a failure the end stays where it was: the next line overwrites the incomplete one.
  if (file_ != nullptr) file_->Append(text).IgnoreError();
}

}  // namespace sepal

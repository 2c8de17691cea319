// The rotating `LOG` of decisions and errors, for people to read. A line that cannot be written is never an error of
// the database, and lines that are written after the cause, such as a full disk, is gone are not lost. Safe for
// concurrent use.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "sepal/env.h"
#include "sepal/file_system.h"
#include "util/thread/sync.h"

namespace sepal {

class InfoLog {
 public:
  // Writes nothing until Start is called.
  InfoLog() = default;
  // Opens `LOG` in `directory`, after renaming an existing one to `LOG.old`; a full one is rotated in the same way.
  // Must not run concurrently with other calls. Directory and clock must outlive the log.
  void Start(Directory* directory, Clock* clock, uint64_t limit_bytes);

  void Write(std::string_view line);
  template <class... Args>
  void Write(const absl::FormatSpec<Args...>& format, const Args&... args) {
    if (directory_ != nullptr) Write(std::string_view(absl::StrFormat(format, args...)));
  }

 private:
  void Rotate() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Directory* directory_ = nullptr;
  Clock* clock_ = nullptr;
  uint64_t limit_bytes_ = 0;
  Mutex mutex_;
  std::unique_ptr<WritableFile> file_ ABSL_GUARDED_BY(mutex_);  // null: it could not be created at the last attempt
  uint64_t tried_micros_ ABSL_GUARDED_BY(mutex_) = 0;
  bool put_aside_ ABSL_GUARDED_BY(mutex_) = false;  // the old log was renamed, but no new file was created
};

}  // namespace sepal

#include "db/engine/open/database_lock.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "db/format/file_names.h"
#include "util/base/status.h"

namespace sepal {

namespace {

class TwoLocks final : public DirectoryLock {
 public:
  TwoLocks(std::unique_ptr<DirectoryLock> own, std::unique_ptr<DirectoryLock> logs)
      : own_(std::move(own)), logs_(std::move(logs)) {}

  absl::Status Check() const override {
    RETURN_IF_ERROR(own_->Check());
    return logs_->Check();
  }

 private:
  // Released last: a process that gets this lock next then finds the other one free.
  const std::unique_ptr<DirectoryLock> own_;
  const std::unique_ptr<DirectoryLock> logs_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DirectoryLock>> LockLogDirectory(Directory* log_directory, LockRequest mode) {
  absl::StatusOr<std::unique_ptr<DirectoryLock>> lock = log_directory->Lock(kLockFileName, mode);
  if (lock.ok()) return lock;
  const std::string what =
      absl::IsUnavailable(lock.status()) ? "is in use by another open database" : "cannot be locked";
  return absl::Status(lock.status().code(),
                      absl::StrFormat("log_directory %s %s; give these logs a directory of their own: %s",
                                      log_directory->path(), what, lock.status().message()));
}

absl::StatusOr<std::unique_ptr<DirectoryLock>> LockDatabase(Directory* directory, Directory* log_directory,
                                                            LockRequest mode) {
  ASSIGN_OR_RETURN(std::unique_ptr<DirectoryLock> own, directory->Lock(kLockFileName, mode));
  if (log_directory == nullptr) return own;
  ASSIGN_OR_RETURN(std::unique_ptr<DirectoryLock> logs, LockLogDirectory(log_directory, mode));
  return std::make_unique<TwoLocks>(std::move(own), std::move(logs));
}

}  // namespace sepal

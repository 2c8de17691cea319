#include "db/act/files/sync_failure_latch.h"

#include "util/base/status.h"

namespace sepal {

absl::Status SyncFailureLatchDirectory::Sync() {
  MutexLock lock(&mutex_);
  RETURN_IF_ERROR(failure_);
  const absl::Status status = base_->Sync();
  if (!status.ok()) failure_ = Lasting(status, "a sync of the directory failed; reopen the database");
  return failure_;
}

}  // namespace sepal

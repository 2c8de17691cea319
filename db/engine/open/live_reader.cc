#include "db/engine/open/live_reader.h"

#include <utility>

#include "util/base/status.h"
#include "util/files/retry_beside_writer.h"

namespace sepal {

absl::Status LiveReader::CatchUp() {
  {
    MutexLock lock(&mutex_);
    const auto look = [this] {
      mutex_.AssertHeld();
      return Try();
    };
    const absl::Status status = RetryBesideWriter(look).status();
    core_->statistics.Add(status.ok() ? Ticker::kCatchUps : Ticker::kCatchUpFailures);
    RETURN_IF_ERROR(status);
  }
  core_->epochs.Collect();
  core_->cache.EraseGone();
  return absl::OkStatus();
}

absl::Status LiveReader::BetweenCalls(const std::function<absl::Status()>& call) {
  MutexLock lock(&mutex_);
  return call();
}

absl::StatusOr<bool> LiveReader::Try() {
  CatchingUp attempt(core_, state_, catalog_, &history_, std::exchange(position_, std::nullopt));
  ASSIGN_OR_RETURN(position_, attempt.Run());
  return true;
}

}  // namespace sepal

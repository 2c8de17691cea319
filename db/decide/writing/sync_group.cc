#include "db/decide/writing/sync_group.h"

#include <algorithm>
#include <utility>

namespace sepal {

uint64_t SyncGroup::WaitMicros(uint64_t now) {
  if (waiting_ >= expected_) return 0;
  if (!gathering()) {
    const uint64_t patience = std::min(sync_micros_ / 2, kMostMicros);
    if (skip_ > 0 || patience == 0) return 0;
    since_ = now;
    until_ = now + patience;
    waiting_then_ = waiting_;
  }
  // A clock that jumps back does not prolong the wait.
  return now < since_ || now >= until_ ? 0 : until_ - now;
}

void SyncGroup::Begin(uint64_t now) {
  if (gathering()) {
    EndWait(now);
  } else if (skip_ > 0) {
    --skip_;
  }
  carried_ = std::exchange(waiting_, 0);
  began_ = now;
}

void SyncGroup::EndWait(uint64_t now) {
  const uint64_t waited = now - std::min(now, since_);
  until_ = 0;
  const bool paid =
      static_cast<uint64_t>(waiting_) * sync_micros_ > static_cast<uint64_t>(waiting_then_) * (sync_micros_ + waited);
  skip_ = paid ? 0 : skip_next_;
  skip_next_ = paid ? 1 : std::min(2 * skip_next_, kMostSkipped);
}

void SyncGroup::End(uint64_t now) {
  const uint64_t micros = std::min(now - std::min(now, began_), 2 * kMostMicros);
  sync_micros_ = sync_micros_ == 0 ? micros : (7 * sync_micros_ + micros) / 8;
  expected_ = std::exchange(carried_, 0) + waiting_;
}

}  // namespace sepal

// The sequence numbers that users hold snapshots of. Safe for concurrent use.
//
// Law: a number is in the list before any compaction that could drop a version it sees reads the list, or else every
// input of that compaction is older than the number.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sepal/snapshot.h"
#include "util/base/numbers.h"
#include "util/thread/fork.h"
#include "util/thread/sync.h"

namespace sepal {

class SnapshotList : public std::enable_shared_from_this<SnapshotList> {
 public:
  // `owner` is kept alive by the snapshot, and tells which database it belongs to.
  std::shared_ptr<const Snapshot> Take(SequenceNumber sequence, std::shared_ptr<const void> owner);
  // Ascending, without repetitions.
  std::vector<SequenceNumber> Sequences() const;
  std::optional<SequenceNumber> Oldest() const;
  size_t count() const;
  std::string ToString() const;
  // Whom it is told when the oldest snapshot was released, by whoever released it and with `listener_mutex_` held;
  // null: nobody. Returns once the one before is not being told any more. A child made by `fork` releases nothing.
  void SetListener(std::function<void()> oldest_released) ABSL_LOCKS_EXCLUDED(listener_mutex_);
  // The database that a snapshot was taken of.
  static const void* OwnerOf(const Snapshot* snapshot);

 private:
  class Held;
  void Release(SequenceNumber sequence);

  mutable Mutex mutex_;
  std::map<SequenceNumber, int> held_ ABSL_GUARDED_BY(mutex_);

  // Held while it is told, before the database mutex.
  Mutex listener_mutex_;
  std::function<void()> listener_ ABSL_GUARDED_BY(listener_mutex_);
  const uint64_t fork_generation_ = WatchForks();
};

}  // namespace sepal

// The sequence numbers of which users hold snapshots. Safe for concurrent use.
//
// Laws:
// - A sequence number is added to the list before any compaction that could drop a version visible at it reads the
//   list; otherwise every input of that compaction is older than the number.
// - Memtables let go of versions that none of the list sees. So a number below the newest is listed only for a family
//   of which it is known that it has kept everything from there on (FamilyHistory), and for no other.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "db/format/version_edit.h"
#include "db/state/version/joint_view.h"
#include "sepal/snapshot.h"
#include "util/base/numbers.h"
#include "util/thread/fork.h"
#include "util/thread/sync.h"

namespace sepal {

// Returns the sequence numbers for which a job must keep versions that writes updates up to `last`: those of
// `snapshots`, which ascend, before it, and `last` itself.
std::vector<SequenceNumber> StandingThrough(std::span<const SequenceNumber> snapshots, SequenceNumber last);

// Ascending, without duplicates.
std::vector<SequenceNumber> SequencesOf(std::span<const KeptSnapshot> snapshots);

class SnapshotList : public std::enable_shared_from_this<SnapshotList> {
 public:
  // The snapshot keeps `owner` alive, and `owner` identifies its database. In a forked child it is not listed. `views`:
  // the state that it shows, unless that is the database's newest state; it keeps them alive too. `only`: the family
  // that is read at it, unless it is for all.
  std::shared_ptr<const Snapshot> Take(SequenceNumber sequence, std::shared_ptr<const void> owner,
                                       std::shared_ptr<const JointView> views = nullptr,
                                       std::optional<ColumnFamilyId> only = std::nullopt);
  // Takes the moment of a held snapshot again, for the same families.
  std::shared_ptr<const Snapshot> TakeAgain(const Snapshot& snapshot, std::shared_ptr<const void> owner);
  // Returns the sequence numbers at which the family may be read, ascending and without duplicates.
  std::vector<SequenceNumber> SequencesFor(ColumnFamilyId family) const;
  // Returns those at which any family may be read.
  std::vector<SequenceNumber> Sequences() const;
  std::optional<SequenceNumber> Oldest() const;
  size_t count() const;
  std::string ToString() const;
  // Sets the function that is called when the oldest snapshot is released, by the releasing thread and with
  // `listener_mutex_` held; null: none. Returns once the previous function is no longer running. In a child made by
  // `fork`, releases are ignored.
  void SetListener(std::function<void()> oldest_released) ABSL_LOCKS_EXCLUDED(listener_mutex_);
  // Identifies the database of a snapshot.
  static const void* OwnerOf(const Snapshot* snapshot);
  // Null if it was taken without views.
  static const JointView* ViewsOf(const Snapshot* snapshot);

 private:
  class Held;
  // A moment, and the family that it is for, or all.
  using Key = std::pair<SequenceNumber, std::optional<ColumnFamilyId>>;
  void Release(const Key& key);

  mutable Mutex mutex_;
  std::map<Key, int> held_ ABSL_GUARDED_BY(mutex_);

  // Held while the listener runs; taken before the database mutex.
  Mutex listener_mutex_;
  std::function<void()> listener_ ABSL_GUARDED_BY(listener_mutex_);
  const uint64_t fork_generation_ = WatchForks();
};

}  // namespace sepal

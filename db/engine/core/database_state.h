// What the parts of an open database share, and the one database mutex, which StateLock takes.
//
// Lock order: commit mutex (CommitPipeline) -> edit mutex (Catalog) -> database mutex (here) -> leaf locks of util,
// snapshots, log and file deleter. The thread that reports a released snapshot takes the database mutex with the list's
// `listener_mutex_` held. File calls are made with at most the commit or edit mutex held, never with the database
// mutex.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "db/engine/core/core.h"
#include "db/engine/core/database_mutex.h"
#include "db/engine/core/family_state.h"
#include "db/engine/core/log_pins.h"
#include "db/format/system_row.h"
#include "db/format/version_edit.h"
#include "db/state/version/joint_view.h"
#include "db/state/version/snapshot_list.h"
#include "db/state/version/value_space.h"
#include "sepal/event_listener.h"
#include "sepal/options.h"
#include "util/thread/sync.h"

namespace sepal {

struct EngineState {
  EngineState(std::shared_ptr<Core> shared_core, const Options& opened_with)
      : core(std::move(shared_core)), options(opened_with), snapshots(std::make_shared<SnapshotList>()) {}

  const std::shared_ptr<Core> core;
  const Options options;
  const std::shared_ptr<SnapshotList> snapshots;

  // Held from opening to closing; null if read-only.
  std::unique_ptr<DirectoryLock> directory_lock;
  // Ends all writing if this process has lost the lock. Called before each write that would harm another holder: an
  // edit of the manifest, and the creation of a log.
  absl::Status CheckLock() EXCLUDES_STATE_LOCK;

  // The named snapshots. Each is in `snapshots` while it is here or held by a user
  // (db/engine/catalog/named_snapshots.h).
  struct NamedSnapshotHold {
    KeptSnapshot kept;
    std::shared_ptr<const Snapshot> snapshot;
  };
  std::map<std::string, NamedSnapshotHold, std::less<>> named_snapshots ABSL_GUARDED_BY(database_mutex);
  // The earliest time at which one of them may expire, in milliseconds since 1970.
  std::atomic<uint64_t> next_snapshot_expiry{UINT64_MAX};

  // What readers see of a database that is open read-only; otherwise null. Valid only inside an epoch guard.
  const JointView* joint_view() const { return joint_view_.load(std::memory_order_seq_cst); }
  const std::shared_ptr<const JointView>& current_joint_view() const REQUIRES_STATE_LOCK { return current_joint_view_; }
  // Publishes the families' current state to readers, as of `visible`, with the named snapshots `named`.
  void PublishJointView(SequenceNumber visible, std::span<const KeptSnapshot> named) REQUIRES_STATE_LOCK;

  // The highest sequence number that readers may see. Stored by the commit pipeline, in order.
  std::atomic<uint64_t> visible{0};
  SequenceNumber VisibleSequence() const { return SequenceNumber(visible.load(std::memory_order_acquire)); }

  // Set with the first error that ends all writing; writers check it without a lock.
  std::atomic<bool> stopped{false};

  // Wakes all waiters, after any change that one may wait for: a job ended, a memtable was flushed, an error occurred.
  // Waiting releases the database mutex, and may end early.
  void NotifyChanged() { changed_.NotifyAll(); }
  void WaitForChange() REQUIRES_STATE_LOCK;
  void WaitForChange(uint64_t micros) REQUIRES_STATE_LOCK;

  // By id.
  absl::btree_map<uint32_t, FamilyRef> families ABSL_GUARDED_BY(database_mutex);
  // The first error that ended all writing.
  absl::Status error ABSL_GUARDED_BY(database_mutex);
  // The number of jobs that are scheduled or running.
  int jobs ABSL_GUARDED_BY(database_mutex) = 0;
  int compaction_jobs ABSL_GUARDED_BY(database_mutex) = 0;
  bool closing ABSL_GUARDED_BY(database_mutex) = false;
  // The logs that are needed; an edit derives the minimum log number from them.
  LogPins log_pins ABSL_GUARDED_BY(database_mutex);
  // What tables of all families refer to in value files.
  ValueSpace value_space ABSL_GUARDED_BY(database_mutex);
  // How many pauses of background work the user has begun and not ended (pause_gate.h).
  int pauses ABSL_GUARDED_BY(database_mutex) = 0;

  // Ends all writing until the database is opened again. The first error is kept and reported.
  void Stop(const absl::Status& status, std::string_view where) EXCLUDES_STATE_LOCK;
  absl::Status Error() const EXCLUDES_STATE_LOCK;
  // Returns all families, by id, for callers that go on without the mutex.
  std::vector<FamilyRef> Families() const REQUIRES_STATE_LOCK;
  // Returns whether `holds` is true of any family.
  template <class Holds>
  bool Any(const Holds& holds) const REQUIRES_STATE_LOCK {
    for (const auto& [id, family] : families) {
      if (holds(*family)) return true;
    }
    return false;
  }
  // Returns the lowest sequence number at which a snapshot reads.
  SequenceNumber OldestSnapshot() const;
  // Returns the number of families, without the system family.
  size_t CountUserFamilies() const REQUIRES_STATE_LOCK {
    return families.size() - families.count(kSystemFamilyId.value());
  }
  // Returns the demand of reads for runs (db/decide/pacing/read_demand.h).
  uint64_t ReadDemandNow() const;
  // Not to be kept while a job runs, because tables that are replaced meanwhile would be kept too.
  VersionRef VersionOf(const Family& family) const EXCLUDES_STATE_LOCK;
  bool AnyCompactionRuns() const REQUIRES_STATE_LOCK;
  // Returns whether no memtable waits for a flush or is in one.
  bool AllFlushed() const REQUIRES_STATE_LOCK;
  // Returns whether any flush runs; its memtables may already be in tables.
  bool AnyFlushRuns() const REQUIRES_STATE_LOCK;
  // Returns whether no memtable waits for a flush, and another flush may start.
  bool FlushAtHand() const REQUIRES_STATE_LOCK;
  // Returns whether no family has entries in memory only.
  bool AllAtRest() REQUIRES_STATE_LOCK;
  // Returns the bytes of all memtables, active and immutable.
  size_t MemtableBytes() const REQUIRES_STATE_LOCK;

  template <class Call>
  void Tell(const Call& call) const {
    for (const std::shared_ptr<EventListener>& listener : options.listeners) call(*listener);
  }

 private:
  friend class StateLock;

  std::atomic<const JointView*> joint_view_{nullptr};
  std::shared_ptr<const JointView> current_joint_view_ ABSL_GUARDED_BY(database_mutex);
  // Spare AllAtRest most scans: the family that was not at rest at the last call, and the last sequence number at which
  // all were.
  uint32_t restless_ ABSL_GUARDED_BY(database_mutex) = 0;
  std::optional<SequenceNumber> rested_at_ ABSL_GUARDED_BY(database_mutex);
  mutable Mutex mutex_;
  CondVar changed_;
};

// Holds the database mutex for its scope.
class ABSL_SCOPED_LOCKABLE StateLock {
 public:
  explicit StateLock(const EngineState* state)
      ABSL_EXCLUSIVE_LOCK_FUNCTION(database_mutex) ABSL_NO_THREAD_SAFETY_ANALYSIS : mutex_(&state->mutex_) {
    mutex_->Lock();
  }
  ~StateLock() ABSL_UNLOCK_FUNCTION() ABSL_NO_THREAD_SAFETY_ANALYSIS { mutex_->Unlock(); }
  StateLock(const StateLock&) = delete;
  StateLock& operator=(const StateLock&) = delete;

 private:
  Mutex* const mutex_;
};

}  // namespace sepal

// The clock by which puts expire: the wall clock, but it never goes back, not even over openings, unless it is told to.
//
// Whatever is taken for now raises a floor. Each edit of the manifest keeps it, once puts may expire, so that what was
// absent stays absent; after a loss of power, as far as the last edit knew. Removals go by a time of their own
// (db/decide/visibility/removal_time.h), and what a job removes by becomes durable with the job's edit.
//
// Safe for concurrent use.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "absl/base/thread_annotations.h"
#include "db/decide/visibility/removal_time.h"
#include "db/decide/visibility/visibility.h"
#include "db/format/version_edit.h"
#include "sepal/env.h"
#include "util/thread/sync.h"

namespace sepal {

class ExpiryClock final : public ReadClock {
 public:
  explicit ExpiryClock(Clock* clock) : clock_(clock) {}

  // Goes on from what the manifest keeps of a database in which puts may expire. Before any other call.
  void Restore(const ClockFloor& kept);

  // What the manifest of a database that another process writes says by now. One thread at a time.
  void Follow(const ClockFloor& kept);

  // Whether the manifest says that puts may expire.
  bool in_use() const { return in_use_.load(std::memory_order_acquire); }
  void Use() { in_use_.store(true, std::memory_order_release); }
  // Whether there was ever a family whose puts expire by themselves.
  bool any_ttl() const { return any_ttl_.load(std::memory_order_acquire); }
  void NoteTtl() { any_ttl_.store(true, std::memory_order_release); }

  uint64_t NowMillis() override;
  // The time by which a job may remove what has expired; 0: nothing can have. The edit of the job must be made with
  // Floor.
  uint64_t RemovalMillis();
  // For the manifest.
  ClockFloor Floor();

  // Believes the wall clock as it stands, forward and backward. Durable with the next edit of the manifest.
  void Accept();
  // What the clocks show, and up to which time a job that begins now would remove. Changes nothing.
  struct Reading {
    uint64_t wall_millis = 0;
    uint64_t now_millis = 0;
    uint64_t removal_millis = 0;
  };
  Reading Read();

 private:
  RemovalTime::Clocks Clocks() const;
  void StartRemovals() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock* const clock_;
  std::atomic<bool> in_use_{false};
  std::atomic<bool> any_ttl_{false};
  std::atomic<uint64_t> floor_millis_{0};
  Mutex mutex_;
  std::optional<RemovalTime> removals_ ABSL_GUARDED_BY(mutex_);
  uint64_t removed_millis_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t followed_millis_ ABSL_GUARDED_BY(mutex_) = 0;  // the newest edit's time
};

}  // namespace sepal

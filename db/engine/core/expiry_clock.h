// The clock by which puts expire: the wall clock, except that it never goes back, not even across openings, until
// Accept is called.
//
// Every time that is used as the present raises a floor. Once puts may expire, each edit of the manifest records the
// floor, so that an expired put stays absent. A use of a later time than the recorded one asks for an edit
// (db/engine/background/clock_keeper.h). Removals use a time of their own (db/decide/visibility/removal_time.h), and a
// job's removal time becomes durable with its edit.
//
// Safe for concurrent use.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
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

  // Continues from the manifest's record for a database in which puts may expire. Called before any other function.
  void Restore(const ClockFloor& kept);

  // Adopts the latest record of a manifest that another process writes. One thread at a time.
  void Follow(const ClockFloor& kept);

  // Returns whether the manifest says that puts may expire.
  bool in_use() const { return in_use_.load(std::memory_order_acquire); }
  void Use() { in_use_.store(true, std::memory_order_release); }
  // Returns whether there was ever a family with a time to live.
  bool any_ttl() const { return any_ttl_.load(std::memory_order_acquire); }
  void NoteTtl() { any_ttl_.store(true, std::memory_order_release); }

  uint64_t NowMillis() override {
    const uint64_t now = Raise();
    if (now >= ask_at_millis_.load()) [[unlikely]]
      Ask();
    return now;
  }
  // Returns the time up to which a job may remove expired entries; 0 if nothing can have expired. The job's edit must
  // be made with Floor.
  uint64_t RemovalMillis();
  // Returns the record for the manifest.
  ClockFloor Floor();
  // Notes that an edit with that record is durable.
  void NoteKept(const ClockFloor& kept);

  // Calls `ask` once when a time later than the recorded one is used, and once more after each AskAgain, immediately if
  // there was such a use. Times used before this call count as recorded. `ask` must not block, and is called as long as
  // the clock lives.
  void AskAtUse(std::function<void()> ask);
  void AskAgain();
  // Instead of AskAgain: asks only at a use that is at least so much later than the latest so far.
  void AskAfter(uint64_t millis);
  // Returns whether a later time than the recorded one was used.
  bool Lags() const { return floor_millis_.load() > kept_millis_.load(); }

  // Accepts the wall clock as it stands, forward or backward. Durable with the next edit of the manifest.
  void Accept();
  // Returns what the clocks show, and the time up to which a job that begins now would remove. Changes nothing.
  struct Reading {
    uint64_t wall_millis = 0;
    uint64_t now_millis = 0;
    uint64_t removal_millis = 0;
  };
  Reading Read();

  // Says whether removals lag because the wall clock runs too far ahead.
  struct Doubt {
    bool in_doubt = false;
    uint64_t wall_millis = 0;
    uint64_t removal_millis = 0;
  };
  // Reports each change of the doubt through `tell`, with no lock held and in order, when it is noticed. Set before
  // other threads use the clock; not called after the last call of RemovalMillis, Read, Accept or LookAtWall.
  void TellDoubts(std::function<void(const Doubt&)> tell);
  // Looks for a change of the doubt. Returns whether the wall clock is in doubt.
  bool LookAtWall();

 private:
  RemovalTime::Clocks Clocks() const;
  // Returns the present, and raises the floor to it.
  uint64_t Raise();
  void Ask();
  // Returns the time of removals, and notes a change of the doubt.
  uint64_t LookAt(RemovalTime::Clocks now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellDoubt() ABSL_LOCKS_EXCLUDED(mutex_);
  void StartRemovals() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock* const clock_;
  std::atomic<bool> in_use_{false};
  std::atomic<bool> any_ttl_{false};
  std::atomic<uint64_t> floor_millis_{0};
  std::atomic<uint64_t> kept_millis_{0};  // as recorded by the last edit
  // A use at or after this time calls `ask_`; UINT64_MAX if no call is due.
  std::atomic<uint64_t> ask_at_millis_{UINT64_MAX};
  std::function<void()> ask_;  // set before ask_at_millis_
  Mutex mutex_;
  std::optional<RemovalTime> removals_ ABSL_GUARDED_BY(mutex_);
  uint64_t removed_millis_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t followed_millis_ ABSL_GUARDED_BY(mutex_) = 0;  // time in the newest edit of the writer
  std::function<void(const Doubt&)> tell_;
  Doubt doubt_ ABSL_GUARDED_BY(mutex_);
  bool told_doubt_ ABSL_GUARDED_BY(mutex_) = false;
  bool telling_ ABSL_GUARDED_BY(mutex_) = false;  // the thread that reports looks for another change before it ends
};

}  // namespace sepal

// The clock by which puts expire: the wall clock, but it never goes back, not even over openings, unless it is told to.
//
// Whatever is taken for now raises a floor. Each edit of the manifest keeps it, once puts may expire, so that what was
// absent stays absent. After a use beyond what is kept, an edit is asked for (db/engine/background/clock_keeper.h).
// Removals go by a time of their own (db/decide/visibility/removal_time.h), and what a job removes by becomes durable
// with the job's edit.
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

  uint64_t NowMillis() override {
    const uint64_t now = Raise();
    if (now >= ask_at_millis_.load()) [[unlikely]]
      Ask();
    return now;
  }
  // The time by which a job may remove what has expired; 0: nothing can have. The edit of the job must be made with
  // Floor.
  uint64_t RemovalMillis();
  // For the manifest.
  ClockFloor Floor();
  // An edit with that floor is durable.
  void NoteKept(const ClockFloor& kept);

  // Calls `ask`, once, at a use beyond what is kept; again after each AskAgain, at once if there was such a use. What
  // was taken for now by the first call is kept. `ask` must not wait, and is called for as long as the clock is there.
  void AskAtUse(std::function<void()> ask);
  void AskAgain();
  // Instead: asks at a use so much later than those so far.
  void AskAfter(uint64_t millis);
  // Whether there is a use beyond what is kept.
  bool Lags() const { return floor_millis_.load() > kept_millis_.load(); }

  // Believes the wall clock as it stands, forward and backward. Durable with the next edit of the manifest.
  void Accept();
  // What the clocks show, and up to which time a job that begins now would remove. Changes nothing.
  struct Reading {
    uint64_t wall_millis = 0;
    uint64_t now_millis = 0;
    uint64_t removal_millis = 0;
  };
  Reading Read();

  // Whether removals go by less than the wall clock, which runs too far ahead.
  struct Doubt {
    bool in_doubt = false;
    uint64_t wall_millis = 0;
    uint64_t removal_millis = 0;
  };
  // From now on each change of that is told, with no lock held and in order, as it is noticed. Before any other thread
  // uses the clock; never after the last call of RemovalMillis, Read, Accept and LookAtWall.
  void TellDoubts(std::function<void(const Doubt&)> tell);
  // Notices a change. Returns whether the wall clock is in doubt.
  bool LookAtWall();

 private:
  RemovalTime::Clocks Clocks() const;
  // What is taken for now.
  uint64_t Raise();
  void Ask();
  // The time of removals, of which a change of the doubt is noted.
  uint64_t LookAt(RemovalTime::Clocks now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void TellDoubt() ABSL_LOCKS_EXCLUDED(mutex_);
  void StartRemovals() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  Clock* const clock_;
  std::atomic<bool> in_use_{false};
  std::atomic<bool> any_ttl_{false};
  std::atomic<uint64_t> floor_millis_{0};
  std::atomic<uint64_t> kept_millis_{0};  // of the last edit
  // A use at or after this time is to be asked about; UINT64_MAX: none is, or one was.
  std::atomic<uint64_t> ask_at_millis_{UINT64_MAX};
  std::function<void()> ask_;  // set before ask_at_millis_
  Mutex mutex_;
  std::optional<RemovalTime> removals_ ABSL_GUARDED_BY(mutex_);
  uint64_t removed_millis_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t followed_millis_ ABSL_GUARDED_BY(mutex_) = 0;  // the newest edit's time
  std::function<void(const Doubt&)> tell_;
  Doubt doubt_ ABSL_GUARDED_BY(mutex_);
  bool told_doubt_ ABSL_GUARDED_BY(mutex_) = false;
  bool telling_ ABSL_GUARDED_BY(mutex_) = false;  // by a thread that looks again before it ends
};

}  // namespace sepal

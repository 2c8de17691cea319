// Records the clock by which puts expire: at most once a minute, if a later time than the recorded one was used, it has
// an edit of the manifest record the clock. So after a loss of power and a wall clock that went back, no key reappears
// that a read found expired more than a minute before. If nothing new is to be recorded there is no edit, so an idle
// database never syncs.
//
// It also reports to listeners and the info log when removals begin to doubt the wall clock and when they stop; while
// they do, it checks once a minute.
//
// An edit that fails ends writing, as any other does; one that a full disk refuses is tried again after a minute.
//
// Safe for concurrent use. A reader that asks never waits for an edit.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "db/engine/background/pause_gate.h"
#include "db/engine/catalog/catalog.h"
#include "db/engine/core/database_state.h"
#include "sepal/env.h"
#include "util/thread/sync.h"
#include "util/thread/task_group.h"

namespace sepal {

class ClockKeeper {
 public:
  static constexpr uint64_t kPeriodMicros = uint64_t{60} * 1'000'000;

  // For a database that is open for writing, before it is used; the manifest has the clock's present time.
  ClockKeeper(EngineState* state, Catalog* catalog, PauseGate* pause, Executor* executor);
  ~ClockKeeper() { Stop(); }
  ClockKeeper(const ClockKeeper&) = delete;
  ClockKeeper& operator=(const ClockKeeper&) = delete;

  // Returns when none of its edits is under way; none begins after that. Closing must be marked before.
  void Stop() EXCLUDES_STATE_LOCK;

 private:
  // Deferred work holds this link, and may run when the keeper is gone.
  struct Link {
    Mutex mutex;
    ClockKeeper* keeper ABSL_GUARDED_BY(mutex);  // null if the keeper has stopped
  };

  // Schedules Keep, a minute after its last run.
  void Arm();
  void Keep() EXCLUDES_STATE_LOCK;
  void TellDoubt(const ExpiryClock::Doubt& doubt) const;

  EngineState* const state_;
  Catalog* const catalog_;
  PauseGate* const pause_;
  Executor* const executor_;
  TaskGroup tasks_;
  RepeatedTask task_;
  const std::shared_ptr<Link> link_;
  std::atomic<bool> armed_{false};
  std::atomic<uint64_t> kept_at_micros_;
};

}  // namespace sepal

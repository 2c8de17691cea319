// Keeps the clock by which puts expire: once a minute at most it has an edit of the manifest keep how far that clock
// is, if it was used beyond what edits have kept by then. So after a loss of power, and a wall clock that went back,
// nothing is there again that a read found expired more than a minute before. What no edit is needed for makes none: a
// database that nobody uses syncs nothing.
//
// It also tells listeners and the info log where removals begin to doubt the wall clock, and where they end to. While
// they do, it looks once a minute.
//
// An edit that fails ends writing, as any does; one that a full disk refuses is tried again after a minute.
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

  // Of a database that is written, before anybody uses it: what its clock shows is in the manifest.
  ClockKeeper(EngineState* state, Catalog* catalog, PauseGate* pause, Executor* executor);
  ~ClockKeeper() { Stop(); }
  ClockKeeper(const ClockKeeper&) = delete;
  ClockKeeper& operator=(const ClockKeeper&) = delete;

  // Returns when no edit of it is under way; none is begun any more. Closing is marked by then.
  void Stop() EXCLUDES_STATE_LOCK;

 private:
  // Work that was put off holds it, and may ask when this object is gone.
  struct Link {
    Mutex mutex;
    ClockKeeper* keeper ABSL_GUARDED_BY(mutex);  // null: it has stopped
  };

  // Has Keep called, a minute after it was last.
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

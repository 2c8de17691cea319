// Work that goes through a database again and again as long as it is open, at a pace of its own, and stands still while
// background work is paused.
#pragma once

#include <memory>
#include <string>

#include "db/engine/background/pause_gate.h"
#include "db/engine/core/database_state.h"
#include "sepal/env.h"

namespace sepal {

class PeriodicTask {
 public:
  virtual ~PeriodicTask() = default;
  // Starts, where a period is set. Once.
  virtual void Start() EXCLUDES_STATE_LOCK = 0;
  // Returns when it has ended. Background work is marked as closing by then.
  virtual void Stop() EXCLUDES_STATE_LOCK = 0;
  // How far it is and what it has found, for people.
  virtual std::string ToString() const = 0;
};

// Checks all tables. It stands above the engine (db/doctor/scrubber.cc), which knows it by this alone.
std::unique_ptr<PeriodicTask> MakeScrubber(EngineState* state, PauseGate* pause, Executor* executor);

}  // namespace sepal

// Work that passes through the database again and again while it is open, at its own pace; it stops while background
// work is paused.
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
  // Starts if a period is set. Called once.
  virtual void Start() EXCLUDES_STATE_LOCK = 0;
  // Returns when it has ended. Closing must be marked before.
  virtual void Stop() EXCLUDES_STATE_LOCK = 0;
  // Returns its progress and findings as text for people.
  virtual std::string ToString() const = 0;
};

// Makes the task that checks all tables. It is implemented above the engine (db/doctor/scrubber.cc), which therefore
// knows only this function.
std::unique_ptr<PeriodicTask> MakeScrubber(EngineState* state, PauseGate* pause, Executor* executor);

}  // namespace sepal

// Keeps a read-only view near its writer (Options::follow_milliseconds): calls LiveReader::CatchUp again and again.
#pragma once

#include <memory>

#include "db/engine/background/periodic_task.h"
#include "db/engine/core/database_state.h"
#include "db/engine/open/live_reader.h"
#include "sepal/env.h"

namespace sepal {

// All must outlive it.
std::unique_ptr<PeriodicTask> MakeFollower(EngineState* state, LiveReader* reader, Executor* executor);

}  // namespace sepal

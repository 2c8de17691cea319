// The parts that an opening makes, and that an engine consists of.
#pragma once

#include <memory>

#include "db/act/log/write_ahead_log.h"
#include "db/engine/catalog/catalog.h"
#include "db/engine/core/core.h"
#include "db/engine/core/database_state.h"
#include "sepal/env.h"
#include "util/thread/task_group.h"

namespace sepal {

// Members are destroyed in reverse order: the log goes before the parts that it reports to.
struct DatabaseParts {
  std::shared_ptr<Core> core;
  std::unique_ptr<EngineState> state;
  std::unique_ptr<Executor> own_executor;  // null if the user gave one
  std::shared_ptr<TaskGroup> preparing;    // prepares memory for writers; null if read-only
  Executor* executor = nullptr;
  std::unique_ptr<Catalog> catalog;
  std::unique_ptr<WriteAheadLog> log;  // null if read-only
  SequenceNumber last_sequence;
};

}  // namespace sepal

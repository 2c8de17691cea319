// What an opening makes and an engine is made of.
#pragma once

#include <memory>

#include "db/act/log/write_ahead_log.h"
#include "db/engine/catalog/catalog.h"
#include "db/engine/core/core.h"
#include "db/engine/core/database_state.h"
#include "sepal/env.h"
#include "util/thread/task_group.h"

namespace sepal {

// Members are destroyed in the reverse of their order: the log before what it reports to.
struct DatabaseParts {
  std::shared_ptr<Core> core;
  std::unique_ptr<EngineState> state;
  std::unique_ptr<Executor> own_executor;  // null: the user's
  std::shared_ptr<TaskGroup> preparing;    // makes memory ready for writers; null where nothing is written
  Executor* executor = nullptr;
  std::unique_ptr<Catalog> catalog;
  std::unique_ptr<WriteAheadLog> log;  // null: read-only
  SequenceNumber last_sequence;
};

}  // namespace sepal

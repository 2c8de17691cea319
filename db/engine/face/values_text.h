// The text of the property sepal.values.
#pragma once

#include <cstdint>
#include <string>

#include "db/engine/core/database_state.h"

namespace sepal {

// Totals of all value files of a database.
struct ValueFileTotals {
  uint64_t files = 0;
  uint64_t bytes = 0;       // of files that get no more values
  uint64_t live_bytes = 0;  // that tables refer to
};
ValueFileTotals TotalsOfValueFiles(const EngineState& state) REQUIRES_STATE_LOCK;

std::string ValuesText(const EngineState& state) REQUIRES_STATE_LOCK;

}  // namespace sepal

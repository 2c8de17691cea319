// The settings of a database that scripts name: "NAME=VALUE".
#pragma once

#include <string_view>

#include "tests/db/engine/test_database.h"

namespace sepal {

// style, block, compression, filter.
absl::Status SetFamilyOption(std::string_view setting, ColumnFamilyOptions* options);
// Those, for the default family, and memtable, runs (of a level), memory, seed, logs (their directory), create, fresh
// (error_if_exists) and family (one that opening makes).
absl::Status SetOption(std::string_view setting, TestDatabase* database);

}  // namespace sepal

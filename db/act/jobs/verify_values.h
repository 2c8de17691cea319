// Reads all values that a table refers to, and checks them.
#pragma once

#include <memory>

#include "absl/status/status.h"
#include "db/act/files/value_store.h"
#include "table/file/table_reader.h"

namespace sepal {

// Ok at once for a table without `links`. The first DataLoss names key, file and offset.
absl::Status VerifyValues(std::shared_ptr<const TableReader> table, const std::vector<ValueLinks>& links,
                          ValueStore* values);

}  // namespace sepal

// The options of column families that a manifest keeps, for tools that write to a database on behalf of the program
// that owns it.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sepal/options.h"

namespace sepal {

// Returns the families of the database in `directory` whose options differ from the defaults. `log_directory` is where
// its logs lie; empty: where the manifest says, or in `directory`. Reads only the manifest and the headers of the logs,
// and writes nothing. Empty if there is no database. Errors are those of opening it.
absl::StatusOr<std::vector<ColumnFamilyDescriptor>> KeptFamilies(FileSystem* files, std::string_view directory,
                                                                 std::string_view log_directory);

}  // namespace sepal

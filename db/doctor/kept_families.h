// The options that a database's manifest keeps of its column families, for whatever writes to it on behalf of the
// program that owns it: a repair, a tool.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sepal/options.h"

namespace sepal {

// The families of the database in `directory` that are not kept by the defaults. `log_directory`: where its logs lie;
// empty: there too. Opens nothing but the manifest and the headers of the logs, and writes nothing. None for a
// directory that holds no database. Errors are those of an opening.
absl::StatusOr<std::vector<ColumnFamilyDescriptor>> KeptFamilies(FileSystem* files, std::string_view directory,
                                                                 std::string_view log_directory);

}  // namespace sepal

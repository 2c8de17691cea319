// The options that a database's manifest keeps of its column families, for whatever writes to it on behalf of the
// program that owns it: a repair, a tool.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "sepal/options.h"

namespace sepal {

// `given`, if it says anything but the defaults; else what the manifest keeps (db/format/kept_options.h), as far as
// this version of the library takes it. The comparator is the given one.
ColumnFamilyOptions GivenOrKept(const ColumnFamilyOptions& given, std::string_view kept_fields);

// The families of the database in `directory` that are not kept by the defaults. `log_directory`: where its logs lie;
// empty: there too. Opens nothing but the manifest and the headers of the logs, and writes nothing. None for a
// directory that holds no database. Errors are those of an opening.
absl::StatusOr<std::vector<ColumnFamilyDescriptor>> KeptFamilies(FileSystem* files, std::string_view directory,
                                                                 std::string_view log_directory);

}  // namespace sepal

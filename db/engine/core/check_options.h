// Checks that options are within their ranges (sepal/options.h), before anything is opened or created. The first one
// out of range is reported as InvalidArgument, with its allowed values. Pure.
#pragma once

#include "absl/status/status.h"
#include "sepal/options.h"

namespace sepal {

absl::Status CheckFamilyOptions(const ColumnFamilyOptions& family);
// InvalidArgument: the family has both a history and a filter that would change past reads.
absl::Status CheckHistoryAndFilter(const ColumnFamilyOptions& family);
// Checks the default family and all `column_families`.
absl::Status CheckFamilyOptions(const Options& options);
// Checks these and the options of the database itself.
absl::Status CheckOptions(const Options& options);

// Returns `given`; or, if that is all defaults and the manifest keeps options (db/format/kept_options.h) that this
// version of the library accepts, the kept ones. The comparator is always the given one.
ColumnFamilyOptions OptionsGivenOrKept(const ColumnFamilyOptions& given, std::string_view kept_fields);

}  // namespace sepal

// Whether options are within their ranges (sepal/options.h), before anything is opened or made. The first that is not
// is named, with what it may be, as InvalidArgument. Pure.
#pragma once

#include "absl/status/status.h"
#include "sepal/options.h"

namespace sepal {

absl::Status CheckFamilyOptions(const ColumnFamilyOptions& family);
// InvalidArgument: a history, and a filter that would change it.
absl::Status CheckHistoryAndFilter(const ColumnFamilyOptions& family);
// Of the default family and of all `column_families`.
absl::Status CheckFamilyOptions(const Options& options);
// These, and the database's own.
absl::Status CheckOptions(const Options& options);

// `given`, unless it consists of the defaults and the manifest keeps options (db/format/kept_options.h) that this
// version of the library accepts: then those. The comparator is always the given one.
ColumnFamilyOptions OptionsGivenOrKept(const ColumnFamilyOptions& given, std::string_view kept_fields);

}  // namespace sepal

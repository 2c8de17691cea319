// Whether options are within their ranges (sepal/options.h), before anything is opened or made. The first that is not
// is named, with what it may be, as InvalidArgument. Pure.
#pragma once

#include "absl/status/status.h"
#include "sepal/options.h"

namespace sepal {

absl::Status CheckFamilyOptions(const ColumnFamilyOptions& family);
// Of the default family and of all `column_families`.
absl::Status CheckFamilyOptions(const Options& options);
// These, and the database's own.
absl::Status CheckOptions(const Options& options);

// `given`, if it says anything but the defaults; else what the manifest keeps (db/format/kept_options.h), as far as
// this version of the library takes it. The comparator is the given one.
ColumnFamilyOptions GivenOrKept(const ColumnFamilyOptions& given, std::string_view kept_fields);

}  // namespace sepal

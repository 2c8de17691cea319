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

}  // namespace sepal

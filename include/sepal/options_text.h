// Options as text, for a file beside a program and for the --options flag of the tools.
//
//   # Lines of NAME = VALUE. What the text does not say stays as it is.
//   memory_limit = 1GiB
//   background_threads = 4
//   log_directory = "/fast/logs"
//   [family]                          # the default family, and all that have no section
//   compression = lz4
//   compression_per_level = none, none, zstd
//   [family "events"]                 # begins with what [family] says above it
//   compaction_style = universal
//
// The names are those of the fields of Options and ColumnFamilyOptions (options.h). `filter_policy` is two:
// filter_lane_bits_per_key and filter_guard_bits_per_key. Values: true and false; whole numbers, of bytes also as 64MiB
// or 1GiB; numbers; none, snappy, lz4 and zstd; lazy_leveling, leveled and universal; and in quotes, or bare where they
// hold no quote and no #, paths. In quotes \xNN stands for any byte.
//
// A text cannot say what is the program's own: comparators, listeners, `env`, and how it opens the database
// (create_if_missing, error_if_exists, read_only, follow_milliseconds, take_over).
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "sepal/export.h"
#include "sepal/options.h"

namespace sepal {

// `base`, changed as the text says. InvalidArgument for what is no option, is said twice, or is out of its range: the
// message has the line and, for an unknown name, the nearest known one.
SEPAL_EXPORT absl::StatusOr<Options> OptionsFromText(std::string_view text, const Options& base = {});

// The same from a file, of at most 1 MiB, in the file system of `base.env`. The errors name it.
SEPAL_EXPORT absl::StatusOr<Options> OptionsFromFile(std::string_view path, const Options& base = {});

// Everything that a text can say of `options`: OptionsFromText(OptionsToText(options), options) changes nothing.
SEPAL_EXPORT std::string OptionsToText(const Options& options);
// The section of one family.
SEPAL_EXPORT std::string FamilyOptionsToText(const ColumnFamilyDescriptor& family);

}  // namespace sepal

// Options as text, for a configuration file and for the --options flag of the tools.
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
// A text cannot set what only a program can give (comparators, listeners, `env`), nor how the database is opened
// (create_if_missing, error_if_exists, read_only, follow_milliseconds, take_over).
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "sepal/export.h"
#include "sepal/options.h"

namespace sepal {

// Returns `base` with the text's changes. InvalidArgument for an unknown option, one that is given twice, or a value
// out of its range: the message has the line and, for an unknown name, the nearest known one.
SEPAL_EXPORT absl::StatusOr<Options> OptionsFromText(std::string_view text, const Options& base = {});

// The same from a file, of at most 1 MiB, in the file system of `base.env`. The errors name it.
SEPAL_EXPORT absl::StatusOr<Options> OptionsFromFile(std::string_view path, const Options& base = {});

// Returns all options that a text can set: OptionsFromText(OptionsToText(options), options) changes nothing.
SEPAL_EXPORT std::string OptionsToText(const Options& options);
// The section of one family.
SEPAL_EXPORT std::string FamilyOptionsToText(const ColumnFamilyDescriptor& family);

}  // namespace sepal

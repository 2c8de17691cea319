// The options that a column family was last opened with, all of ColumnFamilyOptions but the comparator, as fields
// (fields.h). The manifest stores them, so that tools and repairs write tables with the options of the program that
// owns the database.
//
// | tag | option                  | content                                                       | absent  |
// |-----|-------------------------|---------------------------------------------------------------|---------|
// | 1   | compression             | byte: the codec                                               | Snappy  |
// | 3   | compression_per_level   | a byte for each level                                         | none    |
// | 5   | block_bytes             | varint                                                        | 4096    |
// | 7   | filter_policy           | bits for each key in lanes, in guards: two doubles, fixed64   | 5, 8    |
// | 9   | compaction_style        | byte: 0 lazy leveling, 1 leveled, 2 universal                 | 0       |
// | 11  | max_space_amplification | double, fixed64                                               | 2       |
// | 13  | separate_from           | varint                                                        | 0       |
// | 15  | last_level_inline_below | varint                                                        | 0       |
//
// A field is written only if the option differs from the value in the last column. No data depends on these fields: a
// reader that does not know them uses options of its own.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "sepal/options.h"

namespace sepal {

// Empty if no option differs.
std::string EncodeKeptOptions(const ColumnFamilyOptions& options);
// With the default comparator. The values are not checked: a newer library may allow others.
absl::StatusOr<ColumnFamilyOptions> DecodeKeptOptions(std::string_view fields);

}  // namespace sepal

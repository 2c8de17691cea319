// How a column family is kept, all that ColumnFamilyOptions say beside the comparator: fields (fields.h) that the
// manifest keeps, so that a tool or a repair writes tables as the program does that owns the database.
//
// | tag | option                  | content                                                       | absent  |
// |-----|-------------------------|---------------------------------------------------------------|---------|
// | 1   | compression             | byte: the codec                                               | Snappy  |
// | 3   | compression_per_level   | a byte for each level                                         | none    |
// | 5   | block_bytes             | varint                                                        | 4096    |
// | 7   | filter_policy           | bits for each key in lanes, in guards: two doubles, fixed64   | 5, 8    |
// | 9   | compaction_style        | byte: 0 lazy leveling, 1 leveled, 2 universal                 | 0       |
// | 11  | max_space_amplification | double, fixed64                                               | 2       |
//
// Only what differs from the values that absence stands for is written. Nothing else depends on them: whoever does not
// know them keeps the family in its own way.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "sepal/options.h"

namespace sepal {

// Empty where nothing differs.
std::string EncodeKeptOptions(const ColumnFamilyOptions& options);
// With the default comparator. The values may be any: a newer library may know more.
absl::StatusOr<ColumnFamilyOptions> DecodeKeptOptions(std::string_view fields);

}  // namespace sepal

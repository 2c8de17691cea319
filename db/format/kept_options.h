// The options of a column family that the manifest keeps: everything in ColumnFamilyOptions except the comparator, as
// fields (fields.h). With them a tool or a repair writes tables as the program that owns the database does.
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
// Only values that differ from those that absence stands for are written. Nothing else depends on them: a reader that
// does not know a field uses its own default.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "sepal/options.h"

namespace sepal {

// Empty if nothing differs.
std::string EncodeKeptOptions(const ColumnFamilyOptions& options);
// The result has the default comparator. Values may be invalid here, because a newer library may know more of them.
absl::StatusOr<ColumnFamilyOptions> DecodeKeptOptions(std::string_view fields);

}  // namespace sepal

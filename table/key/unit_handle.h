// The place of a unit of a table file (data block, leaf page, guard, ...).
#pragma once

#include <cstddef>
#include <cstdint>

namespace sepal {

// Every unit but the footer is followed by a trailer of this size (table/file/table_format.h).
inline constexpr size_t kUnitTrailerBytes = 5;
// No unit is larger, whatever a length field says.
inline constexpr uint64_t kMaxUnitBytes = (uint64_t{1} << 30) + (uint64_t{32} << 20);

// `size` excludes the trailer.
struct BlockHandle {
  uint64_t offset = 0;
  uint64_t size = 0;
  friend bool operator==(const BlockHandle&, const BlockHandle&) = default;
};

// The end of the unit's trailer. Requires a size within kMaxUnitBytes.
inline uint64_t EndOf(BlockHandle handle) { return handle.offset + handle.size + kUnitTrailerBytes; }

}  // namespace sepal

// Where a compaction is cut into parts that threads share out among themselves (db/act/jobs/slices.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "table/key/internal_key.h"

namespace sepal {

// Some of a table: the user keys from one to another, both included, and about what their entries take.
struct KeyStretch {
  std::string smallest;
  std::string largest;
  uint64_t bytes = 0;
};

// The table's stretches between `cuts`, user keys in order that part `bytes` evenly: what lies outside of `smallest`
// and `largest`, and what comes twice, cuts nothing.
void AppendStretches(std::vector<KeyStretch>* stretches, KeyOrder order, KeyStretch table,
                     const std::vector<std::string>& cuts);

// User keys that cut what `stretches` cover into at most `max_parts` parts of about equal bytes: part i covers the keys
// in [boundary i - 1, boundary i). Cuts are made at ends of stretches. Fewer keys than max_parts - 1, down to none,
// where these offer no more, or parts before the last would fall below `min_part_bytes`.
std::vector<std::string> SubcompactionBoundaries(const std::vector<KeyStretch>& stretches, KeyOrder order,
                                                 int max_parts, uint64_t min_part_bytes);

}  // namespace sepal

// Decides where a compaction is cut into parts that threads share out among themselves (db/act/jobs/slices.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "table/key/internal_key.h"

namespace sepal {

// A part of a table: the user keys from one to another, both included, and about how many bytes their entries take.
struct KeyStretch {
  std::string smallest;
  std::string largest;
  uint64_t bytes = 0;
};

// Appends the table's stretches between `cuts`, which are user keys in order that divide `bytes` evenly. Cuts outside
// of `smallest` and `largest`, and repeated ones, are ignored.
void AppendStretches(std::vector<KeyStretch>* stretches, KeyOrder order, KeyStretch table,
                     const std::vector<std::string>& cuts);

// Returns user keys that cut the range of `stretches` into at most `max_parts` parts of about equal bytes: part i
// covers the keys in [boundary i - 1, boundary i). Cuts are made at ends of stretches. Returns fewer keys than
// max_parts - 1, or none, if there are no more ends, or if parts before the last would be smaller than
// `min_part_bytes`.
std::vector<std::string> SubcompactionBoundaries(const std::vector<KeyStretch>& stretches, KeyOrder order,
                                                 int max_parts, uint64_t min_part_bytes);

}  // namespace sepal

// Searches by the 8 bytes of a key that follow a prefix shared by all keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "table/key/compare_bytes.h"
#include "util/base/coding.h"

namespace sepal {

// Returns the first index whose value is not below `target`. The number of steps depends only on `n`; each step is a
// mask instead of a branch (GCC 12 makes a branch of the conditional, which costs a misprediction in every other step).
inline size_t PrefixLowerBound(const uint64_t* values, size_t n, uint64_t target) {
  const uint64_t* base = values;
  while (n > 1) {
    const size_t half = n / 2;
    base += half & (size_t{0} - static_cast<size_t>(base[half - 1] < target));
    n -= half;
  }
  return static_cast<size_t>(base - values) + (n == 1 && *base < target ? 1 : 0);
}

// BigEndianPrefix of what follows the first `skip` bytes of the key, which must have as many. A short rest is taken
// from the last eight bytes of the key, without a loop over bytes.
inline uint64_t PrefixAfter(std::string_view key, size_t skip) {
  const size_t rest = key.size() - skip;
  if (rest >= 8 || rest == 0 || key.size() < 8) return BigEndianPrefix(key.substr(skip));
  return BigEndianPrefix(key.data() + key.size() - 8, 8) << (8 * (8 - rest));
}

// Returns less than, equal to or greater than zero if the key sorts before, begins with, or sorts after `prefix`.
inline int CompareToPrefix(std::string_view key, std::string_view prefix) {
  const size_t n = prefix.size();
  if (key.size() >= n && EqualBytes(key.data(), prefix.data(), n)) [[likely]]
    return 0;
  return key.substr(0, n).compare(prefix);
}

}  // namespace sepal

// Searches by the 8 bytes of a key that follow a prefix that all keys share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "table/key/compare_bytes.h"
#include "util/base/coding.h"

namespace sepal {

// The first index whose value is not below `target`. The number of steps depends on the size alone; each step is a
// mask, not a branch (GCC 12 makes a branch of the conditional, which costs a misprediction at every other step).
inline size_t PrefixLowerBound(const uint64_t* values, size_t n, uint64_t target) {
  const uint64_t* base = values;
  while (n > 1) {
    const size_t half = n / 2;
    base += half & (size_t{0} - static_cast<size_t>(base[half - 1] < target));
    n -= half;
  }
  return static_cast<size_t>(base - values) + (n == 1 && *base < target ? 1 : 0);
}

// BigEndianPrefix of what follows the first `skip` bytes, of which the key has as many. A short rest is taken from the
// last eight bytes of the key, without a loop over bytes.
inline uint64_t PrefixAfter(std::string_view key, size_t skip) {
  const size_t rest = key.size() - skip;
  if (rest >= 8 || rest == 0 || key.size() < 8) return BigEndianPrefix(key.substr(skip));
  return BigEndianPrefix(key.data() + key.size() - 8, 8) << (8 * (8 - rest));
}

// Less than, equal to or greater than zero: the key sorts before, begins with, sorts after `prefix`.
inline int CompareToPrefix(std::string_view key, std::string_view prefix) {
  const size_t n = prefix.size();
  if (key.size() >= n && EqualBytes(key.data(), prefix.data(), n)) [[likely]]
    return 0;
  return key.substr(0, n).compare(prefix);
}

}  // namespace sepal

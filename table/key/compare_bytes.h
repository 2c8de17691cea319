// Compares and copies bytes: inline for the short strings that keys consist of, for which a call of memcmp or memcpy
// costs more than the work. The last word overlaps the one before.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "util/base/coding.h"

namespace sepal {

inline constexpr size_t kShortBytes = 32;

inline bool EqualBytes(const char* a, const char* b, size_t n) {
  if (n >= 8) {
    if (n > kShortBytes) return std::memcmp(a, b, n) == 0;
    uint64_t difference = (DecodeFixed64(a) ^ DecodeFixed64(b)) | (DecodeFixed64(a + n - 8) ^ DecodeFixed64(b + n - 8));
    for (size_t i = 8; i + 8 < n; i += 8) difference |= DecodeFixed64(a + i) ^ DecodeFixed64(b + i);
    return difference == 0;
  }
  if (n >= 4) {
    return ((DecodeFixed32(a) ^ DecodeFixed32(b)) | (DecodeFixed32(a + n - 4) ^ DecodeFixed32(b + n - 4))) == 0;
  }
  if (n >= 2) return DecodeFixed16(a) == DecodeFixed16(b) && DecodeFixed16(a + n - 2) == DecodeFixed16(b + n - 2);
  return n == 0 || *a == *b;
}
inline bool EqualBytes(std::string_view a, std::string_view b) {
  return a.size() == b.size() && EqualBytes(a.data(), b.data(), a.size());
}

// Returns the same as a.compare(b): negative, zero or positive.
inline int CompareBytes(std::string_view a, std::string_view b) {
  const size_t n = std::min(a.size(), b.size());
  if (n < 8 || n > kShortBytes) return a.compare(b);
  const auto at = [n](std::string_view s, size_t i) { return DecodeFixed64(s.data() + std::min(i, n - 8)); };
  uint64_t x = at(a, 0), y = at(b, 0);
  for (size_t i = 8; x == y && i < n; i += 8) x = at(a, i), y = at(b, i);
  if (x != y) return __builtin_bswap64(x) < __builtin_bswap64(y) ? -1 : 1;
  return a.size() < b.size() ? -1 : a.size() > b.size() ? 1 : 0;
}

// `to` and `from` must not overlap.
inline void CopyBytes(char* to, const char* from, size_t n) {
  if (n - 8 <= 8) {  // 8 to 16
    const uint64_t first = DecodeFixed64(from), last = DecodeFixed64(from + n - 8);
    EncodeFixed64(to, first);
    EncodeFixed64(to + n - 8, last);
  } else if (n > 0) {
    std::memcpy(to, from, n);
  }
}

}  // namespace sepal

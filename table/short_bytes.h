// Whether two runs of bytes are equal: inline for the short ones that keys are made of, where the call of memcmp costs
// more than the comparison.
#pragma once

#include <cstring>
#include <string_view>

#include "util/coding.h"

namespace sepal {

inline bool EqualBytes(const char* a, const char* b, size_t n) {
  if (n >= 8) {
    if (n > 32) return std::memcmp(a, b, n) == 0;
    uint64_t difference = DecodeFixed64(a + n - 8) ^ DecodeFixed64(b + n - 8);
    for (size_t i = 0; i + 8 < n; i += 8) difference |= DecodeFixed64(a + i) ^ DecodeFixed64(b + i);
    return difference == 0;
  }
  if (n >= 4) {
    return ((DecodeFixed32(a) ^ DecodeFixed32(b)) | (DecodeFixed32(a + n - 4) ^ DecodeFixed32(b + n - 4))) == 0;
  }
  for (size_t i = 0; i < n; ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}
inline bool EqualBytes(std::string_view a, std::string_view b) {
  return a.size() == b.size() && EqualBytes(a.data(), b.data(), a.size());
}

}  // namespace sepal

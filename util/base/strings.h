// Text for people, and conversions between Abseil's string_view (a separate type on Debian 12) and the standard one,
// which are all in this file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/strings/string_view.h"

namespace sepal {

inline absl::string_view ToAbsl(std::string_view s) { return absl::string_view(s.data(), s.size()); }
#ifndef ABSL_USES_STD_STRING_VIEW
inline std::string_view ToStd(absl::string_view s) { return std::string_view(s.data(), s.size()); }
inline absl::string_view ToAbsl(absl::string_view s) { return s; }
#endif
inline std::string_view ToStd(std::string_view s) { return s; }

// Returns `bytes` with everything but printable ASCII as \xNN, cut to `limit` bytes and then followed by "...".
std::string Printable(std::string_view bytes, size_t limit = 64);
// Lower-case hexadecimal digits, two for each byte.
std::string ToHex(std::string_view bytes);
// "0x" and 16 (8) hexadecimal digits.
std::string Hex64(uint64_t value);
std::string Hex32(uint32_t value);
// A number of bytes for people: "512 B", "4.0 KiB", "1.5 GiB".
std::string HumanBytes(uint64_t bytes);

// The length of the longest common prefix of `a` and `b`.
size_t CommonPrefixSize(std::string_view a, std::string_view b);
// Cuts `*prefix` to its longest common prefix with `bytes`.
void ShortenToCommonPrefix(std::string* prefix, std::string_view bytes);

}  // namespace sepal

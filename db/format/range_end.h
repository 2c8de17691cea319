// The end of a deleted range, as the value of its entry in batches and tables: a byte 1 and the first key behind the
// range, or a byte 0 alone if the range goes up to the last key.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace sepal {

struct RangeEnd {
  std::optional<std::string_view> key;  // borrowed; none: up to the last key
};

inline std::string EncodeRangeEnd(std::optional<std::string_view> end) {
  std::string value(1, end.has_value() ? 1 : 0);
  if (end.has_value()) value.append(*end);
  return value;
}

// Nullopt for bytes that encode no end.
inline std::optional<RangeEnd> DecodeRangeEnd(std::string_view value) {
  if (value == std::string_view("\0", 1)) return RangeEnd{};
  if (value.empty() || value.front() != 1) return std::nullopt;
  return RangeEnd{value.substr(1)};
}

}  // namespace sepal

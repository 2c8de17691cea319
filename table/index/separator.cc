#include <algorithm>
#include <cstdint>

#include "table/index/index_page.h"

namespace sepal {
namespace {

// The shortest string s with a <= s < b bytewise, if one is shorter than `a`; otherwise `a`. Requires a < b.
std::string ShortestBetween(std::string_view a, std::string_view b) {
  const size_t shorter = std::min(a.size(), b.size());
  size_t same = 0;
  while (same < shorter && a[same] == b[same]) ++same;
  if (same == a.size() || same + 1 == a.size()) return std::string(a);
  // Here a[same] < b[same], and s needs at least same + 1 bytes.
  const auto low = static_cast<uint8_t>(a[same]);
  const auto high = static_cast<uint8_t>(b[same]);
  if (low + 1 < high || b.size() > same + 1) {
    std::string s(a.substr(0, same + 1));
    s.back() = static_cast<char>(low + 1);  // if that is b's byte, b itself continues after it
    return s;
  }
  for (size_t i = same + 1; i + 1 < a.size(); ++i) {
    if (static_cast<uint8_t>(a[i]) == 0xff) continue;
    std::string s(a.substr(0, i + 1));
    s.back() = static_cast<char>(static_cast<uint8_t>(a[i]) + 1);
    return s;
  }
  return std::string(a);
}

}  // namespace

Separator ShortestSeparator(InternalKeyView last, InternalKeyView next, KeyOrder order) {
  if (order.Equal(last.user_key, next.user_key)) return {std::string(last.user_key), true, last.trailer};
  if (!order.bytewise()) return {std::string(last.user_key), false, 0};
  return {ShortestBetween(last.user_key, next.user_key), false, 0};
}

Separator ShortestSuccessor(InternalKeyView last, KeyOrder) { return {std::string(last.user_key), false, 0}; }

}  // namespace sepal

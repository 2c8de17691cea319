// Tables with an entry for each value of an enumeration.
#pragma once

#include <cstddef>

namespace sepal {

// Whether entry i is that of value i, and there is an entry for each value before `end`.
template <class Entry, size_t kSize, class Figure>
constexpr bool IsInOrder(const Entry (&table)[kSize], Figure end) {
  for (size_t i = 0; i < kSize; ++i) {
    if (static_cast<size_t>(table[i].figure) != i) return false;
  }
  return kSize == static_cast<size_t>(end);
}

}  // namespace sepal

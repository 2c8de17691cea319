// The bytewise order under another name, which counts its calls.
#pragma once

#include <cstdint>
#include <string_view>

#include "sepal/comparator.h"

namespace sepal {

class CountingComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return ++calls, a.compare(b); }
  std::string_view Name() const override { return "test.counting"; }

  mutable uint64_t calls = 0;
};

}  // namespace sepal

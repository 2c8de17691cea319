// An order in which ASCII letters of either case are the same, so that equal keys may differ in their bytes.
#pragma once

#include <string>
#include <string_view>

#include "sepal/comparator.h"

namespace sepal {

class CaselessComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return Lower(a).compare(Lower(b)); }
  std::string_view Name() const override { return "test.caseless"; }

 private:
  static std::string Lower(std::string_view key) {
    std::string lower(key);
    for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
    return lower;
  }
};

}  // namespace sepal

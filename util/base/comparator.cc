#include "sepal/comparator.h"

namespace sepal {

namespace {

class Bytewise final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return a.compare(b); }
  std::string_view Name() const override { return "sepal.BytewiseComparator"; }
  bool EqualMeansIdentical() const override { return true; }
};

}  // namespace

const Comparator* BytewiseComparator() {
  static const Bytewise instance;
  return &instance;
}

}  // namespace sepal

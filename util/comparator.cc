#include "sepal/comparator.h"

namespace sepal {

std::optional<std::string> Comparator::Canonicalize(std::string_view) const { return std::nullopt; }

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

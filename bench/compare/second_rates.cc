#include "bench/compare/second_rates.h"

#include <cmath>
#include <numeric>

#include "util/base/check.h"

namespace sepal::compare {

void SecondRates::Merge(const SecondRates& other) {
  SEPAL_CHECK(counts_.size() == other.counts_.size());
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
}

double Mean(const std::vector<uint64_t>& counts) {
  if (counts.empty()) return 0;
  return static_cast<double>(std::accumulate(counts.begin(), counts.end(), uint64_t{0})) /
         static_cast<double>(counts.size());
}

double CoefficientOfVariation(const std::vector<uint64_t>& counts) {
  const double mean = Mean(counts);
  if (mean == 0) return 0;
  double squares = 0;
  for (uint64_t count : counts) {
    const double distance = static_cast<double>(count) - mean;
    squares += distance * distance;
  }
  return std::sqrt(squares / static_cast<double>(counts.size())) / mean;
}

}  // namespace sepal::compare

#include "util/base/cardinality.h"

#include <array>
#include <cmath>
#include <limits>

namespace sepal {
namespace {

// Ertl's sigma and tau: the contributions of empty and of full registers.
double Sigma(double x) {
  if (x == 1) return std::numeric_limits<double>::infinity();
  double sum = x, weight = 1, last;
  do {
    x *= x;
    last = sum;
    sum += x * weight;
    weight += weight;
  } while (sum != last);
  return sum;
}

double Tau(double x) {
  if (x == 0 || x == 1) return 0;
  double sum = 1 - x, weight = 1, last;
  do {
    x = std::sqrt(x);
    last = sum;
    weight *= 0.5;
    sum -= (1 - x) * (1 - x) * weight;
  } while (sum != last);
  return sum / 3;
}

}  // namespace

double HyperLogLogEstimate(std::span<const uint8_t> ranks, int precision) {
  std::array<int, 66> counts{};
  for (const uint8_t rank : ranks) ++counts[rank];
  const auto m = static_cast<double>(ranks.size());
  const auto highest = static_cast<size_t>(65 - precision);
  double z = m * Tau(1 - counts[highest] / m);
  for (size_t rank = highest - 1; rank >= 1; --rank) z = 0.5 * (z + counts[rank]);
  z += m * Sigma(counts[0] / m);
  return m * m / (2 * std::log(2.0) * z);
}

}  // namespace sepal

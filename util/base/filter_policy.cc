#include "sepal/filter_policy.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace sepal {
namespace {

constexpr double kMostBitsPerKey = 64;
constexpr int kMostProbes = 16;

}  // namespace

// The guard takes at most 64 bits; the rest goes to the lane.
FilterPolicy FilterPolicy::FromBitsPerKey(double bits_per_key) {
  if (!(bits_per_key > 0)) return None();
  const FilterPolicy usual;
  const double lane_share = usual.lane_bits_per_key / (usual.lane_bits_per_key + usual.guard_bits_per_key);
  const double bits = std::min(bits_per_key, 2 * kMostBitsPerKey);
  const double lane_bits = std::clamp(bits * lane_share, bits - kMostBitsPerKey, kMostBitsPerKey);
  return {.lane_bits_per_key = lane_bits, .guard_bits_per_key = bits - lane_bits};
}

// The rate falls as the bits grow, except for steps of less than a percent where the number of probes changes.
FilterPolicy FilterPolicy::FromFalsePositiveRate(double rate) {
  if (rate >= 1) return None();
  double too_few = 0;
  double enough = 2 * kMostBitsPerKey;
  while (enough - too_few > 1e-6) {
    const double middle = (too_few + enough) / 2;
    (FromBitsPerKey(middle).ExpectedRate() <= rate ? enough : too_few) = middle;
  }
  return FromBitsPerKey(enough);
}

int FilterPolicy::ProbesFor(double bits_per_key) {
  if (!(bits_per_key > 0)) return 0;
  return std::clamp(static_cast<int>(std::lround(std::min(bits_per_key, kMostBitsPerKey) * std::numbers::ln2)), 1,
                    kMostProbes);
}

double FilterPolicy::ExpectedRate(double bits_per_key) {
  const int probes = ProbesFor(bits_per_key);
  if (probes == 0) return 1;
  return std::pow(1 - std::exp(-probes / bits_per_key), probes);
}

double FilterPolicy::ExpectedRate() const { return ExpectedRate(lane_bits_per_key) * ExpectedRate(guard_bits_per_key); }

}  // namespace sepal

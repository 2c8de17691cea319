// The rate of false positives of Bloom filters, measured beside theory.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/filter/bloom.h"

namespace sepal::tools {

// The parameter that is varied while the others stay.
enum class RateAxis : uint8_t { kKeys, kHashes, kBitsPerKey };
inline constexpr RateAxis kRateAxes[] = {RateAxis::kKeys, RateAxis::kHashes, RateAxis::kBitsPerKey};

struct RatePoint {
  filters::BloomLayout layout = {};
  RateAxis axis = {};
  double x = 0;  // keys, hashes, or bits a key
  double theory = 0;
  uint64_t false_positives = 0;
  uint64_t lookups = 0;

  double Observed() const { return static_cast<double>(false_positives) / static_cast<double>(lookups); }
};

struct RateExperiment {
  std::vector<filters::BloomLayout> layouts = {};
  uint64_t keys = 0;     // that a filter is made for
  double rate = 0;       // at that many keys
  uint64_t lookups = 0;  // of absent keys, at each point
  uint64_t seed = 0;     // of keys and filters
};

// Returns the points of all layouts and axes, in this order. `done` is called after each, with their number.
// InvalidArgument if a layout does not reach the rate.
absl::StatusOr<std::vector<RatePoint>> MeasureRates(const RateExperiment& experiment,
                                                    const std::function<void(uint64_t)>& done);
// Returns theoretical points only, as many as a smooth line needs.
absl::StatusOr<std::vector<RatePoint>> TheoryOfRates(const RateExperiment& experiment);

}  // namespace sepal::tools

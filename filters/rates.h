// Checks and estimates that filters share.
#pragma once

#include <cmath>
#include <cstdint>

#include "absl/status/status.h"

namespace sepal::filters {

// InvalidArgument for no keys, or a rate outside (0, 1).
absl::Status CheckKeysAndRate(uint64_t keys, double rate);

// The number of balls that fill this share of `bins`; infinite when all are full.
inline double BallsOfFill(double fill, double bins) { return std::log1p(-fill) / std::log1p(-1 / bins); }

}  // namespace sepal::filters

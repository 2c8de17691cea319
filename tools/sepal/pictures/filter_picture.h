// A picture of rates of false positives, as one SVG file: a chart for each axis, lines of theory and dots of what was
// measured.
#pragma once

#include <string>
#include <vector>

#include "tools/sepal/filter_rates.h"

namespace sepal::tools {

// Fewer false positives than these say little of a rate: such a point is not drawn.
inline constexpr uint64_t kLeastFalsePositives = 10;

std::string RatesPicture(const RateExperiment& experiment, const std::vector<RatePoint>& theory,
                         const std::vector<RatePoint>& measured);

}  // namespace sepal::tools

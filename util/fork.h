// Whether this process is still the one in which something was made.
#pragma once

#include <cstdint>

namespace sepal {

// A number that changes in a child made by `fork`, and only there. Cost: one load. Safe for concurrent use.
uint64_t ForkGeneration();

}  // namespace sepal

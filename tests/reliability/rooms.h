// The rooms that hold harnesses: each adds its own. For registry.cc.
#pragma once

#include <vector>

#include "tests/reliability/harness.h"

namespace sepal::reliability {

void AddModelHarnesses(std::vector<Harness>* all);  // tests/model

}  // namespace sepal::reliability

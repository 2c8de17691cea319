// The rooms that hold harnesses: each adds its own. For registry.cc.
#pragma once

#include <vector>

#include "tests/reliability/harness.h"

namespace sepal::reliability {

void AddModelHarnesses(std::vector<Harness>* all);  // tests/model
void AddCorruptionHarnesses(std::vector<Harness>* all);  // tests/corruption

}  // namespace sepal::reliability

// The rooms that hold harnesses: each adds its own. For registry.cc.
#pragma once

#include <vector>

#include "tests/reliability/harness.h"

namespace sepal::reliability {

void AddModelHarnesses(std::vector<Harness>* all);         // tests/model
void AddCorruptionHarness(std::vector<Harness>* all);      // tests/corruption
void AddRepairHarness(std::vector<Harness>* all);          // tests/corruption
void AddKernelHarnesses(std::vector<Harness>* all);        // tests/kernel
void AddDifferentialHarnesses(std::vector<Harness>* all);  // tests/differential
void AddFaultHarnesses(std::vector<Harness>* all);
void AddPowerHarnesses(std::vector<Harness>* all);
void AddSimulationHarnesses(std::vector<Harness>* all);
void AddTransactionHarness(std::vector<Harness>* all);
void AddInterleavingHarness(std::vector<Harness>* all);

}  // namespace sepal::reliability

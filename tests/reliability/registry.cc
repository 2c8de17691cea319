// Which harnesses there are. Each room declares its own in `tests/<room>/`, and is named once here.
#include "tests/reliability/harness.h"
#include "tests/reliability/rooms.h"

namespace sepal::reliability {

std::vector<Harness> AllHarnesses() {
  std::vector<Harness> all;
  AddFaultHarnesses(&all);
  AddPowerHarnesses(&all);
  AddSimulationHarnesses(&all);
  AddTransactionHarness(&all);
  AddInterleavingHarness(&all);
  AddModelHarnesses(&all);
  AddCorruptionHarness(&all);
  AddRepairHarness(&all);
  AddKernelHarnesses(&all);
  AddDifferentialHarnesses(&all);
  return all;
}

}  // namespace sepal::reliability

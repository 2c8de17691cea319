// The real kernel, in short; `tools/reliability run kill` goes on, and cuts the power of whole file systems.
#include <gtest/gtest.h>

#include "tests/reliability/harness.h"

namespace sepal::kernel {
namespace {

TEST(KernelTest, AKilledWriterLosesNothingAcknowledged) {
  const std::vector<reliability::Harness> all = reliability::AllHarnesses();
  reliability::Search search({.seed = 1, .count = 20, .max_failures = 5});
  reliability::FindHarness(all, "kill")->body(&search);
  for (const reliability::Failure& failure : search.failures()) {
    ADD_FAILURE() << "case " << failure.name << ": " << failure.what;
  }
  EXPECT_EQ(search.cases(), 20u);
}

}  // namespace
}  // namespace sepal::kernel

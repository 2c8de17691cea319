// The real kernel, in short; `tools/reliability run kill` goes on, and cuts the power of whole file systems.
#include <gtest/gtest.h>

#include "tests/reliability/harness.h"
#include "util/memory/block_heap.h"  // SEPAL_ADDRESS_SANITIZER

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

#if !defined(SEPAL_ADDRESS_SANITIZER)  // which needs more memory whenever it likes
TEST(KernelTest, AWriterThatGetsNoMoreMemoryLosesNothingAcknowledged) {
  const std::vector<reliability::Harness> all = reliability::AllHarnesses();
  reliability::Search search({.seed = 1, .count = 8, .max_failures = 5});
  reliability::FindHarness(all, "memory")->body(&search);
  for (const reliability::Failure& failure : search.failures()) {
    ADD_FAILURE() << "case " << failure.name << ": " << failure.what;
  }
  EXPECT_GT(search.figures().at("ended for want of memory"), 0u);
}
#endif

}  // namespace
}  // namespace sepal::kernel

#include <gtest/gtest.h>

#include "tests/reliability/expect_nothing_found.h"

namespace sepal::reliability {
namespace {

TEST(PowerHarnessTest, ASampleOfStatesAfterALossOfPowerRecovers) { ExpectNothingFound("power", {.count = 1500}); }

}  // namespace
}  // namespace sepal::reliability

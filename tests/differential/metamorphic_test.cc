#include <gtest/gtest.h>

#include "tests/reliability/expect_nothing_found.h"

namespace sepal::reliability {
namespace {

TEST(MetamorphicHarnessTest, EveryFixedSetOfOptionsReadsTheSame) { ExpectNothingFound("metamorphic", {.count = 80}); }

}  // namespace
}  // namespace sepal::reliability

#include "util/base/simd.h"

#include <cstdlib>
#include <string>

#include "gtest/gtest.h"

namespace sepal {
namespace {

TEST(SimdTest, NoMoreIsUsedThanTheMachineHasOrTheEnvironmentAllows) {
  EXPECT_LE(UsedSimd(), OfferedSimd());
  const char* const value = std::getenv("SEPAL_SIMD");
  const std::string wanted = value == nullptr ? "" : value;
  if (wanted == "portable") {
    EXPECT_EQ(UsedSimd(), SimdLevel::kPortable);
  } else if (wanted == "avx512") {
    EXPECT_EQ(UsedSimd(), OfferedSimd());
  } else {
    EXPECT_LE(UsedSimd(), SimdLevel::kAvx2);
  }
}

}  // namespace
}  // namespace sepal

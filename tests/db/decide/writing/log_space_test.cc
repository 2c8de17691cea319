#include "db/decide/writing/log_space.h"

#include <gtest/gtest.h>

namespace sepal {
namespace {

constexpr uint64_t kLogKiB = 1024;
constexpr LogSpace kWanted{.ring_bytes = 4096 * kLogKiB, .step_bytes = 4096 * kLogKiB};

TEST(LogSpaceTest, OnALargeDiskTheLogGetsWhatItWants) {
  EXPECT_EQ(FitLogSpace(kWanted, uint64_t{1} << 40, 512), kWanted);
  EXPECT_EQ(FitLogSpace(kWanted, 64 * 1024 * kLogKiB, 512), kWanted);
}

TEST(LogSpaceTest, OnASmallDiskItTakesASixteenthEach) {
  EXPECT_EQ(FitLogSpace(kWanted, 16 * 1000 * kLogKiB, 512),
            (LogSpace{.ring_bytes = 992 * kLogKiB, .step_bytes = 1000 * kLogKiB}));
}

TEST(LogSpaceTest, ThereIsNoRingWithoutSpaceForOne) {
  EXPECT_EQ(FitLogSpace(kWanted, 511 * kLogKiB, 512), (LogSpace{.ring_bytes = 0, .step_bytes = 511 * kLogKiB / 16}));
}

TEST(LogSpaceTest, ASmallRingThatFitsStaysAsItIs) {
  const LogSpace wanted{.ring_bytes = 4 * kLogKiB, .step_bytes = 16 * kLogKiB};
  EXPECT_EQ(FitLogSpace(wanted, 300 * kLogKiB, 512), wanted);
}

TEST(LogSpaceTest, TheStepNeverFallsBelowTheLeast) {
  EXPECT_EQ(FitLogSpace(kWanted, 0, 512), (LogSpace{.ring_bytes = 0, .step_bytes = 512}));
}

}  // namespace
}  // namespace sepal

#include "sepal/filter_policy.h"

#include <gtest/gtest.h>

#include <cmath>

namespace sepal {
namespace {

TEST(FilterPolicyTest, BitsAreSplitInTheProportionOfTheDefaults) {
  const FilterPolicy usual;
  EXPECT_EQ(FilterPolicy::FromBitsPerKey(13), usual);
  const FilterPolicy twice = FilterPolicy::FromBitsPerKey(26);
  EXPECT_DOUBLE_EQ(twice.lane_bits_per_key, 10);
  EXPECT_DOUBLE_EQ(twice.guard_bits_per_key, 16);
}

TEST(FilterPolicyTest, NoBitsOrNonsenseIsNoFilter) {
  for (double bits : {0.0, -1.0, std::nan("")}) EXPECT_EQ(FilterPolicy::FromBitsPerKey(bits), FilterPolicy::None());
  EXPECT_EQ(FilterPolicy::None().ExpectedRate(), 1);
  EXPECT_EQ(FilterPolicy::FromFalsePositiveRate(1), FilterPolicy::None());
}

TEST(FilterPolicyTest, NeitherGuardNorLaneGetsMoreThanSixtyFourBitsAKey) {
  for (double bits : {64.0, 104.0, 120.0, 128.0, 1e9}) {
    const FilterPolicy policy = FilterPolicy::FromBitsPerKey(bits);
    EXPECT_LE(policy.lane_bits_per_key, 64);
    EXPECT_LE(policy.guard_bits_per_key, 64);
    EXPECT_DOUBLE_EQ(policy.lane_bits_per_key + policy.guard_bits_per_key, std::min(bits, 128.0));
  }
}

TEST(FilterPolicyTest, ProbesAreBitsTimesTheLogarithmOfTwo) {
  EXPECT_EQ(FilterPolicy::ProbesFor(0), 0);
  EXPECT_EQ(FilterPolicy::ProbesFor(-3), 0);
  EXPECT_EQ(FilterPolicy::ProbesFor(0.1), 1);
  EXPECT_EQ(FilterPolicy::ProbesFor(1.5), 1);
  EXPECT_EQ(FilterPolicy::ProbesFor(5), 3);
  EXPECT_EQ(FilterPolicy::ProbesFor(8), 6);
  EXPECT_EQ(FilterPolicy::ProbesFor(10), 7);
  EXPECT_EQ(FilterPolicy::ProbesFor(23), 16);
  EXPECT_EQ(FilterPolicy::ProbesFor(1e300), 16);
}

// The figures of a textbook table for Bloom filters of m/n bits a key and k probes.
TEST(FilterPolicyTest, ExpectedRatesAreThoseOfTheTextbook) {
  EXPECT_EQ(FilterPolicy::ExpectedRate(0), 1);
  EXPECT_NEAR(FilterPolicy::ExpectedRate(2), 0.393, 0.001);
  EXPECT_NEAR(FilterPolicy::ExpectedRate(5), 0.0919, 0.0005);
  EXPECT_NEAR(FilterPolicy::ExpectedRate(8), 0.0216, 0.0002);
  EXPECT_NEAR(FilterPolicy::ExpectedRate(10), 0.00819, 0.0001);
  EXPECT_NEAR(FilterPolicy::ExpectedRate(16), 0.000459, 0.00001);
}

TEST(FilterPolicyTest, TheRatesOfLaneAndGuardMultiply) {
  const FilterPolicy both = {.lane_bits_per_key = 8, .guard_bits_per_key = 5};
  EXPECT_DOUBLE_EQ(both.ExpectedRate(), FilterPolicy::ExpectedRate(8) * FilterPolicy::ExpectedRate(5));
  const FilterPolicy lane_only = {.lane_bits_per_key = 8, .guard_bits_per_key = 0};
  EXPECT_DOUBLE_EQ(lane_only.ExpectedRate(), FilterPolicy::ExpectedRate(8));
}

TEST(FilterPolicyTest, APolicyForARateHasThatRate) {
  for (double rate : {0.9, 0.5, 0.3, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001, 1e-4, 1e-5, 1e-6, 1e-9}) {
    const double got = FilterPolicy::FromFalsePositiveRate(rate).ExpectedRate();
    EXPECT_LE(got, rate * 1.0001) << rate;
    EXPECT_GE(got, rate * 0.97) << rate;
  }
}

TEST(FilterPolicyTest, APolicyForARateIsNotLargerThanNeeded) {
  for (double rate : {0.5, 0.1, 0.01, 0.001, 1e-6}) {
    const FilterPolicy policy = FilterPolicy::FromFalsePositiveRate(rate);
    const double bits = policy.lane_bits_per_key + policy.guard_bits_per_key;
    const double least = -std::log(rate) / (std::log(2) * std::log(2));
    EXPECT_GE(bits, least * 0.999) << rate;
    EXPECT_LE(bits, least * 1.06 + 0.5) << rate;
  }
}

}  // namespace
}  // namespace sepal

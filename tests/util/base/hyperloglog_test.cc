#include "util/base/hyperloglog.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "util/base/hash.h"
#include "util/base/random.h"

namespace sepal {
namespace {

HyperLogLog SketchOf(uint64_t first, uint64_t count) {
  HyperLogLog sketch;
  for (uint64_t i = first; i < first + count; ++i) sketch.Add(Mix64(i * 0x9e3779b97f4a7c15ull + 1));
  return sketch;
}

TEST(HyperLogLogTest, AnEmptySketchEstimatesZero) { EXPECT_EQ(HyperLogLog().Estimate(), 0); }

TEST(HyperLogLogTest, EstimatesAreWithinFourStandardErrorsFromFewToMany) {
  for (const uint64_t count : {1u, 10u, 100u, 700u, 2000u, 5000u, 20000u, 300000u, 3000000u}) {
    const double n = static_cast<double>(count);
    EXPECT_NEAR(SketchOf(0, count).Estimate(), n, 0.5 + 4 * 0.0325 * n) << count;
  }
}

TEST(HyperLogLogTest, KeysThatAreSeenAgainDoNotCount) {
  HyperLogLog twice = SketchOf(0, 1000);
  for (int i = 0; i < 5; ++i) twice.Merge(SketchOf(0, 1000));
  EXPECT_EQ(twice, SketchOf(0, 1000));
}

TEST(HyperLogLogTest, AMergeIsTheSketchOfTheUnion) {
  HyperLogLog merged = SketchOf(0, 6000);
  merged.Merge(SketchOf(4000, 6000));
  EXPECT_EQ(merged, SketchOf(0, 10000));
}

TEST(HyperLogLogTest, ARegisterHoldsTheLargestRank) {
  HyperLogLog sketch;
  sketch.Add(uint64_t{1} << 53);         // register 0, rank 1
  sketch.Add(uint64_t{1} << 54);         // register 1, all others 0: rank 55
  sketch.Add((uint64_t{2} << 54) + 1);   // register 2, rank 54
  sketch.Add((uint64_t{2} << 54) + 16);  // rank 50: less
  sketch.Add(~uint64_t{0});              // register 1023, rank 1
  std::string expected(769, '\0');
  expected[0] = 10;
  // 1 | 55 << 6 | 54 << 12 = 0x36dc1
  expected[1] = '\xc1';
  expected[2] = '\x6d';
  expected[3] = '\x03';
  expected[768] = '\x04';
  EXPECT_EQ(sketch.ToBytes(), expected);
}

TEST(HyperLogLogTest, BytesComeBackAndDamagedOnesAreRefused) {
  const HyperLogLog sketch = SketchOf(5, 12345);
  std::string bytes = sketch.ToBytes();
  EXPECT_EQ(HyperLogLog::FromBytes(bytes), sketch);
  EXPECT_EQ(HyperLogLog::FromBytes(bytes + '\0'), std::nullopt);
  EXPECT_EQ(HyperLogLog::FromBytes(bytes.substr(1)), std::nullopt);
  EXPECT_EQ(HyperLogLog::FromBytes(""), std::nullopt);
  bytes[100] = '\xff';  // a rank of 63 does not exist
  bytes[101] = '\xff';
  EXPECT_EQ(HyperLogLog::FromBytes(bytes), std::nullopt);
  bytes = sketch.ToBytes();
  bytes[0] = 11;
  EXPECT_EQ(HyperLogLog::FromBytes(bytes), std::nullopt);
}

}  // namespace
}  // namespace sepal

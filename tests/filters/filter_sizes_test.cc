// Sizes for rates, and what is refused.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "filters/bloom_lines.h"
#include "tests/filters/filter_fixture.h"
#include "util/base/random.h"
#include "util/base/simd.h"

namespace sepal::filters {
namespace {

constexpr BloomLayout kEveryLayout[] = {BloomLayout::kClassic, BloomLayout::kBlocked, BloomLayout::kPartitioned};
constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

TEST(BloomShapeTest, TheClassicSizeIsThatOfTheFormula) {
  const BloomShape shape = BloomShape::For(1'000'000, 0.001, BloomLayout::kClassic).value();
  EXPECT_EQ(shape.probes, 10);
  EXPECT_NEAR(static_cast<double>(shape.bits), 1e6 * -std::log(0.001) / (std::log(2) * std::log(2)), 2000);
  EXPECT_NEAR(BloomShape::For(1'000'000, 1e-6, BloomLayout::kClassic)->bits / 8e6, 3.59, 0.01);
}

TEST(BloomShapeTest, EverySizeKeepsItsRateAndOneBitInFiftyLessDoesNot) {
  for (const BloomLayout layout : kEveryLayout) {
    for (const uint64_t keys : {1'000u, 30'000u, 10'000'000u}) {
      for (const double rate : {0.5, 0.1, 0.01, 0.001, 0.0001}) {
        const BloomShape shape = BloomShape::For(keys, rate, layout).value();
        EXPECT_LE(shape.RateAt(keys), rate * 1.001) << keys << " " << rate;
        BloomShape smaller = shape;
        smaller.bits = shape.bits * 49 / 50;
        if (keys > 1'000) {
          EXPECT_GT(smaller.RateAt(keys), rate) << keys << " " << rate;
        }
        const auto fit = static_cast<double>(shape.KeysAt(rate * 1.001));
        EXPECT_GE(fit, static_cast<double>(keys) * 0.999) << keys << " " << rate;
      }
    }
  }
}

TEST(BloomShapeTest, TheBestProbesForBitsAreThoseOfTheFormula) {
  EXPECT_EQ(BloomShape::OfBits(1000, 10'000, BloomLayout::kClassic)->probes, 7);
  EXPECT_EQ(BloomShape::OfBits(1000, 24'000, BloomLayout::kClassic)->probes, 17);
  EXPECT_EQ(BloomShape::OfBits(1000, 100, BloomLayout::kClassic)->probes, 1);
  EXPECT_LE(BloomShape::OfBits(1000, 64'000, BloomLayout::kBlocked)->probes, kMostBlockedProbes);
}

TEST(FilterErrorsTest, ARateOutsideOfZeroAndOneIsRefused) {
  for (const double rate : {0.0, 1.0, -1.0, 2.0, kNotANumber, std::numeric_limits<double>::infinity()}) {
    for (const BloomLayout layout : kEveryLayout) {
      EXPECT_TRUE(absl::IsInvalidArgument(BloomFilter::ForKeys(10, rate, layout).status())) << rate;
    }
    EXPECT_TRUE(absl::IsInvalidArgument(CountingBloomFilter::ForKeys(10, rate).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(AgeingFilter::ForKeys(10, rate).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(TwoGenerationFilter::ForKeys(10, rate).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(ScalableBloomFilter::Create(10, rate).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(CountMinSketch::ForError(rate, 0.1).status()));
    EXPECT_TRUE(absl::IsInvalidArgument(CountMinSketch::ForError(0.1, rate).status()));
  }
}

// The number is that of keys, which no filter is made for.
void ExpectRefused(uint64_t keys) {
  for (const BloomLayout layout : kEveryLayout) {
    EXPECT_TRUE(absl::IsInvalidArgument(BloomFilter::ForKeys(keys, 0.01, layout).status()));
  }
  EXPECT_TRUE(absl::IsInvalidArgument(CountingBloomFilter::ForKeys(keys, 0.01).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(AgeingFilter::ForKeys(keys, 0.01).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(TwoGenerationFilter::ForKeys(keys, 0.01).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(ScalableBloomFilter::Create(keys, 0.01).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(FingerprintTable::ForKeys(keys).status()));
}

TEST(FilterErrorsTest, NoKeysAreRefused) {
  ExpectRefused(0);
  EXPECT_TRUE(absl::IsInvalidArgument(StaticFilter::Build({}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(BloomShape::OfBits(0, 64).status()));
}

TEST(FilterErrorsTest, SizesThatOverflowAreRefused) {
  for (const uint64_t keys : {~uint64_t{0}, ~uint64_t{0} / 8, uint64_t{1} << 50}) ExpectRefused(keys);
  for (const BloomLayout layout : kEveryLayout) {
    EXPECT_FALSE(BloomFilter::Create({.layout = layout, .bits = ~uint64_t{0}, .probes = 8}).ok());
    EXPECT_FALSE(BloomFilter::Create({.layout = layout, .bits = 0, .probes = 8}).ok());
    EXPECT_FALSE(BloomFilter::Create({.layout = layout, .bits = 64, .probes = 0}).ok());
    EXPECT_FALSE(BloomFilter::Create({.layout = layout, .bits = 64, .probes = 65}).ok());
  }
  EXPECT_FALSE(BloomFilter::Create({.layout = static_cast<BloomLayout>(9), .bits = 64, .probes = 1}).ok());
  EXPECT_FALSE(BloomFilter::Create({.layout = BloomLayout::kBlocked, .bits = 64, .probes = 9}).ok());
  EXPECT_FALSE(CountingBloomFilter::Create(~uint64_t{0}, 3, 4).ok());
  EXPECT_FALSE(CountMinSketch::Create(~uint64_t{0}, 3).ok());
  EXPECT_FALSE(CountMinSketch::ForError(1e-300, 0.5).ok());
}

TEST(FilterErrorsTest, WidthsThatThereAreNotAreRefused) {
  EXPECT_FALSE(CountingBloomFilter::ForKeys(10, 0.1, 5).ok());
  EXPECT_FALSE(FingerprintTable::ForKeys(10, 12).ok());
  EXPECT_FALSE(StaticFilter::BuildFromHashes({1, 2}, 9).ok());
  EXPECT_FALSE(HyperLogLog::Create(3).ok());
  EXPECT_FALSE(HyperLogLog::Create(19).ok());
  EXPECT_FALSE(CountMinSketch::Create(10, 0).ok());
}

TEST(FilterErrorsTest, ARateThatTheKindDoesNotReachIsTold) {
  const absl::Status status = BloomFilter::ForKeys(1000, 1e-12, BloomLayout::kBlocked).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("classic"), std::string::npos) << status;
  EXPECT_TRUE(BloomFilter::ForKeys(1000, 1e-12, BloomLayout::kClassic).ok());
}

TEST(BloomLinesTest, EveryLevelOfVectorsGivesTheSameAnswers) {
  Random random(1);
  for (int probes = 1; probes <= kMostBlockedProbes; ++probes) {
    alignas(64) char bytes[16 * kBloomLineBytes] = {};
    const BloomLines lines{bytes, 16, probes};
    for (int i = 0; i < 16 * 40; ++i) {
      const uint64_t hash = random.Next();
      AddToLine(bytes + (lines.Of(hash) - bytes), hash, probes);
    }
    std::vector<uint64_t> hashes(20'000);
    for (uint64_t& hash : hashes) hash = random.Next();
    const auto answers = std::make_unique<bool[]>(hashes.size());
    for (const SimdLevel level : {SimdLevel::kPortable, SimdLevel::kAvx2, SimdLevel::kAvx512}) {
      if (level > OfferedSimd()) continue;
      LinesMayContain(level, lines, hashes, answers.get());
      for (size_t i = 0; i < hashes.size(); ++i) {
        EXPECT_EQ(answers[i], LineMayContain(lines.Of(hashes[i]), hashes[i], probes));
      }
    }
  }
}

}  // namespace
}  // namespace sepal::filters

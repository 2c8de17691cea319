// Observed rates of false positives beside theory, with fixed seeds. Samples are so large that 3 % are three standard
// deviations.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/filters/filter_fixture.h"
#include "util/base/random.h"

namespace sepal::filters {
namespace {

constexpr double kTolerance = 0.03;

// Queries of which about 12'000 are false positives: a standard deviation of 0.9 %.
int QueriesFor(double rate) { return static_cast<int>(std::ceil(12'000 / rate)); }

std::string NumberKey(uint64_t i) { return std::string(reinterpret_cast<const char*>(&i), sizeof i); }

template <class Filter>
double ObservedRate(const Filter& filter, int queries) {
  int maybe = 0;
  for (int i = 0; i < queries; ++i) maybe += filter.MayContain(NumberKey(uint64_t{1} << 40 | static_cast<uint64_t>(i)));
  return maybe / static_cast<double>(queries);
}

template <class Filter>
void AddNumbers(Filter* filter, uint64_t first, uint64_t count) {
  for (uint64_t i = first; i < first + count; ++i) static_cast<void>(filter->Add(NumberKey(i)));
}

void ExpectBloomRate(BloomLayout layout, uint64_t keys, uint64_t bits_per_key) {
  const BloomShape shape = BloomShape::OfBits(keys, keys * bits_per_key, layout).value();
  BloomFilter filter = BloomFilter::Create(shape, 1).value();
  AddNumbers(&filter, 0, keys);
  const double theory = filter.shape().RateAt(keys);
  EXPECT_NEAR(ObservedRate(filter, QueriesFor(theory)) / theory, 1, kTolerance)
      << static_cast<int>(layout) << " " << bits_per_key;
  EXPECT_NEAR(filter.CurrentRate() / theory, 1, kTolerance);
  EXPECT_NEAR(filter.EstimateKeys() / static_cast<double>(keys), 1, 0.01);
}

TEST(FilterRatesTest, ClassicBloomIsNearTheory) {
  for (const uint64_t bits : {4, 8, 12}) ExpectBloomRate(BloomLayout::kClassic, 50'000, bits);
}

TEST(FilterRatesTest, BlockedBloomIsNearItsTheory) {
  for (const uint64_t bits : {4, 8, 12}) ExpectBloomRate(BloomLayout::kBlocked, 100'000, bits);
}

TEST(FilterRatesTest, PartitionedBloomIsNearTheory) {
  for (const uint64_t bits : {4, 8, 12}) ExpectBloomRate(BloomLayout::kPartitioned, 50'000, bits);
}

TEST(FilterRatesTest, CountingBloomIsNearTheory) {
  CountingBloomFilter filter = CountingBloomFilter::ForKeys(50'000, 0.02).value();
  AddNumbers(&filter, 0, 50'000);
  EXPECT_NEAR(ObservedRate(filter, QueriesFor(0.02)) / 0.02, 1, kTolerance);
  EXPECT_NEAR(filter.EstimateKeys() / 50'000, 1, 0.01);
}

TEST(FilterRatesTest, TheStaticFilterIsNearTheory) {
  std::vector<uint64_t> hashes;
  for (uint64_t i = 0; i < 50'000; ++i) hashes.push_back(KeyHash(NumberKey(i), 0));
  const StaticFilter filter = StaticFilter::BuildFromHashes(hashes).value();
  EXPECT_NEAR(ObservedRate(filter, QueriesFor(1 / 256.0)) * 256, 1, kTolerance);
  EXPECT_LT(static_cast<double>(filter.MemoryBytes()) * 8 / 50'000, 10.0);
}

TEST(FilterRatesTest, TheFingerprintTableIsNearTheory) {
  FingerprintTable filter = FingerprintTable::ForKeys(50'000, 8).value();
  AddNumbers(&filter, 0, 50'000);
  const double theory = filter.CurrentRate();
  EXPECT_NEAR(theory, 0.035, 0.002);
  EXPECT_NEAR(ObservedRate(filter, QueriesFor(theory)) / theory, 1, kTolerance);
}

TEST(FilterRatesTest, TheScalableFilterKeepsItsRateWhileItGrows) {
  ScalableBloomFilter filter = ScalableBloomFilter::Create(1000, 0.02).value();
  uint64_t added = 0;
  for (const uint64_t keys : {900, 20'000, 60'000}) {
    AddNumbers(&filter, added, keys - added);
    added = keys;
    const double observed = ObservedRate(filter, 200'000);
    EXPECT_LT(observed, 0.02) << keys;
    EXPECT_NEAR(filter.CurrentRate(), observed, 0.0015) << keys;
    EXPECT_NEAR(filter.EstimateKeys() / static_cast<double>(keys), 1, 0.03);
  }
}

// However the chance goes: a part is full by its bits, and not by its keys.
TEST(FilterRatesTest, TheScalableFilterIsNeverAboveItsRate) {
  for (const double rate : {0.1, 0.01, 0.0001}) {
    for (uint64_t seed = 0; seed < 20; ++seed) {
      ScalableBloomFilter filter = ScalableBloomFilter::Create(20, rate, seed).value();
      for (uint64_t keys = 0; keys < 3'000; keys += 100) {
        AddNumbers(&filter, keys, 100);
        EXPECT_LE(filter.CurrentRate(), rate) << keys << " keys, seed " << seed;
      }
    }
  }
}

TEST(FilterRatesTest, TheAgeingFilterHoldsItsRateOverAHundredTimesItsCapacity) {
  constexpr uint64_t kKeys = 5'000;
  AgeingFilter filter = AgeingFilter::ForKeys(kKeys, 0.02, 3).value();
  const double theory = std::pow(0.6, filter.probes());
  for (uint64_t part = 0; part < 100; ++part) {
    for (uint64_t i = part * kKeys; i < (part + 1) * kKeys; ++i) filter.AddAndTest(NumberKey(i));
    if (part % 20 == 19) {
      EXPECT_NEAR(ObservedRate(filter, 150'000) / theory, 1, 0.1) << part;
    }
  }
  EXPECT_NEAR(filter.Fill(), 0.6, 0.01);
}

TEST(FilterRatesTest, TheTwoGenerationsHoldTheirRateOverAHundredTimesTheirCapacity) {
  constexpr uint64_t kKeys = 5'000;
  TwoGenerationFilter filter = TwoGenerationFilter::ForKeys(kKeys, 0.02, 3).value();
  for (uint64_t part = 0; part < 100; ++part) {
    for (uint64_t i = part * kKeys; i < (part + 1) * kKeys; ++i) filter.AddAndTest(NumberKey(i));
    if (part % 20 == 19) {
      EXPECT_LT(ObservedRate(filter, 100'000), 0.02 * 1.1) << part;
    }
  }
}

TEST(FilterRatesTest, HyperLogLogIsWithinItsError) {
  for (const int precision : {8, 11, 14}) {
    for (const uint64_t keys : {10, 1'000, 100'000}) {
      HyperLogLog sketch = HyperLogLog::Create(precision, 1).value();
      AddNumbers(&sketch, 0, keys);
      EXPECT_NEAR(sketch.EstimateKeys() / static_cast<double>(keys), 1, 3 * sketch.StandardError() + 0.01) << keys;
    }
  }
}

TEST(FilterRatesTest, CountMinIsWithinItsError) {
  constexpr double kError = 0.001, kChance = 0.01;
  CountMinSketch sketch = CountMinSketch::ForError(kError, kChance, 1).value();
  Random random(1);
  std::vector<uint64_t> counts(2000);
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t key = random.Uniform(1 + random.Uniform(counts.size()));
    ++counts[key];
    sketch.Add(NumberKey(key));
  }
  EXPECT_EQ(sketch.total(), 200'000u);
  int far = 0;
  for (uint64_t key = 0; key < counts.size(); ++key) {
    const uint64_t estimate = sketch.EstimateCount(NumberKey(key));
    EXPECT_GE(estimate, counts[key]);
    far += static_cast<double>(estimate - counts[key]) > kError * static_cast<double>(sketch.total());
  }
  EXPECT_LE(far, static_cast<int>(kChance * static_cast<double>(counts.size())));
}

}  // namespace
}  // namespace sepal::filters

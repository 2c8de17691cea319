// Filters of every kind, for tests that hold for all of them.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sepal/filter.h"

namespace sepal::filters {

// Returns a filter with `seed`, and room for `keys`.
struct FilterMaker {
  const char* name;
  std::function<AnyFilter(const std::vector<std::string>& keys, uint64_t seed)> build;
  bool merges = false;
};

inline void AddAll(AnyFilter* filter, const std::vector<std::string>& keys) {
  for (const std::string& key : keys) ASSERT_TRUE(Add(filter, key).ok());
}

// Empty filters that take keys: `make` is given their number and the seed.
template <class Make>
FilterMaker Growing(const char* name, Make make, bool merges = false) {
  return {name,
          [make](const std::vector<std::string>& keys, uint64_t seed) {
            AnyFilter filter(make(1000, seed).value());
            AddAll(&filter, keys);
            return filter;
          },
          merges};
}

inline FilterMaker Static(const char* name, int bits) {
  return {name, [bits](const std::vector<std::string>& keys, uint64_t seed) {
            const std::vector<std::string_view> views(keys.begin(), keys.end());
            return AnyFilter(StaticFilter::Build(views, bits, seed).value());
          }};
}

inline std::vector<FilterMaker> AllFilters() {
  const auto bloom = [](BloomLayout layout) {
    return [layout](uint64_t n, uint64_t seed) { return BloomFilter::ForKeys(n, 0.01, layout, seed); };
  };
  return {
      Growing("bloom", bloom(BloomLayout::kClassic), true),
      Growing("blocked", bloom(BloomLayout::kBlocked), true),
      Growing("partitioned", bloom(BloomLayout::kPartitioned), true),
      Growing(
          "counting4", [](uint64_t n, uint64_t seed) { return CountingBloomFilter::ForKeys(n, 0.01, 4, seed); }, true),
      Growing(
          "counting8", [](uint64_t n, uint64_t seed) { return CountingBloomFilter::ForKeys(n, 0.01, 8, seed); }, true),
      Growing("ageing", [](uint64_t n, uint64_t seed) { return AgeingFilter::ForKeys(n, 0.01, seed); }),
      Growing("generations", [](uint64_t n, uint64_t seed) { return TwoGenerationFilter::ForKeys(n, 0.01, seed); }),
      Growing("scalable", [](uint64_t n, uint64_t seed) { return ScalableBloomFilter::Create(n / 16, 0.01, seed); }),
      Growing("fingerprints8", [](uint64_t n, uint64_t seed) { return FingerprintTable::ForKeys(n, 8, seed); }),
      Growing("fingerprints16", [](uint64_t n, uint64_t seed) { return FingerprintTable::ForKeys(n, 16, seed); }),
      Static("static8", 8),
      Static("static16", 16),
      Growing(
          "count-min", [](uint64_t, uint64_t seed) { return CountMinSketch::ForError(0.002, 0.01, seed); }, true),
      Growing(
          "hyperloglog", [](uint64_t, uint64_t seed) { return HyperLogLog::Create(10, seed); }, true),
  };
}

inline std::vector<std::string> NumberedKeys(const std::string& prefix, int count) {
  std::vector<std::string> keys;
  for (int i = 0; i < count; ++i) keys.push_back(prefix + std::to_string(i));
  return keys;
}

inline std::string MakerName(const testing::TestParamInfo<FilterMaker>& info) {
  std::string name = info.param.name;
  std::erase(name, '-');
  return name;
}

}  // namespace sepal::filters

#include "tools/sepal/filter_rates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "util/base/random.h"
#include "util/base/status.h"

namespace sepal::tools {
namespace {

using filters::BloomFilter;
using filters::BloomLayout;
using filters::BloomShape;

constexpr double kMostLoad = 2;  // keys at the end of their axis, beside those that the filter is made for
constexpr int kMostShownHashes = 16;
constexpr double kLeastBitsPerKey = 4, kMostBitsPerKey = 24;

struct Steps {
  int of_keys = 8;
  int of_bits = 10;
};
constexpr Steps kMeasured, kSmooth{.of_keys = 64, .of_bits = 40};

// A point, with the filter's shape and its number of keys.
struct Setting {
  RatePoint point = {};
  BloomShape shape = {};
  uint64_t keys = 0;
};

absl::StatusOr<std::vector<Setting>> SettingsOf(const RateExperiment& experiment, BloomLayout layout, Steps steps) {
  std::vector<Setting> settings;
  const auto n = static_cast<double>(experiment.keys);
  const auto add = [&](RateAxis axis, double x, const BloomShape& shape, uint64_t keys) {
    settings.push_back({.point = {.layout = layout, .axis = axis, .x = x, .theory = shape.RateAt(keys)},
                        .shape = shape,
                        .keys = keys});
  };
  ASSIGN_OR_RETURN(const BloomShape made, BloomShape::For(experiment.keys, experiment.rate, layout));
  for (int i = 1; i <= steps.of_keys; ++i) {
    const auto keys = std::max<uint64_t>(1, static_cast<uint64_t>(n * kMostLoad * i / steps.of_keys));
    add(RateAxis::kKeys, static_cast<double>(keys), made, keys);
  }
  const int most = layout == BloomLayout::kBlocked ? filters::kMostBlockedProbes : kMostShownHashes;
  for (int hashes = 1; hashes <= most; ++hashes) {
    BloomShape shape = made;
    shape.probes = hashes;
    add(RateAxis::kHashes, hashes, shape, experiment.keys);
  }
  for (int i = 0; i <= steps.of_bits; ++i) {
    const double bits_per_key = kLeastBitsPerKey + (kMostBitsPerKey - kLeastBitsPerKey) * i / steps.of_bits;
    ASSIGN_OR_RETURN(const BloomShape shape,
                     BloomShape::OfBits(experiment.keys, static_cast<uint64_t>(n * bits_per_key), layout));
    add(RateAxis::kBitsPerKey, bits_per_key, shape, experiment.keys);
  }
  return settings;
}

// Adds keys until there are `keys`. Keys are numbers of 8 bytes; `random` never returns the same one twice.
void Fill(BloomFilter* filter, uint64_t keys, Random* random) {
  while (filter->keys() < keys) {
    const uint64_t key = random->Next();
    filter->Add(std::string_view(reinterpret_cast<const char*>(&key), sizeof(key)));
  }
}

uint64_t CountFalsePositives(const BloomFilter& filter, uint64_t lookups, Random* random) {
  constexpr size_t kBatch = 64;
  std::array<uint64_t, kBatch> numbers;
  std::array<std::string_view, kBatch> keys;
  std::array<bool, kBatch> maybe;
  uint64_t count = 0;
  for (uint64_t asked = 0; asked < lookups;) {
    const auto some = static_cast<size_t>(std::min<uint64_t>(kBatch, lookups - asked));
    for (size_t i = 0; i < some; ++i) {
      numbers[i] = random->Next();
      keys[i] = std::string_view(reinterpret_cast<const char*>(&numbers[i]), sizeof(numbers[i]));
    }
    filter.MayContainMany(std::span(keys).first(some), std::span(maybe).first(some));
    count += static_cast<uint64_t>(std::count(maybe.begin(), maybe.begin() + static_cast<ptrdiff_t>(some), true));
    asked += some;
  }
  return count;
}

}  // namespace

absl::StatusOr<std::vector<RatePoint>> MeasureRates(const RateExperiment& experiment,
                                                    const std::function<void(uint64_t)>& done) {
  std::vector<RatePoint> points;
  // The numbers of one generator are all different, so the keys of lookups are absent.
  Random random(experiment.seed);
  for (const BloomLayout layout : experiment.layouts) {
    ASSIGN_OR_RETURN(const std::vector<Setting> settings, SettingsOf(experiment, layout, kMeasured));
    for (const Setting& setting : settings) {
      ASSIGN_OR_RETURN(BloomFilter filter, BloomFilter::Create(setting.shape, experiment.seed));
      Fill(&filter, setting.keys, &random);
      RatePoint point = setting.point;
      point.lookups = experiment.lookups;
      point.false_positives = CountFalsePositives(filter, experiment.lookups, &random);
      points.push_back(point);
      done(points.size());
    }
  }
  return points;
}

absl::StatusOr<std::vector<RatePoint>> TheoryOfRates(const RateExperiment& experiment) {
  std::vector<RatePoint> points;
  for (const BloomLayout layout : experiment.layouts) {
    ASSIGN_OR_RETURN(const std::vector<Setting> settings, SettingsOf(experiment, layout, kSmooth));
    for (const Setting& setting : settings) points.push_back(setting.point);
  }
  return points;
}

}  // namespace sepal::tools

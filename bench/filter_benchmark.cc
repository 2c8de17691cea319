// Lanes and guards over bits a key, probes and keys: the costs of a query of an absent key and of building, and the
// rate at which absent keys pass, beside theory. tools/filter_plot.py draws the rates.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sepal/filter_policy.h"
#include "table/filter/filter.h"
#include "tests/table/block/block_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

constexpr size_t kLanes = 256;
constexpr int kAbsentKeys = 1'000'000;

// B. Bloom's rate for k probes at `load` keys a bit.
double BloomRate(double load, int k) { return std::pow(1 - std::exp(-k * load), k); }

// The same for lines of 512 bits: the keys of a line are Poisson-distributed (Putze, Sanders, Singler, 2007). All
// probes are in one line.
double LineRate(double bits_per_key, int k) {
  const double mean = 512 / bits_per_key;
  double rate = 0;
  double chance = std::exp(-mean);
  for (int keys = 0; keys < 40 * mean + 40; ++keys) {
    rate += chance * std::pow(1 - std::pow(1 - 1.0 / 512, k * keys), k);
    chance *= mean / (keys + 1);
  }
  return rate;
}

struct Lanes {
  Lanes(double bits, int probes_of_lane, size_t keys) : probes(probes_of_lane), bytes(LaneBytes(keys, bits)) {
    data.resize(bytes * kLanes);
    for (size_t l = 0; l < kLanes; ++l) {
      for (size_t k = 0; k < keys; ++k) LaneAdd(&data[l * bytes], bytes, probes, random.Next());
    }
  }
  Random random{1};
  int probes;
  size_t bytes;
  std::string data;
};

// Arguments: bits a key, probes, keys of a block.
void LaneQuery(benchmark::State& state) {
  const auto keys = static_cast<size_t>(state.range(2));
  Lanes lanes(static_cast<double>(state.range(0)), static_cast<int>(state.range(1)), keys);
  std::vector<uint64_t> hashes(4096);
  for (uint64_t& hash : hashes) hash = lanes.random.Next();
  size_t i = 0;
  for (auto _ : state) {
    const uint64_t hash = hashes[i++ % 4096];
    benchmark::DoNotOptimize(
        LaneMayContain(&lanes.data[(hash % kLanes) * lanes.bytes], lanes.bytes, lanes.probes, hash));
  }
  int passed = 0;
  for (int q = 0; q < kAbsentKeys; ++q) {
    const uint64_t hash = lanes.random.Next();
    passed += LaneMayContain(&lanes.data[(hash % kLanes) * lanes.bytes], lanes.bytes, lanes.probes, hash);
  }
  // A lane is a whole number of words: a little more than was asked for.
  const double bits = static_cast<double>(lanes.bytes) * 8 / static_cast<double>(keys);
  state.counters["bits"] = bits;
  state.counters["observed_rate"] = passed / static_cast<double>(kAbsentKeys);
  state.counters["theory_rate"] = BloomRate(1 / bits, lanes.probes);
  state.counters["line_theory_rate"] = LineRate(bits, lanes.probes);  // had it the guard's form
}
void LaneShapes(benchmark::internal::Benchmark* b) {
  for (const int bits : {4, 6, 8, 10, 12, 16}) {
    const int best = FilterPolicy::ProbesFor(bits);
    for (const int keys : {16, 36, 128}) b->Args({bits, best, keys});
    b->Args({bits, std::max(1, best / 2), 36});
  }
}
BENCHMARK(LaneQuery)->Apply(LaneShapes)->ArgNames({"bits", "k", "keys"});

void LaneBuildKey(benchmark::State& state) {
  Lanes lanes(static_cast<double>(state.range(0)), static_cast<int>(state.range(1)),
              static_cast<size_t>(state.range(2)));
  uint64_t hash = 1;
  for (auto _ : state) {
    hash += 0x9e3779b97f4a7c15ull;
    LaneAdd(&lanes.data[(hash >> 56) * lanes.bytes], lanes.bytes, lanes.probes, hash);
  }
}
BENCHMARK(LaneBuildKey)->Apply(LaneShapes)->ArgNames({"bits", "k", "keys"});

// Arguments: bits a key, keys of a file.
void GuardQuery(benchmark::State& state) {
  const auto bits = static_cast<double>(state.range(0));
  const auto keys = static_cast<size_t>(state.range(1));
  const int probes = std::min(FilterPolicy::ProbesFor(bits), kMaxGuardProbes);
  GuardBuilder builder(bits, probes);
  Random random(1);
  for (size_t i = 0; i < keys; ++i) builder.Add(random.Next());
  const PaddedBytes bytes(builder.Finish());
  const GuardView guard(bytes.view());
  std::vector<uint64_t> hashes(4096);
  for (uint64_t& hash : hashes) hash = random.Next();
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(guard.MayContain(hashes[i++ % 4096]));
  int passed = 0;
  for (int q = 0; q < kAbsentKeys; ++q) passed += guard.MayContain(random.Next());
  state.counters["bits"] = bits;
  state.counters["observed_rate"] = passed / static_cast<double>(kAbsentKeys);
  state.counters["theory_rate"] = BloomRate(1 / bits, probes);
  state.counters["line_theory_rate"] = LineRate(bits, probes);
}
BENCHMARK(GuardQuery)
    ->ArgsProduct({{3, 4, 5, 6, 8, 10, 12}, {200'000}})
    ->Args({5, 20'000'000})
    ->ArgNames({"bits", "keys"});

// The whole guard of a file, an item a key.
void GuardBuild(benchmark::State& state) {
  const auto keys = static_cast<size_t>(state.range(1));
  const auto bits = static_cast<double>(state.range(0));
  GuardBuilder builder(bits, std::min(FilterPolicy::ProbesFor(bits), kMaxGuardProbes));
  Random random(1);
  for (size_t i = 0; i < keys; ++i) builder.Add(random.Next());
  for (auto _ : state) benchmark::DoNotOptimize(builder.Finish());
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(keys));
}
BENCHMARK(GuardBuild)->ArgsProduct({{3, 5, 8, 12}, {20'000, 1'000'000}})->ArgNames({"bits", "keys"});

}  // namespace
}  // namespace sepal

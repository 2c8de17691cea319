// Lanes and guards: the cost of a query (of an absent key) and of building, and the rate at which absent keys pass,
// beside what theory says.
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <vector>

#include "sepal/filter_policy.h"
#include "table/filter.h"
#include "tests/table/block_fixture.h"
#include "util/random.h"

namespace sepal {
namespace {

constexpr size_t kLaneKeys = 32;  // of a block
constexpr size_t kLanes = 256;

struct Lanes {
  explicit Lanes(double bits) : probes(FilterPolicy::ProbesFor(bits)), bytes(LaneBytes(kLaneKeys, bits)) {
    data.resize(bytes * kLanes);
    for (size_t l = 0; l < kLanes; ++l) {
      for (size_t k = 0; k < kLaneKeys; ++k) LaneAdd(&data[l * bytes], bytes, probes, random.Next());
    }
  }
  Random random{1};
  int probes;
  size_t bytes;
  std::string data;
};

void LaneQuery(benchmark::State& state) {
  const auto bits = static_cast<double>(state.range(0));
  Lanes lanes(bits);
  std::vector<uint64_t> hashes(4096);
  for (uint64_t& hash : hashes) hash = lanes.random.Next();
  size_t i = 0;
  for (auto _ : state) {
    const uint64_t hash = hashes[i++ % 4096];
    benchmark::DoNotOptimize(
        LaneMayContain(&lanes.data[(hash % kLanes) * lanes.bytes], lanes.bytes, lanes.probes, hash));
  }
  int passed = 0;
  for (int q = 0; q < 200'000; ++q) {
    const uint64_t hash = lanes.random.Next();
    passed += LaneMayContain(&lanes.data[(hash % kLanes) * lanes.bytes], lanes.bytes, lanes.probes, hash);
  }
  state.counters["observed_rate"] = passed / 200'000.0;
  state.counters["theory_rate"] = FilterPolicy::ExpectedRate(bits);
}
BENCHMARK(LaneQuery)->Arg(5)->Arg(8)->Arg(10)->Arg(16);

void LaneBuildKey(benchmark::State& state) {
  Lanes lanes(static_cast<double>(state.range(0)));
  uint64_t hash = 1;
  for (auto _ : state) {
    hash += 0x9e3779b97f4a7c15ull;
    LaneAdd(&lanes.data[(hash >> 56) * lanes.bytes], lanes.bytes, lanes.probes, hash);
  }
}
BENCHMARK(LaneBuildKey)->Arg(8);

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
  for (int q = 0; q < 200'000; ++q) passed += guard.MayContain(random.Next());
  state.counters["observed_rate"] = passed / 200'000.0;
  state.counters["theory_rate"] = FilterPolicy::ExpectedRate(bits);
}
BENCHMARK(GuardQuery)->Args({5, 20'000})->Args({8, 20'000})->Args({10, 20'000})->Args({5, 20'000'000});

void GuardBuildKey(benchmark::State& state) {
  const auto keys = static_cast<size_t>(state.range(1));
  const auto bits = static_cast<double>(state.range(0));
  GuardBuilder builder(bits, FilterPolicy::ProbesFor(bits));
  Random random(1);
  for (size_t i = 0; i < keys; ++i) builder.Add(random.Next());
  for (auto _ : state) benchmark::DoNotOptimize(builder.Finish());
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(keys));
}
BENCHMARK(GuardBuildKey)->Args({5, 20'000})->Args({5, 1'000'000});

}  // namespace
}  // namespace sepal

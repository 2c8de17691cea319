// The filter library over bits a key and keys: nanoseconds of adding and asking, bits a key, and the observed rate of
// false positives beside theory. Beside libbloom, where Debian's libbloom-dev is installed.
//
// Keys are 16 bytes. A query is of an absent key, and the next does not wait for its answer. If SEPAL_LARGE_FILTERS is
// set in the environment, filters of 100,000,000 keys are measured too, and rates from so many queries that they vary
// by about one percent: that takes up to 300 MB, and a long time.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sepal/filter.h"
#include "util/base/random.h"

#ifdef SEPAL_WITH_LIBBLOOM
#include <bloom.h>
#endif

namespace sepal::filters {
namespace {

constexpr uint64_t kAbsent = uint64_t{1} << 62;
constexpr size_t kBatch = 64;

struct BenchKey {
  explicit BenchKey(uint64_t number) {
    const uint64_t words[2] = {number, Random(number).Next()};
    std::memcpy(bytes.data(), words, sizeof words);
  }
  std::string_view view() const { return {bytes.data(), bytes.size()}; }
  std::array<char, 16> bytes;
};

bool LargeFiltersToo() { return std::getenv("SEPAL_LARGE_FILTERS") != nullptr; }

// Of keys from `first` on.
BloomFilter Built(BloomLayout layout, uint64_t keys, uint64_t bits_per_key, uint64_t first = 0) {
  BloomFilter filter = BloomFilter::Create(BloomShape::OfBits(keys, keys * bits_per_key, layout).value()).value();
  for (uint64_t i = 0; i < keys; ++i) filter.Add(BenchKey(first + i).view());
  return filter;
}

// A large filter is built once for the benchmarks that follow one another.
const BloomFilter& Kept(BloomLayout layout, uint64_t keys, uint64_t bits_per_key) {
  static std::map<std::array<uint64_t, 3>, BloomFilter> kept;
  const std::array<uint64_t, 3> name = {static_cast<uint64_t>(layout), keys, bits_per_key};
  if (!kept.contains(name)) {
    kept.clear();
    kept.emplace(name, Built(layout, keys, bits_per_key));
  }
  return kept.at(name);
}

// Its share of as many queries as give 10'000 false positives, within bounds of time.
template <class Asks>
double ObservedRate(const Asks& asks, double theory, uint64_t filters = 1) {
  const double most = LargeFiltersToo() ? 1e9 : 2e7;
  const auto queries = static_cast<uint64_t>(std::min(most, std::max(1e6, 1e4 / theory))) / filters;
  uint64_t maybe = 0;
  for (uint64_t i = 0; i < queries; ++i) maybe += asks(BenchKey(kAbsent + i).view());
  return static_cast<double>(maybe) / static_cast<double>(queries);
}

void Report(benchmark::State& state, uint64_t memory_bytes, uint64_t keys, double observed, double theory) {
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
  state.counters["bits_per_key"] = static_cast<double>(memory_bytes) * 8 / static_cast<double>(keys);
  state.counters["observed_rate"] = observed;
  state.counters["theory_rate"] = theory;
}

// Arguments of all: bits a key, keys.
template <BloomLayout layout>
void BloomQuery(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(1));
  const BloomFilter& filter = Kept(layout, keys, static_cast<uint64_t>(state.range(0)));
  uint64_t i = kAbsent;
  for (auto _ : state) benchmark::DoNotOptimize(filter.MayContain(BenchKey(i++).view()));
  const double theory = filter.shape().RateAt(keys);
  // The rate of a small filter varies by chance; theory gives the mean of many.
  const uint64_t filters = std::clamp<uint64_t>(5'000'000 / keys, 1, 2'000);
  const auto asks_of = [](const BloomFilter& one) {
    return [&one](std::string_view key) { return one.MayContain(key); };
  };
  double observed = ObservedRate(asks_of(filter), theory, filters);
  for (uint64_t more = 1; more < filters; ++more) {
    const BloomFilter other = Built(layout, keys, static_cast<uint64_t>(state.range(0)), more << 32);
    observed += ObservedRate(asks_of(other), theory, filters);
  }
  Report(state, filter.MemoryBytes(), keys, observed / static_cast<double>(filters), theory);
}

// An item is a key of a batch of 64.
template <BloomLayout layout>
void BloomQueryMany(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(1));
  const BloomFilter& filter = Kept(layout, keys, static_cast<uint64_t>(state.range(0)));
  uint64_t next = kAbsent;
  std::vector<BenchKey> batch(kBatch, BenchKey(0));
  std::array<std::string_view, kBatch> views;
  std::array<bool, kBatch> maybe;
  while (state.KeepRunningBatch(kBatch)) {
    for (size_t i = 0; i < kBatch; ++i) {
      batch[i] = BenchKey(next++);
      views[i] = batch[i].view();
    }
    filter.MayContainMany(views, maybe);
    benchmark::DoNotOptimize(maybe);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}

template <BloomLayout layout>
void BloomAdd(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(1));
  const auto bits = static_cast<uint64_t>(state.range(0));
  BloomFilter filter = BloomFilter::Create(BloomShape::OfBits(keys, keys * bits, layout).value()).value();
  uint64_t i = 0;
  for (auto _ : state) {
    // The same keys again do not fill it beyond its measure.
    filter.Add(BenchKey(i).view());
    i = i + 1 == keys ? 0 : i + 1;
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}

void BloomShapes(benchmark::internal::Benchmark* b) {
  std::vector<int64_t> keys = {1'000, 10'000, 100'000, 1'000'000, 10'000'000};
  if (LargeFiltersToo()) keys.push_back(100'000'000);
  b->ArgNames({"bits", "keys"})->ArgsProduct({{4, 8, 10, 12, 16, 20, 24}, keys});
}
BENCHMARK_TEMPLATE(BloomQuery, BloomLayout::kBlocked)->Apply(BloomShapes);
BENCHMARK_TEMPLATE(BloomQuery, BloomLayout::kClassic)->Apply(BloomShapes);
BENCHMARK_TEMPLATE(BloomQuery, BloomLayout::kPartitioned)->Apply(BloomShapes);
BENCHMARK_TEMPLATE(BloomQueryMany, BloomLayout::kBlocked)->Apply(BloomShapes);
BENCHMARK_TEMPLATE(BloomQueryMany, BloomLayout::kClassic)->Apply(BloomShapes);
BENCHMARK_TEMPLATE(BloomAdd, BloomLayout::kBlocked)->Apply(BloomShapes);
BENCHMARK_TEMPLATE(BloomAdd, BloomLayout::kClassic)->Apply(BloomShapes);

#ifdef SEPAL_WITH_LIBBLOOM
// libbloom gets the rate that corresponds to this number of bits.
void LibbloomQuery(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(1));
  const BloomShape shape =
      BloomShape::OfBits(keys, keys * static_cast<uint64_t>(state.range(0)), BloomLayout::kClassic).value();
  struct bloom filter;
  if (bloom_init(&filter, static_cast<int>(keys), shape.RateAt(keys)) != 0) {
    state.SkipWithError("libbloom takes no such filter");
    return;
  }
  for (uint64_t i = 0; i < keys; ++i) bloom_add(&filter, BenchKey(i).bytes.data(), sizeof(BenchKey));
  uint64_t i = kAbsent;
  for (auto _ : state) {
    benchmark::DoNotOptimize(bloom_check(&filter, BenchKey(i++).bytes.data(), sizeof(BenchKey)));
  }
  const auto ask = [&](std::string_view key) {
    return bloom_check(&filter, key.data(), static_cast<int>(key.size())) == 1;
  };
  Report(state, filter.bytes, keys, ObservedRate(ask, filter.error), filter.error);
  bloom_free(&filter);
}
BENCHMARK(LibbloomQuery)->Apply(BloomShapes);

void LibbloomAdd(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(1));
  const BloomShape shape =
      BloomShape::OfBits(keys, keys * static_cast<uint64_t>(state.range(0)), BloomLayout::kClassic).value();
  struct bloom filter;
  if (bloom_init(&filter, static_cast<int>(keys), shape.RateAt(keys)) != 0) {
    state.SkipWithError("libbloom takes no such filter");
    return;
  }
  uint64_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(bloom_add(&filter, BenchKey(i).bytes.data(), sizeof(BenchKey)));
    i = i + 1 == keys ? 0 : i + 1;
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
  bloom_free(&filter);
}
BENCHMARK(LibbloomAdd)->Apply(BloomShapes);
#endif

void StaticQuery(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(1));
  std::vector<uint64_t> hashes;
  for (uint64_t i = 0; i < keys; ++i) hashes.push_back(KeyHash(BenchKey(i).view(), 0));
  const StaticFilter filter =
      StaticFilter::BuildFromHashes(std::move(hashes), static_cast<int>(state.range(0))).value();
  uint64_t i = kAbsent;
  for (auto _ : state) benchmark::DoNotOptimize(filter.MayContain(BenchKey(i++).view()));
  const double observed =
      ObservedRate([&](std::string_view key) { return filter.MayContain(key); }, filter.CurrentRate());
  Report(state, filter.MemoryBytes(), keys, observed, filter.CurrentRate());
}
BENCHMARK(StaticQuery)
    ->ArgsProduct({{8, 16}, {1'000, 100'000, 1'000'000, 10'000'000}})
    ->ArgNames({"fingerprint", "keys"});

// An item is a key of the set.
void StaticBuild(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(0));
  std::vector<uint64_t> hashes;
  for (uint64_t i = 0; i < keys; ++i) hashes.push_back(KeyHash(BenchKey(i).view(), 0));
  for (auto _ : state) benchmark::DoNotOptimize(StaticFilter::BuildFromHashes(hashes).ok());
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * state.range(0));
}
BENCHMARK(StaticBuild)->Arg(100'000)->Arg(1'000'000)->ArgName("keys");

void FingerprintQuery(benchmark::State& state) {
  const auto keys = static_cast<uint64_t>(state.range(1));
  FingerprintTable filter = FingerprintTable::ForKeys(keys, static_cast<int>(state.range(0))).value();
  const uint64_t added = keys * static_cast<uint64_t>(state.range(2)) / 100;
  for (uint64_t i = 0; i < added; ++i) static_cast<void>(filter.Add(BenchKey(i).view()));
  uint64_t i = kAbsent;
  for (auto _ : state) benchmark::DoNotOptimize(filter.MayContain(BenchKey(i++).view()));
  const double theory = filter.CurrentRate();
  const double observed = ObservedRate([&](std::string_view key) { return filter.MayContain(key); }, theory);
  Report(state, filter.MemoryBytes(), added, observed, theory);
}
BENCHMARK(FingerprintQuery)
    ->ArgsProduct({{8, 16}, {1'000'000}, {50, 100}})
    ->ArgNames({"fingerprint", "keys", "percent"});

void CountingAddAndRemove(benchmark::State& state) {
  CountingBloomFilter filter = CountingBloomFilter::ForKeys(1'000'000, 0.01).value();
  uint64_t i = 0;
  for (auto _ : state) {
    const BenchKey key(i++);
    filter.Add(key.view());
    benchmark::DoNotOptimize(filter.Remove(key.view()).ok());
  }
}
BENCHMARK(CountingAddAndRemove);

// A stream of new keys, after 100 times the capacity.
template <class Filter>
void Stream(benchmark::State& state) {
  Filter filter = Filter::ForKeys(100'000, 0.01).value();
  uint64_t i = 0;
  for (; i < 10'000'000; ++i) filter.AddAndTest(BenchKey(i).view());
  for (auto _ : state) benchmark::DoNotOptimize(filter.AddAndTest(BenchKey(i++).view()));
  const double observed = ObservedRate([&](std::string_view key) { return filter.MayContain(key); }, 0.01);
  Report(state, filter.MemoryBytes(), 100'000, observed, filter.CurrentRate());
}
BENCHMARK_TEMPLATE(Stream, AgeingFilter);
BENCHMARK_TEMPLATE(Stream, TwoGenerationFilter);

void CountMinAdd(benchmark::State& state) {
  CountMinSketch sketch = CountMinSketch::ForError(0.0001, 0.01).value();
  uint64_t i = 0;
  for (auto _ : state) sketch.Add(BenchKey(i++).view());
}
BENCHMARK(CountMinAdd);

void HyperLogLogAdd(benchmark::State& state) {
  HyperLogLog sketch = HyperLogLog::Create().value();
  uint64_t i = 0;
  for (auto _ : state) sketch.Add(BenchKey(i++).view());
}
BENCHMARK(HyperLogLogAdd);

}  // namespace
}  // namespace sepal::filters

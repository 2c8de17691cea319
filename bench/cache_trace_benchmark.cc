// The share of accesses that hit the block cache, over traces that are the same in every run. The result is the counter
// `hit_ratio`; the times do not matter.
//
//   build/release/bench/micro_benchmark --benchmark_filter=HitRatio --benchmark_format=csv
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "util/base/random.h"
#include "util/cache/block_cache.h"

namespace sepal {
namespace {

constexpr size_t kTraceBlocks = 100'000;
constexpr size_t kTraceAccesses = 500'000;
// Accesses that fill the cache, before hits are counted.
constexpr size_t kWarmUp = kTraceAccesses / 5;

// The block cache itself, with memory for as many blocks.
class TracedCache {
 public:
  explicit TracedCache(size_t blocks) : budget_(blocks * BytesOfABlock()), cache_(&budget_, kBytes) {}
  // Returns whether the block is cached; inserts it if not.
  bool Access(uint64_t block) {
    const CacheKey key = {1, block * 4096};
    if (cache_.Lookup(key)) return true;
    cache_.Insert(key, BlockBuffer(kBytes), MemoryPart::kDataBlocks);
    return false;
  }

 private:
  static constexpr size_t kBytes = 64;
  static size_t BytesOfABlock() {
    MemoryBudget budget(1 << 20);
    BlockCache cache(&budget, kBytes);
    cache.Insert({1, 0}, BlockBuffer(kBytes), MemoryPart::kDataBlocks);
    return budget.total();
  }
  MemoryBudget budget_;
  BlockCache cache_;
};

using Trace = std::vector<uint32_t>;

// Blocks by rank: the block of rank r is asked for in proportion to r^-exponent. Ranks lie anywhere among the blocks.
class Zipf {
 public:
  explicit Zipf(double exponent) : sums_(kTraceBlocks), blocks_(kTraceBlocks) {
    double sum = 0;
    for (size_t i = 0; i < kTraceBlocks; ++i) {
      sums_[i] = sum += std::pow(static_cast<double>(i + 1), -exponent);
      blocks_[i] = static_cast<uint32_t>(i);
    }
    Random order(9);
    for (size_t i = kTraceBlocks - 1; i > 0; --i) std::swap(blocks_[i], blocks_[order.Uniform(i + 1)]);
  }
  uint32_t Next(Random* random) const {
    const auto it = std::lower_bound(sums_.begin(), sums_.end(), random->NextDouble() * sums_.back());
    return blocks_[static_cast<size_t>(it - sums_.begin())];
  }

 private:
  std::vector<double> sums_;
  std::vector<uint32_t> blocks_;
};

Trace ZipfTrace(double exponent) {
  const Zipf zipf(exponent);
  Random random(1);
  Trace trace(kTraceAccesses);
  for (uint32_t& block : trace) block = zipf.Next(&random);
  return trace;
}

// Zipf 0.9; after every 50,000 accesses a scan of 30,000 blocks in a row.
Trace ScanTrace() {
  const Zipf zipf(0.9);
  Random random(1);
  Trace trace;
  while (trace.size() < kTraceAccesses) {
    for (int i = 0; i < 50'000; ++i) trace.push_back(zipf.Next(&random));
    const uint64_t first = random.Uniform(kTraceBlocks);
    for (uint64_t i = 0; i < 30'000; ++i) trace.push_back(static_cast<uint32_t>((first + i) % kTraceBlocks));
  }
  return trace;
}

// Every second access continues a scan of everything.
Trace ScanBesideTrace() {
  const Zipf zipf(0.9);
  Random random(1);
  Trace trace(kTraceAccesses);
  uint32_t next = 0;
  for (uint32_t& block : trace) block = random.OneIn(2) ? next++ % kTraceBlocks : zipf.Next(&random);
  return trace;
}

Trace LoopTrace(size_t blocks) {
  Trace trace(kTraceAccesses);
  for (size_t i = 0; i < trace.size(); ++i) trace[i] = static_cast<uint32_t>(i % blocks);
  return trace;
}

// Nine of ten accesses go to `hot` blocks, which are others after every 100,000.
Trace ShiftTrace(size_t hot) {
  Random random(1);
  Trace trace(kTraceAccesses);
  for (size_t i = 0; i < trace.size(); ++i) {
    const uint64_t block = random.OneIn(10) ? random.Next() : i / 100'000 * hot + random.Uniform(hot);
    trace[i] = static_cast<uint32_t>(block % kTraceBlocks);
  }
  return trace;
}

struct NamedTrace {
  const char* name;
  // For a cache of so many blocks.
  std::function<Trace(size_t)> make;
};

void RunTrace(benchmark::State& state, const NamedTrace& named, size_t blocks) {
  const Trace trace = named.make(blocks);
  for (auto _ : state) {
    TracedCache cache(blocks);
    size_t hits = 0;
    for (size_t i = 0; i < trace.size(); ++i) {
      const bool hit = cache.Access(trace[i]);
      hits += hit && i >= kWarmUp ? 1 : 0;
    }
    state.counters["hit_ratio"] = static_cast<double>(hits) / static_cast<double>(trace.size() - kWarmUp);
  }
}

const bool registered = [] {
  static const std::vector<NamedTrace> traces = {
      {"zipf_0.7", [](size_t) { return ZipfTrace(0.7); }},
      {"zipf_0.99", [](size_t) { return ZipfTrace(0.99); }},
      {"scans_between", [](size_t) { return ScanTrace(); }},
      {"scan_beside", [](size_t) { return ScanBesideTrace(); }},
      {"loop_1.1", [](size_t blocks) { return LoopTrace(blocks * 11 / 10); }},
      {"loop_2", [](size_t blocks) { return LoopTrace(blocks * 2); }},
      {"shift_half", [](size_t blocks) { return ShiftTrace(blocks / 2); }},
      {"shift_most", [](size_t blocks) { return ShiftTrace(blocks * 9 / 10); }},
  };
  for (const size_t blocks : {size_t{1'000}, size_t{10'000}}) {
    for (const NamedTrace& trace : traces) {
      benchmark::RegisterBenchmark(absl::StrFormat("HitRatio/%s/%d", trace.name, blocks).c_str(),
                                   [&trace, blocks](benchmark::State& state) { RunTrace(state, trace, blocks); })
          ->Iterations(1)
          ->Unit(benchmark::kMillisecond);
    }
  }
  return true;
}();

}  // namespace
}  // namespace sepal

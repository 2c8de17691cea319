// The costs of the block cache: a hit with its unpin, a miss, and a miss with the insert and eviction that follow.
#include <benchmark/benchmark.h>

#include <memory>
#include <vector>

#include "util/cache/block_cache.h"

namespace sepal {
namespace {

constexpr size_t kBlockBytes = 4096;

// One cache for all threads of a benchmark, with `blocks` blocks of file 1 in it.
struct World {
  World(size_t limit_bytes, uint64_t blocks) : budget(limit_bytes), cache(&budget, kBlockBytes) {
    for (uint64_t i = 0; i < blocks; ++i) {
      hints.push_back(cache.Insert({1, i * kBlockBytes}, BlockBuffer(kBlockBytes), MemoryPart::kDataBlocks).hint());
    }
  }
  MemoryBudget budget;
  BlockCache cache;
  std::vector<FrameHint> hints;
};

World* world = nullptr;

void MakeWorld(const benchmark::State& state) {
  const auto blocks = static_cast<uint64_t>(state.range(0));
  world = std::make_unique<World>(blocks * (kBlockBytes + 512) + (1 << 20), blocks).release();
}
void DropWorld(const benchmark::State&) { std::unique_ptr<World>(world).reset(); }

uint64_t NextIndex(uint64_t* x, uint64_t blocks) {
  *x = *x * 6364136223846793005u + 1442695040888963407u;
  return (*x >> 33) % blocks;
}

void Hit(benchmark::State& state) {
  const auto blocks = static_cast<uint64_t>(state.range(0));
  auto x = static_cast<uint64_t>(state.thread_index());
  for (auto _ : state) {
    const CachePin pin = world->cache.Lookup({1, NextIndex(&x, blocks) * kBlockBytes});
    benchmark::DoNotOptimize(pin.bytes().data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(Hit)->Arg(1000)->Arg(50000)->Setup(MakeWorld)->Teardown(DropWorld)->Threads(1)->Threads(2);

void HitByHint(benchmark::State& state) {
  const auto blocks = static_cast<uint64_t>(state.range(0));
  auto x = static_cast<uint64_t>(state.thread_index());
  for (auto _ : state) {
    const uint64_t i = NextIndex(&x, blocks);
    const CachePin pin = world->cache.Lookup(world->hints[i], {1, i * kBlockBytes});
    benchmark::DoNotOptimize(pin.bytes().data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(HitByHint)->Arg(1000)->Arg(50000)->Setup(MakeWorld)->Teardown(DropWorld)->Threads(1)->Threads(2);

void Miss(benchmark::State& state) {
  const auto blocks = static_cast<uint64_t>(state.range(0));
  auto x = static_cast<uint64_t>(state.thread_index());
  for (auto _ : state) {
    const CachePin pin = world->cache.Lookup({2, NextIndex(&x, blocks) * kBlockBytes});
    benchmark::DoNotOptimize(static_cast<bool>(pin));
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(Miss)->Arg(1000)->Arg(50000)->Setup(MakeWorld)->Teardown(DropWorld)->Threads(1)->Threads(2);

void MissInsertEvict(benchmark::State& state) {
  uint64_t i = static_cast<uint64_t>(state.thread_index()) << 40;
  for (auto _ : state) {
    const CacheKey key = {3, ++i * kBlockBytes};
    CachePin pin = world->cache.Lookup(key);
    if (!pin) pin = world->cache.Insert(key, BlockBuffer(kBlockBytes), MemoryPart::kDataBlocks);
    benchmark::DoNotOptimize(pin.bytes().data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(MissInsertEvict)->Arg(1000)->Arg(50000)->Setup(MakeWorld)->Teardown(DropWorld)->Threads(1)->Threads(2);

// The opened tables that a merge replaces, or all that go when a database is closed, and their blocks with them, in a
// cache that is full. Removal looks at frames, so that small blocks do for large ones: 2^18 are those of 1 GiB.
void RemoveFiles(benchmark::State& state) {
  constexpr size_t kSmallBytes = 64;
  const auto gone = static_cast<uint64_t>(state.range(0)), files = static_cast<uint64_t>(state.range(1));
  const auto blocks = static_cast<uint64_t>(state.range(2));
  MemoryBudget budget(blocks * 512);
  BlockCache cache(&budget, kSmallBytes);
  for (auto _ : state) {
    state.PauseTiming();
    for (uint64_t i = 0; i < blocks; ++i) {
      (void)cache.Insert({1 + i % files, i}, BlockBuffer(kSmallBytes), MemoryPart::kDataBlocks);
    }
    state.ResumeTiming();
    for (uint64_t file = 1; file <= gone; ++file) cache.NoteGone(file);
    cache.EraseGone();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(gone));
}
BENCHMARK(RemoveFiles)
    ->ArgNames({"gone", "files", "blocks"})
    ->ArgsProduct({{1, 10, 1000}, {1000}, {1 << 18, 1 << 20}})
    ->ArgsProduct({{100'000}, {100'000}, {1 << 18, 1 << 20}})
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sepal

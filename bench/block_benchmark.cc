// Data blocks and index pages: the cost of a point read, a scan and a build for each entry. Entries of 16 + 100 bytes,
// as db_bench writes them, in blocks of 4 KiB.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "table/block/block.h"
#include "table/block/block_cursor.h"
#include "table/file/table_format.h"
#include "table/index/index_page.h"
#include "tests/table/block/block_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

constexpr int kEntries = 33;
constexpr int kBlocks = 4;  // few enough for the first-level cache

std::string Key(uint64_t i) {
  char buffer[24];
  std::snprintf(buffer, sizeof buffer, "%016llu", static_cast<unsigned long long>(i));
  return buffer;
}

std::vector<BlockEntry> Entries(uint64_t first) {
  std::vector<BlockEntry> entries;
  for (uint64_t i = 0; i < kEntries; ++i) {
    entries.push_back({InternalKey(Key(first + 31 * i), PackTrailer(SequenceNumber(1000 + i), ValueKind::kPut)),
                       std::string(100, 'v')});
  }
  return entries;
}

struct Query {
  std::string key;
  uint64_t hash;
  int block;
};

struct Blocks {
  explicit Blocks(bool tags, uint64_t off_by) {
    Random random(1);
    for (int b = 0; b < kBlocks; ++b) blocks.emplace_back(BuildBlock(Entries(Start(b)), tags));
    for (int i = 0; i < 256; ++i) {
      const int b = static_cast<int>(random.Uniform(kBlocks));
      const std::string key = Key(Start(b) + 31 * random.Uniform(kEntries) + off_by);
      queries.push_back({key, TestHash(key), b});
    }
  }
  static uint64_t Start(int b) { return 1'000'000'000 + static_cast<uint64_t>(b) * 1024; }
  std::vector<PaddedBytes> blocks;
  std::vector<Query> queries;
};

void BlockFind(benchmark::State& state, bool tags, uint64_t off_by) {
  const Blocks fixture(tags, off_by);
  size_t i = 0;
  for (auto _ : state) {
    const Query& query = fixture.queries[i++ % 256];
    const BlockView view(fixture.blocks[static_cast<size_t>(query.block)].view());
    benchmark::DoNotOptimize(view.Find(query.key, query.hash, kMaxSequenceNumber, {}));
  }
}
BENCHMARK_CAPTURE(BlockFind, HitByTag, true, 0);
BENCHMARK_CAPTURE(BlockFind, MissByTag, true, 1);
BENCHMARK_CAPTURE(BlockFind, HitByOrder, false, 0);

void BlockLowerBound(benchmark::State& state) {
  const Blocks fixture(true, 1);
  size_t i = 0;
  for (auto _ : state) {
    const Query& query = fixture.queries[i++ % 256];
    const BlockView view(fixture.blocks[static_cast<size_t>(query.block)].view());
    benchmark::DoNotOptimize(view.LowerBound({query.key, kFirstTrailer}, {}));
  }
}
BENCHMARK(BlockLowerBound);

void BlockCursorNext(benchmark::State& state) {
  const PaddedBytes block(BuildBlock(Entries(1'000'000'000), true));
  BlockCursor cursor;
  cursor.Attach(block.view(), {});
  cursor.SeekToFirst();
  for (auto _ : state) {
    benchmark::DoNotOptimize(cursor.key());
    benchmark::DoNotOptimize(cursor.value());
    cursor.Next();
    if (!cursor.Valid()) cursor.SeekToFirst();
  }
}
BENCHMARK(BlockCursorNext);

void BlockBuildEntry(benchmark::State& state) {
  const std::vector<BlockEntry> entries = Entries(1'000'000'000);
  std::vector<uint64_t> hashes;
  for (const BlockEntry& entry : entries) hashes.push_back(TestHash(entry.key.user_key));
  BlockBuilder builder(true);
  size_t i = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(builder.SizeEstimateWith(entries[i].key.view(), entries[i].value));
    builder.Add(entries[i].key.view(), entries[i].value, hashes[i]);
    if (++i == entries.size()) {
      benchmark::DoNotOptimize(builder.Finish(false));
      builder.Reset();
      i = 0;
    }
  }
}
BENCHMARK(BlockBuildEntry);

void BlockValidateEntry(benchmark::State& state) {
  const PaddedBytes block(BuildBlock(Entries(1'000'000'000), true));
  std::string why;
  for (auto _ : state) benchmark::DoNotOptimize(BlockView::Validate(block.view(), {}, &why));
  state.SetItemsProcessed(state.iterations() * kEntries);
}
BENCHMARK(BlockValidateEntry);

void IndexPageFind(benchmark::State& state) {
  const auto blocks = static_cast<uint64_t>(state.range(0));
  IndexPageBuilder builder(0, {}, {});
  for (uint64_t b = 0; b < blocks; ++b) {
    builder.Add({Key(1'000'000'000 + b * 1024), false, 0}, {b * 4096, 4096 - kUnitTrailerBytes}, 33, 0, "");
  }
  const PaddedBytes page(builder.Finish(0));
  const IndexPageView view(page.view());
  Random random(2);
  std::vector<std::string> keys;
  for (int i = 0; i < 1024; ++i) keys.push_back(Key(1'000'000'000 + random.Uniform(blocks * 1024)));
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(view.Find({keys[i++ % 1024], kFirstTrailer}, {}));
}
BENCHMARK(IndexPageFind)->Arg(8)->Arg(64)->Arg(2048);

}  // namespace
}  // namespace sepal

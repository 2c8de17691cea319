// The memtable alone: inserts, lookups and iteration with keys of 16 and values of 100 bytes.
//
// Keys are a number in decimal, as db_bench writes it, or 8 mixed bytes and 8 zeros. The argument is the number of
// entries.
#include <cstdio>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "benchmark/benchmark.h"
#include "db/state/memtable/memtable.h"
#include "util/base/hash.h"
#include "util/base/random.h"

namespace sepal {
namespace {

constexpr uint64_t kSeed = 17;
constexpr size_t kEntryBytes = 116;
const std::string kValue(100, 'v');

struct Decimal {
  static std::string Key(uint64_t i) {
    char key[32];
    std::snprintf(key, sizeof key, "%016llu", static_cast<unsigned long long>(i));
    return key;
  }
};
struct Binary {
  static std::string Key(uint64_t i) {
    std::string key(16, '\0');
    const uint64_t mixed = Mix64(i + 1);
    key.replace(0, 8, reinterpret_cast<const char*>(&mixed), 8);
    return key;
  }
};

// A permutation of [0, n).
std::vector<uint64_t> Shuffled(uint64_t n) {
  std::vector<uint64_t> order(n);
  for (uint64_t i = 0; i < n; ++i) order[i] = i;
  Random random(n);
  for (uint64_t i = n; i > 1; --i) std::swap(order[i - 1], order[random.Uniform(i)]);
  return order;
}

template <class Keys>
std::string KeysInOrder(const std::vector<uint64_t>& order) {
  std::string keys;
  for (const uint64_t i : order) keys += Keys::Key(i);
  return keys;
}

std::unique_ptr<MemTable> Fill(std::string_view keys) {
  const size_t n = keys.size() / 16;
  auto table = std::make_unique<MemTable>(KeyOrder(), kSeed, n * 190, MemTable::Memory{});
  for (size_t i = 0; i < n; ++i) {
    const std::string_view key = keys.substr(i * 16, 16);
    table->Add(SequenceNumber(i + 1), ValueKind::kPut, key, kValue, HashKey(key, kSeed));
  }
  return table;
}

void CountEach(benchmark::State& state, uint64_t n) {
  state.counters["cpu_per_entry"] = benchmark::Counter(
      static_cast<double>(n), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void RunInsert(benchmark::State& state, std::string_view keys) {
  const auto n = static_cast<size_t>(state.range(0));
  for (auto _ : state) {
    std::unique_ptr<MemTable> table = Fill(keys);
    state.PauseTiming();
    state.counters["overhead_bytes"] =
        static_cast<double>(table->MemoryBytes()) / static_cast<double>(n) - static_cast<double>(kEntryBytes);
    table.reset();
    state.ResumeTiming();
  }
  CountEach(state, n);
}

template <class Keys>
void InsertRandom(benchmark::State& state) {
  RunInsert(state, KeysInOrder<Keys>(Shuffled(static_cast<uint64_t>(state.range(0)))));
}
void InsertSequential(benchmark::State& state) {
  std::string keys;
  for (int64_t i = 0; i < state.range(0); ++i) keys += Decimal::Key(static_cast<uint64_t>(i));
  RunInsert(state, keys);
}

template <class Keys>
void LookupPresent(benchmark::State& state) {
  const auto n = static_cast<uint64_t>(state.range(0));
  const auto table = Fill(KeysInOrder<Keys>(Shuffled(n)));
  Random random(3);
  std::vector<std::string> keys;
  for (int i = 0; i < 100000; ++i) keys.push_back(Keys::Key(random.Uniform(n)));
  size_t i = 0;
  for (auto _ : state) {
    const std::string& key = keys[i];
    i = i + 1 == keys.size() ? 0 : i + 1;
    const auto found = table->Lookup(key, HashKey(key, kSeed), kMaxSequenceNumber);
    benchmark::DoNotOptimize(found->value[0]);
  }
}

template <class Keys>
void LookupAbsent(benchmark::State& state) {
  const auto n = static_cast<uint64_t>(state.range(0));
  const auto table = Fill(KeysInOrder<Keys>(Shuffled(n)));
  Random random(3);
  std::vector<std::string> keys;
  for (int i = 0; i < 100000; ++i) keys.push_back(Keys::Key(n + random.Uniform(n)));
  size_t i = 0;
  for (auto _ : state) {
    const std::string& key = keys[i];
    i = i + 1 == keys.size() ? 0 : i + 1;
    benchmark::DoNotOptimize(table->Lookup(key, HashKey(key, kSeed), kMaxSequenceNumber));
  }
}

template <class Keys>
void Seek(benchmark::State& state) {
  const auto n = static_cast<uint64_t>(state.range(0));
  const auto table = Fill(KeysInOrder<Keys>(Shuffled(n)));
  const auto it = table->NewIterator();
  Random random(3);
  std::vector<std::string> keys;
  for (int i = 0; i < 100000; ++i) keys.push_back(Keys::Key(random.Uniform(n)));
  size_t i = 0;
  for (auto _ : state) {
    it->Seek({keys[i], kFirstTrailer});
    i = i + 1 == keys.size() ? 0 : i + 1;
    benchmark::DoNotOptimize(it->value()[0]);
  }
}

template <class Keys, bool kForward>
void Iterate(benchmark::State& state) {
  const auto n = static_cast<uint64_t>(state.range(0));
  const auto table = Fill(KeysInOrder<Keys>(Shuffled(n)));
  const auto it = table->NewIterator();
  for (auto _ : state) {
    if (!it->Valid()) kForward ? it->SeekToFirst() : it->SeekToLast();
    benchmark::DoNotOptimize(it->value()[0]);
    kForward ? it->Next() : it->Prev();
  }
}

// The part of a flush before it writes: every entry once, in order.
template <class Keys>
void DrainTree(benchmark::State& state) {
  const auto n = static_cast<uint64_t>(state.range(0));
  const auto table = Fill(KeysInOrder<Keys>(Shuffled(n)));
  for (auto _ : state) {
    const auto it = table->NewIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next()) benchmark::DoNotOptimize(it->value()[0]);
  }
  CountEach(state, n);
}

BENCHMARK(InsertRandom<Binary>)->Arg(500'000)->Arg(2'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(InsertRandom<Decimal>)->Arg(500'000)->Arg(2'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(InsertSequential)->Arg(500'000)->Arg(2'000'000)->Unit(benchmark::kMillisecond);
BENCHMARK(LookupPresent<Decimal>)->Arg(500'000)->Arg(2'000'000);
BENCHMARK(LookupAbsent<Decimal>)->Arg(500'000)->Arg(2'000'000);
BENCHMARK(Seek<Binary>)->Arg(500'000)->Arg(2'000'000);
BENCHMARK(Seek<Decimal>)->Arg(500'000)->Arg(2'000'000);
BENCHMARK(Iterate<Decimal, true>)->Arg(500'000)->Arg(2'000'000);
BENCHMARK(Iterate<Decimal, false>)->Arg(500'000)->Arg(2'000'000);
BENCHMARK(DrainTree<Decimal>)->Arg(500'000)->Arg(2'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sepal

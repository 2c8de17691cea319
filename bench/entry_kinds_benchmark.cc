// Merges, keys that expire and compaction filters: their costs beside plain puts, gets and compactions. Files lie in
// memory.
#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>

#include "absl/strings/str_format.h"
#include "sepal/compaction_filter.h"
#include "sepal/db.h"
#include "sepal/merge_operator.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/check.h"
#include "util/base/random.h"

namespace sepal {
namespace {

constexpr uint64_t kManyKeys = 1'000'000;

std::string KeyNumbered(uint64_t number) { return absl::StrFormat("key%016u", number); }

class KindsDatabase {
 public:
  explicit KindsDatabase(const ColumnFamilyOptions& family = {}, size_t memory = size_t{1} << 30) {
    Options options;
    options.create_if_missing = true;
    options.memory_limit = memory;
    options.env.file_system = &files_;
    options.family = family;
    db_ = DB::Open(options, "kinds").value();
  }

  DB& operator*() { return *db_; }
  DB* operator->() { return db_.get(); }

  void Fill(const WriteOptions& options = {}) {
    const std::string value(100, 'v');
    for (uint64_t i = 0; i < kManyKeys; ++i) SEPAL_CHECK(db_->Put(KeyNumbered(i), value, options).ok());
  }
  void Settle() {
    SEPAL_CHECK(db_->Flush().ok());
    SEPAL_CHECK(db_->WaitForBackgroundWork().ok());
  }

 private:
  MemoryFileSystem files_;
  std::unique_ptr<DB> db_;
};

// A counter among a million plain keys, to which `increments` were added; in memtables or, flushed, in tables.
void BM_GetOfACounter(benchmark::State& state) {
  KindsDatabase db({.merge_operator = MergeOperators::Add64()});
  db.Fill();
  const std::string key = KeyNumbered(kManyKeys / 2) + "c";
  const std::string one("\1\0\0\0\0\0\0\0", 8);
  SEPAL_CHECK(db->Put(key, one).ok());
  for (int64_t i = 0; i < state.range(0); ++i) SEPAL_CHECK(db->Merge(key, one).ok());
  if (state.range(1) != 0) db.Settle();
  PinnedValue value;
  for (auto _ : state) benchmark::DoNotOptimize(db->Get(key, value).ok());
}
BENCHMARK(BM_GetOfACounter)->ArgNames({"increments", "flushed"})->ArgsProduct({{0, 1'000'000}, {0, 1}});

// The first read of all, and those that follow.
void BM_GetOfAppends(benchmark::State& state) {
  KindsDatabase db({.merge_operator = MergeOperators::Append(",")});
  for (int64_t i = 0; i < state.range(0); ++i) SEPAL_CHECK(db->Merge("list", "item").ok());
  PinnedValue value;
  for (auto _ : state) SEPAL_CHECK(db->Get("list", value).ok());
  SEPAL_CHECK(value.value().size() == static_cast<size_t>(state.range(0)) * 5 - 1);
}
BENCHMARK(BM_GetOfAppends)->ArgName("appends")->Arg(50'000)->Iterations(20)->Unit(benchmark::kMillisecond);

void BM_CompactOperandsOfOneKey(benchmark::State& state) {
  for (auto _ : state) {
    state.PauseTiming();
    KindsDatabase db({.merge_operator = MergeOperators::Add64()}, size_t{64} << 20);
    const std::string one("\1\0\0\0\0\0\0\0", 8);
    for (int64_t i = 0; i < state.range(0); ++i) SEPAL_CHECK(db->Merge("counter", one).ok());
    state.ResumeTiming();
    SEPAL_CHECK(db->CompactRange().ok());
  }
}
BENCHMARK(BM_CompactOperandsOfOneKey)
    ->ArgName("operands")
    ->Arg(10'000'000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

void Puts(benchmark::State& state, const WriteOptions& options) {
  KindsDatabase db;
  const std::string value(100, 'v');
  Random random(1);
  for (auto _ : state) SEPAL_CHECK(db->Put(KeyNumbered(random.Uniform(kManyKeys)), value, options).ok());
}
void BM_PutOfWhatStays(benchmark::State& state) { Puts(state, {}); }
void BM_PutOfWhatExpires(benchmark::State& state) { Puts(state, {.ttl = std::chrono::hours(1)}); }
BENCHMARK(BM_PutOfWhatStays)->Iterations(2'000'000);
BENCHMARK(BM_PutOfWhatExpires)->Iterations(2'000'000);

// Gets of keys that are there, while of each two keys one expires in time, or has expired.
void Gets(benchmark::State& state, bool expiring, bool expired) {
  KindsDatabase db;
  const std::string value(100, 'v');
  const auto ttl = expired ? std::chrono::milliseconds(100) : std::chrono::milliseconds(3'600'000);
  for (uint64_t i = 0; i < kManyKeys; ++i) {
    const bool even = i % 2 == 0;
    SEPAL_CHECK(db->Put(KeyNumbered(i), value, even && expiring ? WriteOptions{.ttl = ttl} : WriteOptions{}).ok());
  }
  db.Settle();
  Random random(1);
  PinnedValue got;
  for (auto _ : state) benchmark::DoNotOptimize(db->Get(KeyNumbered(random.Uniform(kManyKeys / 2) * 2 + 1), got).ok());
}
BENCHMARK_CAPTURE(Gets, of_keys_that_stay, false, false)->Iterations(1'000'000);
BENCHMARK_CAPTURE(Gets, beside_keys_that_expire, true, false)->Iterations(1'000'000);
BENCHMARK_CAPTURE(Gets, beside_expired_keys, true, true)->Iterations(1'000'000);

class KeepEverything final : public PureFilter {
 public:
  std::string_view Name() const override { return "keep everything"; }
  bool Keep(std::string_view, std::string_view, std::string_view) const override { return true; }
};

// A million keys in two versions, in order of keys and at random.
void Compactions(benchmark::State& state, const ColumnFamilyOptions& family) {
  const std::string value(100, 'v');
  for (auto _ : state) {
    state.PauseTiming();
    KindsDatabase db(family);
    if (family.compaction_filter != nullptr) SEPAL_CHECK(db->SetFilterEpoch(db->DefaultColumnFamily(), "1").ok());
    db.Fill();
    db.Settle();
    Random random(1);
    for (uint64_t i = 0; i < kManyKeys; ++i) SEPAL_CHECK(db->Put(KeyNumbered(random.Uniform(kManyKeys)), value).ok());
    SEPAL_CHECK(db->Flush().ok());
    state.ResumeTiming();
    SEPAL_CHECK(db->CompactRange().ok());
  }
}
BENCHMARK_CAPTURE(Compactions, without_a_filter, {})
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime();
BENCHMARK_CAPTURE(Compactions, with_one_that_keeps_everything,
                  {.compaction_filter = std::make_shared<KeepEverything>()})
    ->Iterations(5)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime();

}  // namespace
}  // namespace sepal

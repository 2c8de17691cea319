// The cost of many column families, most of them idle: a search for due work, during which the database mutex is held,
// and a fill whose memtables are flushed in groups. Files lie in memory.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "sepal/db.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/check.h"
#include "util/base/random.h"

namespace sepal {
namespace {

class ManyFamilies {
 public:
  ManyFamilies(int64_t count, size_t memtable_bytes) {
    Options options;
    options.create_if_missing = true;
    options.memtable_bytes = memtable_bytes;
    options.env.file_system = &files_;
    db_ = DB::Open(options, "many").value();
    for (int64_t i = 0; i < count; ++i) {
      families_.push_back(db_->CreateColumnFamily(absl::StrFormat("family%d", i), {}).value());
    }
  }

  DB* db() { return db_.get(); }
  const ColumnFamily& family(size_t i) const { return *families_[i]; }
  size_t size() const { return families_.size(); }
  void PutInEach(std::string_view value) {
    for (const auto& family : families_) SEPAL_CHECK(db_->Put(*family, "key", value).ok());
  }
  void FlushEach() {
    for (const auto& family : families_) SEPAL_CHECK(db_->Flush(*family).ok());
  }

 private:
  MemoryFileSystem files_;
  std::unique_ptr<DB> db_;
  std::vector<std::shared_ptr<ColumnFamily>> families_;
};

// Each family has one table of level 0, and active ones have entries in memory.
void LookOften(benchmark::State& state, bool written) {
  ManyFamilies families(state.range(0), size_t{64} << 20);
  families.PutInEach("before");
  families.FlushEach();
  if (written) families.PutInEach("now");
  SEPAL_CHECK(families.db()->WaitForBackgroundWork().ok());
  for (auto _ : state) SEPAL_CHECK(families.db()->WaitForBackgroundWork().ok());
}

// WaitForBackgroundWork is one search, without a wait.
void BM_LookWhileWritten(benchmark::State& state) { LookOften(state, true); }
BENCHMARK(BM_LookWhileWritten)->Arg(1)->Arg(1000)->Unit(benchmark::kMicrosecond);

void BM_LookAtRest(benchmark::State& state) { LookOften(state, false); }
BENCHMARK(BM_LookAtRest)->Arg(1)->Arg(1000)->Unit(benchmark::kMicrosecond);

// A small write and a flush of one family, beside all the others, which hold on to the logs that this makes: the number
// of iterations counts.
void BM_FlushOne(benchmark::State& state) {
  ManyFamilies families(state.range(0), size_t{64} << 20);
  families.PutInEach("before");
  families.FlushEach();
  families.PutInEach("now");
  Random random(1);
  for (auto _ : state) {
    const ColumnFamily& family = families.family(random.Uniform(families.size()));
    SEPAL_CHECK(families.db()->Put(family, "key", "again").ok());
    SEPAL_CHECK(families.db()->Flush(family).ok());
  }
}
BENCHMARK(BM_FlushOne)->Arg(1)->Arg(1000)->Iterations(650)->Unit(benchmark::kMicrosecond)->MeasureProcessCPUTime();

// Puts of 100 bytes with random keys in random families, and how long the slowest of each ten thousand took.
void BM_FillFamilies(benchmark::State& state) {
  constexpr uint64_t kPuts = 1'000'000;
  const std::string value(100, 'v');
  std::vector<double> micros;
  for (auto _ : state) {
    ManyFamilies families(state.range(0), size_t{16} << 20);
    Random random(1);
    for (uint64_t i = 0; i < kPuts; ++i) {
      const ColumnFamily& family = families.family(random.Uniform(families.size()));
      const std::string key = absl::StrFormat("key%013d", random.Uniform(kPuts));
      const auto began = std::chrono::steady_clock::now();
      SEPAL_CHECK(families.db()->Put(family, key, value).ok());
      micros.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count());
    }
    SEPAL_CHECK(families.db()->WaitForBackgroundWork().ok());
  }
  std::sort(micros.begin(), micros.end());
  state.counters["p99.99_us"] = micros[micros.size() - micros.size() / 10'000];
  state.counters["max_us"] = micros.back();
}
BENCHMARK(BM_FillFamilies)
    ->Arg(1)
    ->Arg(1000)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond)
    ->MeasureProcessCPUTime()
    ->UseRealTime();

}  // namespace
}  // namespace sepal

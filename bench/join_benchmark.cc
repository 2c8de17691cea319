// A join by filter: reads of 10,000,000 rows of which one of a hundred is wanted, with a filter of the wanted keys and
// without; and what a filter costs that leaves out nothing. Files lie in memory.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "sepal/db.h"
#include "sepal/key_filter.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/check.h"

namespace sepal {
namespace {

constexpr uint64_t kRows = 10'000'000;
constexpr uint64_t kWantedOneIn = 100;

std::string RowKey(uint64_t number) { return absl::StrFormat("%016u", number * 2'654'435'761 % kRows); }

// The rows, and filters of one key of a hundred and of all.
struct Rows {
  Rows() {
    Options options;
    options.create_if_missing = true;
    options.memory_limit = size_t{4} << 30;
    options.env.file_system = &files;
    db = DB::Open(options, "rows").value();
    std::string value(100, 'v');
    for (uint64_t i = 0; i < kRows; ++i) {
      value.replace(0, 8, absl::StrFormat("%08u", i));
      SEPAL_CHECK(db->Put(RowKey(i), value).ok());
    }
    SEPAL_CHECK(db->CompactRange().ok());
    auto few = filters::BloomFilter::ForKeys(kRows / kWantedOneIn, 0.001).value();
    for (uint64_t i = 0; i < kRows; i += kWantedOneIn) few.Add(RowKey(i));
    wanted = std::make_unique<filters::BloomFilter>(std::move(few));
    all = std::make_unique<filters::BloomFilter>(db->ExportFilter({.false_positive_rate = 0.001}).value());
  }
  MemoryFileSystem files;
  std::unique_ptr<DB> db;
  std::unique_ptr<filters::BloomFilter> wanted, all;
};

Rows& TheRows() {
  static Rows* const rows = new Rows();
  return *rows;
}

enum class Asked : uint8_t { kNothing, kWanted, kAll };

std::unique_ptr<const KeyFilter> FilterFor(Asked asked) {
  if (asked == Asked::kNothing) return nullptr;
  const Rows& rows = TheRows();
  return std::make_unique<KeyFilterOf<filters::BloomFilter>>(asked == Asked::kWanted ? *rows.wanted : *rows.all);
}

void BM_JoinByScan(benchmark::State& state, Asked asked) {
  const std::unique_ptr<const KeyFilter> filter = FilterFor(asked);
  DB* const db = TheRows().db.get();
  uint64_t shown = 0;
  for (auto _ : state) {
    const std::unique_ptr<Iterator> it = db->NewIterator({.key_filter = filter.get()});
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      std::string value(it->value());
      benchmark::DoNotOptimize(value.data());
      ++shown;
    }
    SEPAL_CHECK(it->status().ok());
  }
  state.counters["shown"] = static_cast<double>(shown) / static_cast<double>(state.iterations());
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRows));
}
BENCHMARK_CAPTURE(BM_JoinByScan, reading_all_values, Asked::kNothing)->Iterations(2)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_JoinByScan, filter_of_one_percent, Asked::kWanted)->Iterations(2)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_JoinByScan, filter_of_all, Asked::kAll)->Iterations(2)->Unit(benchmark::kMillisecond);

void BM_JoinByMultiGet(benchmark::State& state, Asked asked) {
  constexpr uint64_t kGroup = 1000;
  const std::unique_ptr<const KeyFilter> filter = FilterFor(asked);
  DB* const db = TheRows().db.get();
  std::vector<std::string> names(kGroup);
  std::vector<std::string_view> keys(kGroup);
  std::vector<PinnedValue> values(kGroup);
  std::vector<absl::Status> statuses(kGroup);
  uint64_t shown = 0;
  for (auto _ : state) {
    for (uint64_t begin = 0; begin < kRows; begin += kGroup) {
      state.PauseTiming();
      for (uint64_t i = 0; i < kGroup; ++i) keys[i] = names[i] = RowKey(begin + i);
      state.ResumeTiming();
      SEPAL_CHECK(db->MultiGet(keys, values, statuses, {.key_filter = filter.get()}).ok());
      for (const absl::Status& status : statuses) shown += status.ok() ? 1 : 0;
    }
  }
  state.counters["shown"] = static_cast<double>(shown) / static_cast<double>(state.iterations());
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kRows));
}
BENCHMARK_CAPTURE(BM_JoinByMultiGet, reading_all_values, Asked::kNothing)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_JoinByMultiGet, filter_of_one_percent, Asked::kWanted)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_JoinByMultiGet, filter_of_all, Asked::kAll)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sepal

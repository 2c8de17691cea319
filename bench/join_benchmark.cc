// A join by filter: reads of rows, one of a hundred of which is wanted, with a filter of the wanted keys and without;
// and the cost of a filter that excludes nothing. Files lie in memory; blocks are in the cache, or read from these
// files.
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

constexpr uint64_t kWantedOneIn = 100;

struct Shape {
  uint64_t rows;
  size_t value_bytes;
  bool cached;
  friend bool operator==(const Shape&, const Shape&) = default;
};
constexpr Shape kTenMillion{10'000'000, 100, true};
constexpr Shape kKibibytes{1'000'000, 1024, true};
constexpr Shape kPages{250'000, 4096, true};

// The rows, and filters of one key of a hundred and of all.
struct Rows {
  explicit Rows(const Shape& of) : shape(of) {
    Options options;
    options.create_if_missing = true;
    options.memory_limit = size_t{shape.cached ? 4096U : 64U} << 20;
    options.env.file_system = &files;
    db = DB::Open(options, "rows").value();
    std::string value(shape.value_bytes, 'v');
    for (uint64_t i = 0; i < shape.rows; ++i) {
      value.replace(0, 8, absl::StrFormat("%08u", i));
      SEPAL_CHECK(db->Put(Key(i), value).ok());
    }
    SEPAL_CHECK(db->CompactRange().ok());
    auto few = filters::BloomFilter::ForKeys(shape.rows / kWantedOneIn, 0.001).value();
    for (uint64_t i = 0; i < shape.rows; i += kWantedOneIn) few.Add(Key(i));
    wanted = std::make_unique<filters::BloomFilter>(std::move(few));
    all = std::make_unique<filters::BloomFilter>(db->ExportFilter({.false_positive_rate = 0.001}).value());
  }
  std::string Key(uint64_t number) const { return absl::StrFormat("%016u", number * 2'654'435'761 % shape.rows); }

  const Shape shape;
  MemoryFileSystem files;
  std::unique_ptr<DB> db;
  std::unique_ptr<filters::BloomFilter> wanted, all;
};

// Those of the benchmarks before are let go.
Rows& TheRows(const Shape& shape) {
  static std::unique_ptr<Rows> rows;
  if (rows == nullptr || !(rows->shape == shape)) {
    rows.reset();
    rows = std::make_unique<Rows>(shape);
  }
  return *rows;
}

enum class Asked : uint8_t { kNothing, kWanted, kAll };

std::unique_ptr<const KeyFilter> FilterFor(const Rows& rows, Asked asked) {
  if (asked == Asked::kNothing) return nullptr;
  return std::make_unique<KeyFilterOf<filters::BloomFilter>>(asked == Asked::kWanted ? *rows.wanted : *rows.all);
}

void BM_JoinByScan(benchmark::State& state, const Shape& shape, Asked asked) {
  const Rows& rows = TheRows(shape);
  const std::unique_ptr<const KeyFilter> filter = FilterFor(rows, asked);
  uint64_t shown = 0;
  for (auto _ : state) {
    const std::unique_ptr<Iterator> it = rows.db->NewIterator({.key_filter = filter.get()});
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
      std::string value(it->value());
      benchmark::DoNotOptimize(value.data());
      ++shown;
    }
    SEPAL_CHECK(it->status().ok());
  }
  state.counters["shown"] = static_cast<double>(shown) / static_cast<double>(state.iterations());
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * shape.rows));
}
#define JOIN_BY_SCAN(name, shape)                                                       \
  BENCHMARK_CAPTURE(BM_JoinByScan, name##_all_values, shape, Asked::kNothing)           \
      ->Iterations(2)                                                                   \
      ->Unit(benchmark::kMillisecond);                                                  \
  BENCHMARK_CAPTURE(BM_JoinByScan, name##_filter_of_one_percent, shape, Asked::kWanted) \
      ->Iterations(2)                                                                   \
      ->Unit(benchmark::kMillisecond);                                                  \
  BENCHMARK_CAPTURE(BM_JoinByScan, name##_filter_of_all, shape, Asked::kAll)            \
      ->Iterations(2)                                                                   \
      ->Unit(benchmark::kMillisecond)
JOIN_BY_SCAN(rows_of_100, kTenMillion);
JOIN_BY_SCAN(rows_of_1KiB, kKibibytes);
JOIN_BY_SCAN(rows_of_4KiB, kPages);
JOIN_BY_SCAN(rows_of_100_read, (Shape{10'000'000, 100, false}));
JOIN_BY_SCAN(rows_of_1KiB_read, (Shape{1'000'000, 1024, false}));
#undef JOIN_BY_SCAN

void BM_JoinByMultiGet(benchmark::State& state, Asked asked) {
  constexpr uint64_t kGroup = 1000;
  const Rows& rows = TheRows(kTenMillion);
  const std::unique_ptr<const KeyFilter> filter = FilterFor(rows, asked);
  std::vector<std::string> names(kGroup);
  std::vector<std::string_view> keys(kGroup);
  std::vector<PinnedValue> values(kGroup);
  std::vector<absl::Status> statuses(kGroup);
  uint64_t shown = 0;
  for (auto _ : state) {
    for (uint64_t begin = 0; begin < rows.shape.rows; begin += kGroup) {
      state.PauseTiming();
      for (uint64_t i = 0; i < kGroup; ++i) keys[i] = names[i] = rows.Key(begin + i);
      state.ResumeTiming();
      SEPAL_CHECK(rows.db->MultiGet(keys, values, statuses, {.key_filter = filter.get()}).ok());
      for (const absl::Status& status : statuses) shown += status.ok() ? 1 : 0;
    }
  }
  state.counters["shown"] = static_cast<double>(shown) / static_cast<double>(state.iterations());
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * rows.shape.rows));
}
BENCHMARK_CAPTURE(BM_JoinByMultiGet, reading_all_values, Asked::kNothing)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_JoinByMultiGet, filter_of_one_percent, Asked::kWanted)
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_JoinByMultiGet, filter_of_all, Asked::kAll)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sepal

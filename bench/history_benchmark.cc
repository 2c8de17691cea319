// The cost of a history for reads: a get as of now in a family with a history beside one without, and gets as of past
// moments. Each of 100,000 keys, or a single key, is overwritten `versions` - 1 times, and the history keeps all
// versions.
#include <benchmark/benchmark.h>

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

constexpr uint64_t kHistoryKeys = 100'000;

class Past {
 public:
  enum class Where : uint8_t { kInMemory, kCompacted };
  Past(bool history, int64_t versions, uint64_t keys = kHistoryKeys, Where where = Where::kCompacted) : keys_(keys) {
    Options options{.create_if_missing = true};
    options.env.file_system = &files_;
    options.family.history = history ? std::chrono::hours(24) : std::chrono::hours(0);
    db_ = DB::Open(options, "past").value();
    const std::string value(100, 'v');
    for (int64_t i = 0; i < versions; ++i) {
      for (uint64_t key = 0; key < keys; ++key) SEPAL_CHECK(db_->Put(Key(key), value).ok());
      moments_.push_back(db_->GetSnapshot()->sequence());
      times_.push_back(std::chrono::system_clock::now());
    }
    if (where == Where::kCompacted) SEPAL_CHECK(db_->CompactRange().ok());
  }
  static std::string Key(uint64_t key) { return absl::StrFormat("key%012d", key); }
  DB* db() { return db_.get(); }
  uint64_t keys() const { return keys_; }
  uint64_t moment() const { return moments_[moments_.size() / 2]; }
  std::chrono::system_clock::time_point time() const { return times_[times_.size() / 2]; }

 private:
  const uint64_t keys_;
  MemoryFileSystem files_;
  std::unique_ptr<DB> db_;
  std::vector<uint64_t> moments_;
  std::vector<std::chrono::system_clock::time_point> times_;
};

void Read(benchmark::State& state, Past* past, const ReadOptions& options) {
  Random random(1);
  PinnedValue value;
  for (auto _ : state) {
    const absl::Status status = past->db()->Get(Past::Key(random.Uniform(past->keys())), value, options);
    benchmark::DoNotOptimize(status.ok());
  }
}

void GetWithoutHistory(benchmark::State& state) {
  Past past(false, state.range(0));
  Read(state, &past, kDefaultReadOptions);
}
void GetWithHistory(benchmark::State& state) {
  Past past(true, state.range(0));
  Read(state, &past, kDefaultReadOptions);
}
void GetAsOfSequence(benchmark::State& state) {
  Past past(true, state.range(0));
  Read(state, &past, {.as_of_sequence = past.moment()});
}
void GetAsOfTime(benchmark::State& state) {
  Past past(true, state.range(0));
  Read(state, &past, {.as_of_time = past.time()});
}

// A counter that is updated a thousand times a second has a million versions after a quarter of an hour.
void GetOfOneKeyWithoutHistory(benchmark::State& state) {
  Past past(false, state.range(0), 1);
  Read(state, &past, kDefaultReadOptions);
}
void GetOfOneKeyWithHistory(benchmark::State& state) {
  Past past(true, state.range(0), 1);
  Read(state, &past, kDefaultReadOptions);
}
void GetOfOneKeyAsOfTime(benchmark::State& state) {
  Past past(true, state.range(0), 1);
  Read(state, &past, {.as_of_time = past.time()});
}

// A quarter of a million versions, of 100 bytes, are less than a memtable holds.
void GetOfOneKeyInMemory(benchmark::State& state, bool history, bool past) {
  Past database(history, state.range(0), 1, Past::Where::kInMemory);
  Read(state, &database, past ? ReadOptions{.as_of_time = database.time()} : kDefaultReadOptions);
}
BENCHMARK_CAPTURE(GetOfOneKeyInMemory, without_history, false, false)->Arg(250'000);
BENCHMARK_CAPTURE(GetOfOneKeyInMemory, with_history, true, false)->Arg(250'000);
BENCHMARK_CAPTURE(GetOfOneKeyInMemory, as_of_time, true, true)->Arg(250'000);

BENCHMARK(GetOfOneKeyWithoutHistory)->Arg(1)->Arg(1'000'000);
BENCHMARK(GetOfOneKeyWithHistory)->Arg(1'000'000);
BENCHMARK(GetOfOneKeyAsOfTime)->Arg(1'000'000);

// 1: nothing was overwritten.
BENCHMARK(GetWithoutHistory)->Arg(1)->Arg(4);
BENCHMARK(GetWithHistory)->Arg(1)->Arg(4);
BENCHMARK(GetAsOfSequence)->Arg(1)->Arg(4);
BENCHMARK(GetAsOfTime)->Arg(1)->Arg(4);

}  // namespace
}  // namespace sepal

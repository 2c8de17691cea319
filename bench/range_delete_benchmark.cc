// Range deletes: their rate, and their cost for gets and seeks. Files lie in memory.
#include <benchmark/benchmark.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/strings/str_format.h"
#include "sepal/db.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/check.h"
#include "util/base/random.h"

namespace sepal {
namespace {

constexpr uint64_t kKeys = 1'000'000;

std::string KeyOf(uint64_t number) { return absl::StrFormat("key%016u", number); }

// A million keys in the last level.
class RangeDatabase {
 public:
  RangeDatabase() {
    Options options;
    options.create_if_missing = true;
    options.memory_limit = size_t{1} << 30;
    options.env.file_system = &files_;
    db_ = DB::Open(options, "ranges").value();
    const std::string value(100, 'v');
    for (uint64_t i = 0; i < kKeys; ++i) SEPAL_CHECK(db_->Put(KeyOf(i), value).ok());
    SEPAL_CHECK(db_->CompactRange().ok());
  }
  DB* db() { return db_.get(); }
  // Of no key, between two.
  void DeleteBetween(uint64_t key) { SEPAL_CHECK(db_->DeleteRange(KeyOf(key) + "a", KeyOf(key) + "b").ok()); }
  void DeleteMany(uint64_t count) {
    Random random(1);
    for (uint64_t i = 0; i < count; ++i) DeleteBetween(random.Uniform(kKeys));
  }

 private:
  MemoryFileSystem files_;
  std::unique_ptr<DB> db_;
};

void BM_DeleteRange(benchmark::State& state) {
  RangeDatabase database;
  Random random(1);
  for (auto _ : state) database.DeleteBetween(random.Uniform(kKeys));
}
BENCHMARK(BM_DeleteRange)->Iterations(1'000'000);

void BM_GetBesideRangeTombstones(benchmark::State& state, bool flushed) {
  RangeDatabase database;
  database.DeleteMany(static_cast<uint64_t>(state.range(0)));
  if (flushed) SEPAL_CHECK(database.db()->Flush().ok() && database.db()->WaitForBackgroundWork().ok());
  Random random(2);
  PinnedValue value;
  for (auto _ : state) SEPAL_CHECK(database.db()->Get(KeyOf(random.Uniform(kKeys)), value).ok());
}
BENCHMARK_CAPTURE(BM_GetBesideRangeTombstones, in_memtables, false)
    ->Arg(0)
    ->Arg(1000)
    ->Arg(100'000)
    ->Arg(1'000'000)
    ->Iterations(500'000);
BENCHMARK_CAPTURE(BM_GetBesideRangeTombstones, in_tables, true)
    ->Arg(1000)
    ->Arg(100'000)
    ->Arg(1'000'000)
    ->Iterations(500'000);

// Of keys that were never there, or that lie in one deleted range of half of all keys.
void BM_GetAbsent(benchmark::State& state, bool deleted) {
  RangeDatabase database;
  if (deleted) SEPAL_CHECK(database.db()->DeleteRange(KeyOf(kKeys / 4), KeyOf(kKeys / 4 * 3)).ok());
  Random random(3);
  PinnedValue value;
  for (auto _ : state) {
    const std::string key = KeyOf(kKeys / 4 + random.Uniform(kKeys / 2));
    SEPAL_CHECK(absl::IsNotFound(database.db()->Get(deleted ? key : key + "x", value)));
  }
}
BENCHMARK_CAPTURE(BM_GetAbsent, never_there, false)->Iterations(500'000);
BENCHMARK_CAPTURE(BM_GetAbsent, in_a_deleted_range, true)->Iterations(500'000);

// A new iterator, a seek to before the range, and ten steps across it.
void BM_SeekAcrossHalfOfTheKeys(benchmark::State& state, bool deleted) {
  RangeDatabase database;
  if (deleted) SEPAL_CHECK(database.db()->DeleteRange(KeyOf(kKeys / 4), KeyOf(kKeys / 4 * 3)).ok());
  for (auto _ : state) {
    const std::unique_ptr<Iterator> it = database.db()->NewIterator();
    it->Seek(KeyOf(kKeys / 4 - 5));
    for (int i = 0; i < 10; ++i) it->Next();
    SEPAL_CHECK(it->Valid());
  }
}
BENCHMARK_CAPTURE(BM_SeekAcrossHalfOfTheKeys, there, false)->Iterations(20'000);
BENCHMARK_CAPTURE(BM_SeekAcrossHalfOfTheKeys, deleted, true)->Iterations(20'000);

}  // namespace
}  // namespace sepal

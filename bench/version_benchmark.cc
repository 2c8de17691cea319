// The cost of a change of the tables: an edit of a version of very many tables, and the search for the table of a key.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/state/version/version.h"
#include "db/state/version/version_builder.h"
#include "util/base/check.h"
#include "util/base/random.h"

namespace sepal {
namespace {

constexpr int kLastLevel = kMaxLevels - 1;
constexpr size_t kSwapped = 10;

std::string KeyAt(uint64_t place) { return absl::StrFormat("key%013d", place); }

AddedTable TableAt(uint64_t place, uint64_t number, int level, RunNumber run, SequenceNumber sequence) {
  AddedTable added;
  added.level = level;
  TableMetadata& t = added.table;
  t.number = FileNumber(number);
  t.run = run;
  t.size_bytes = 1 << 20;
  t.smallest = InternalKey(KeyAt(place * 100), PackTrailer(sequence, ValueKind::kPut));
  t.largest = InternalKey(KeyAt(place * 100 + 99), PackTrailer(sequence, ValueKind::kPut));
  t.lowest_sequence = t.highest_sequence = sequence;
  t.entries = 100;
  return added;
}

TableRef Make(TableMetadata metadata) { return std::make_shared<const TableFile>(std::move(metadata), nullptr); }

VersionRef Edited(const VersionRef& base, const VersionEdit& edit) {
  VersionBuilder builder(base, Make);
  SEPAL_CHECK(builder.Apply(ColumnFamilyId(0), edit).ok());
  return builder.Build().value();
}

// One run in the last level. Neighbours have numbers as compactions give them: those of one batch are near each other.
VersionRef OfTables(uint64_t count, std::vector<uint64_t>* numbers) {
  VersionEdit edit;
  for (uint64_t i = 0; i < count; ++i) {
    numbers->push_back((i / kSwapped * 7919 % (count / kSwapped + 1)) * kSwapped + i % kSwapped + 1);
    edit.added_tables.push_back(TableAt(i, numbers->back(), kLastLevel, RunNumber(1), SequenceNumber(9)));
  }
  return Edited(std::make_shared<const Version>(KeyOrder()), edit);
}

// A version of that run, as an opening builds it.
void BM_BuildVersion(benchmark::State& state) {
  for (auto _ : state) {
    std::vector<uint64_t> numbers;
    benchmark::DoNotOptimize(OfTables(static_cast<uint64_t>(state.range(0)), &numbers));
  }
}
BENCHMARK(BM_BuildVersion)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

// Ten neighbouring tables of the run are replaced by ten others; the time includes the destruction of the old version.
void BM_EditLastLevel(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  std::vector<uint64_t> numbers;
  VersionRef version = OfTables(count, &numbers);
  uint64_t next = count * 2;
  Random random(1);
  for (auto _ : state) {
    state.PauseTiming();
    VersionEdit edit;
    const uint64_t first = random.Uniform(count - kSwapped);
    for (uint64_t i = first; i < first + kSwapped; ++i) {
      edit.removed_tables.push_back({ColumnFamilyId(0), kLastLevel, FileNumber(numbers[i])});
      numbers[i] = next++;
      edit.added_tables.push_back(TableAt(i, numbers[i], kLastLevel, RunNumber(1), SequenceNumber(9)));
    }
    state.ResumeTiming();
    version = Edited(version, edit);
  }
}
BENCHMARK(BM_EditLastLevel)->RangeMultiplier(10)->Range(1000, 1'000'000)->Unit(benchmark::kMicrosecond);

// A flush beside that run. The base stays the same.
void BM_EditLevelZero(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  std::vector<uint64_t> numbers;
  const VersionRef base = OfTables(count, &numbers);
  VersionEdit edit;
  edit.added_tables.push_back(TableAt(count / 2, count * 2, 0, RunNumber(2), SequenceNumber(10)));
  for (auto _ : state) benchmark::DoNotOptimize(Edited(base, edit));
}
BENCHMARK(BM_EditLevelZero)->RangeMultiplier(10)->Range(1000, 1'000'000)->Unit(benchmark::kMicrosecond);

void BM_FindTableInRun(benchmark::State& state) {
  const auto count = static_cast<uint64_t>(state.range(0));
  std::vector<uint64_t> numbers;
  const VersionRef version = OfTables(count, &numbers);
  const Run& run = *version->level(kLastLevel).front();
  Random random(1);
  std::vector<std::string> keys(4096);
  for (std::string& key : keys) key = KeyAt(random.Uniform(count * 100));
  size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(run.Find(keys[i++ % keys.size()]));
}
BENCHMARK(BM_FindTableInRun)->Arg(1)->Arg(16)->Arg(100)->Arg(1000)->Arg(100'000)->Arg(1'000'000);

}  // namespace
}  // namespace sepal

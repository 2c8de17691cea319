// The cost of choosing the next compaction in a tree of very many tables, a tenth of which form one run of level 1, and
// the others one run of level 2. The database mutex is held most of that time.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/decide/compaction/compaction_picker.h"
#include "db/decide/compaction/live_bytes.h"
#include "db/state/version/version_builder.h"
#include "util/base/check.h"
#include "util/base/hash.h"
#include "util/base/random.h"

namespace sepal {
namespace {

constexpr uint64_t kEntries = 100;
constexpr uint64_t kBytes = 1 << 20;
constexpr RunNumber kUpper(2);
constexpr RunNumber kLower(1);

std::string KeyAt(uint64_t place) { return absl::StrFormat("key%013d", place); }

// The table of the keys [first, first + width).
TableMetadata TableAt(uint64_t number, RunNumber run, uint64_t first, uint64_t width) {
  TableMetadata t;
  t.number = FileNumber(number);
  t.run = run;
  t.size_bytes = kBytes;
  t.lowest_sequence = t.highest_sequence = SequenceNumber(run.value());
  t.smallest = InternalKey(KeyAt(first), PackTrailer(t.lowest_sequence, ValueKind::kPut));
  t.largest = InternalKey(KeyAt(first + width - 1), PackTrailer(t.lowest_sequence, ValueKind::kPut));
  t.entries = kEntries;
  HyperLogLog sketch;
  for (uint64_t i = 0; i < kEntries; ++i) sketch.Add(HashKey(KeyAt(first + i * width / kEntries), 0));
  t.key_sketch = std::make_shared<const HyperLogLog>(sketch);
  return t;
}

VersionRef Edited(const VersionRef& base, const VersionEdit& edit) {
  VersionBuilder builder(
      base, [](TableMetadata metadata) { return std::make_shared<const TableFile>(std::move(metadata), nullptr); });
  SEPAL_CHECK(builder.Apply(ColumnFamilyId(0), edit).ok());
  return builder.Build().value();
}

// Of `count` tables in all. Those of the upper run are as wide as nine of the others.
VersionRef TreeOf(uint64_t count) {
  VersionEdit edit;
  const uint64_t upper = count / 10;
  for (uint64_t i = 0; i < count - upper; ++i) {
    edit.added_tables.push_back({ColumnFamilyId(0), 2, TableAt(i + 1, kLower, i * kEntries, kEntries)});
  }
  for (uint64_t i = 0; i < upper; ++i) {
    const uint64_t first = i * 9 * kEntries + kEntries / 2;
    edit.added_tables.push_back({ColumnFamilyId(0), 1, TableAt(count + i, kUpper, first, 9 * kEntries)});
  }
  return Edited(std::make_shared<const Version>(KeyOrder()), edit);
}

// Nothing is due.
CompactionPolicy CalmPolicy(CompactionStyle style) {
  CompactionPolicy policy;
  policy.style = style;
  policy.memtable_bytes = uint64_t{1} << 40;
  return policy;
}

void PickOften(benchmark::State& state, const PickerInput& input, bool due) {
  SEPAL_CHECK(PickCompaction(input).nothing() != due);
  for (auto _ : state) benchmark::DoNotOptimize(PickCompaction(input));
}

void BM_EstimateLiveBytes(benchmark::State& state) {
  const VersionRef version = TreeOf(static_cast<uint64_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(EstimatedLiveBytes(*version));
}
BENCHMARK(BM_EstimateLiveBytes)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

template <CompactionStyle kStyle>
void BM_PickNothing(benchmark::State& state) {
  const VersionRef version = TreeOf(static_cast<uint64_t>(state.range(0)));
  PickOften(state, {.version = version.get(), .policy = CalmPolicy(kStyle), .oldest_snapshot = SequenceNumber(9)},
            false);
}
BENCHMARK(BM_PickNothing<CompactionStyle::kLazyLeveling>)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PickNothing<CompactionStyle::kLeveled>)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_PickNothing<CompactionStyle::kUniversal>)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

// Level 1 of leveled is over its target.
void BM_PickOneTable(benchmark::State& state) {
  const VersionRef version = TreeOf(static_cast<uint64_t>(state.range(0)));
  CompactionPolicy policy = CalmPolicy(CompactionStyle::kLeveled);
  policy.memtable_bytes = 1;
  PickOften(state, {.version = version.get(), .policy = policy, .oldest_snapshot = SequenceNumber(9)}, true);
}
BENCHMARK(BM_PickOneTable)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

// Beside a merge that holds all tables.
void BM_PickBesideAMerge(benchmark::State& state) {
  const VersionRef version = TreeOf(static_cast<uint64_t>(state.range(0)));
  CompactionPlan plan;
  plan.kind = CompactionPlan::Kind::kRewrite;
  for (const LevelRun& r : version->runs()) {
    plan.inputs.push_back({r.level, r.run->number(), r.run->tables().ToVector()});
  }
  plan.output_level = 2;
  plan.output_run = kLower;
  plan.largest_user_key = "z";
  const CompactionPlan* const running[] = {&plan};
  PickOften(state,
            {.version = version.get(),
             .policy = CalmPolicy(CompactionStyle::kLazyLeveling),
             .running = running,
             .oldest_snapshot = SequenceNumber(9)},
            false);
}
BENCHMARK(BM_PickBesideAMerge)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

// The cost of the edit: ten neighbouring tables of the lower run are replaced by ten others, whose sketches are known.
void BM_EditSketchedRun(benchmark::State& state) {
  constexpr uint64_t kSwapped = 10;
  const auto count = static_cast<uint64_t>(state.range(0));
  VersionRef version = TreeOf(count);
  const uint64_t lower = version->level(2).front()->size();
  uint64_t next = count * 2;
  Random random(1);
  for (auto _ : state) {
    state.PauseTiming();
    VersionEdit edit;
    const uint64_t first = random.Uniform(lower - kSwapped);
    for (uint64_t i = first; i < first + kSwapped; ++i) {
      const FileNumber gone = version->level(2).front()->table(i)->number();
      edit.removed_tables.push_back({ColumnFamilyId(0), 2, gone});
      edit.added_tables.push_back({ColumnFamilyId(0), 2, TableAt(next++, kLower, i * kEntries, kEntries)});
    }
    state.ResumeTiming();
    version = Edited(version, edit);
  }
}
BENCHMARK(BM_EditSketchedRun)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace sepal

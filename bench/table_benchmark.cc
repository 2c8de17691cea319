// The costs of a table: writing an entry, finding one, ruling one out, stepping over one.
#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "table/file/table_reader.h"
#include "table/file/table_writer.h"
#include "tests/table/file/string_file.h"
#include "util/base/check.h"
#include "util/base/random.h"
#include "util/cache/block_cache.h"
#include "util/memory/memory_budget.h"

namespace sepal {
namespace {

constexpr size_t kEntries = 500'000;
constexpr uint64_t kSeed = 42;

// 16-byte keys in order; odd numbers are absent.
std::string Key(uint64_t number) {
  std::string digits = std::to_string(2 * number);
  return std::string(16 - digits.size(), '0') + digits;
}

// Values of 100 bytes that compress to about half.
std::string Values() {
  std::string values;
  Random random(1);
  while (values.size() < (size_t{1} << 20)) {
    const uint64_t word = random.Next();
    for (int twice = 0; twice < 2; ++twice) values.append(reinterpret_cast<const char*>(&word), sizeof word);
  }
  return values;
}

// Discards its input.
class NullFile final : public WritableFile {
 public:
  absl::Status Append(std::string_view bytes) override {
    size_ += bytes.size();
    return absl::OkStatus();
  }
  absl::Status WriteAt(uint64_t, std::string_view) override { return absl::OkStatus(); }
  absl::Status Allocate(uint64_t, uint64_t) override { return absl::OkStatus(); }
  absl::Status SyncRange(uint64_t, uint64_t) override { return absl::OkStatus(); }
  absl::Status Sync() override { return absl::OkStatus(); }
  absl::Status Truncate(uint64_t) override { return absl::OkStatus(); }
  uint64_t Size() const override { return size_; }
  absl::Status Close() override { return absl::OkStatus(); }

 private:
  uint64_t size_ = 0;
};

void Write(CompressionKind compression, const std::vector<std::string>& keys, const std::string& values,
           WritableFile* file) {
  TableWriterOptions options;
  options.compression = compression;
  options.hash_seed = kSeed;
  TableWriter writer(options, file);
  for (size_t i = 0; i < keys.size(); ++i) {
    const std::string_view value = std::string_view(values).substr(i * 100 % (values.size() - 100), 100);
    const absl::Status status = writer.Add({keys[i], PackTrailer(SequenceNumber(i + 1), ValueKind::kPut)}, value);
    SEPAL_CHECK(status.ok());
  }
  SEPAL_CHECK(writer.Finish().ok());
}

std::vector<std::string> Keys() {
  std::vector<std::string> keys;
  for (size_t i = 0; i < kEntries; ++i) keys.push_back(Key(i));
  return keys;
}

void BM_TableWrite(benchmark::State& state) {
  const std::vector<std::string> keys = Keys();
  const std::string values = Values();
  for (auto _ : state) {
    NullFile file;
    Write(static_cast<CompressionKind>(state.range(0)), keys, values, &file);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kEntries));
}
BENCHMARK(BM_TableWrite)->ArgName("compression")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

struct OpenedTable {
  OpenedTable() : budget(size_t{512} << 20), cache(&budget, 4096) {
    StringWritableFile file;
    Write(CompressionKind::kNone, Keys(), Values(), &file);
    TableReaderOptions options;
    options.name = "benchmark.sst";
    options.cache = &cache;
    options.budget = &budget;
    options.statistics = &statistics;
    auto opened = TableReader::Open(std::move(options), std::make_unique<StringReadableFile>(std::move(file.contents)));
    SEPAL_CHECK(opened.ok());
    reader = *opened;
    const auto it = TableReader::NewIterator(reader, TableReader::ReadKind::kUser);
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
    }
    for (size_t i = 0; i < kEntries; ++i) targets.push_back(Key(random.Uniform(kEntries)));
  }
  MemoryBudget budget;
  BlockCache cache;
  StatisticsImpl statistics;
  std::shared_ptr<TableReader> reader;
  Random random{3};
  std::vector<std::string> targets;  // present, at random
};

void Lookups(benchmark::State& state, bool present) {
  OpenedTable table;
  if (!present) {
    for (std::string& key : table.targets) ++key.back();
  }
  LevelFilterStatistics filters;
  size_t i = 0;
  for (auto _ : state) {
    const std::string& key = table.targets[i];
    if (++i == table.targets.size()) i = 0;
    TableHit hit;
    const LookupKey lookup{
        .user_key = key, .hash = HashKey(key, kSeed), .hash_seed = kSeed, .visible = kMaxSequenceNumber};
    SEPAL_CHECK(table.reader->Lookup(lookup, {}, &filters, &hit).ok());
    SEPAL_CHECK((hit.kind == TableHit::Kind::kFound) == present);
    benchmark::DoNotOptimize(hit.value);
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
void BM_TableLookupPresent(benchmark::State& state) { Lookups(state, true); }
void BM_TableLookupAbsent(benchmark::State& state) { Lookups(state, false); }
BENCHMARK(BM_TableLookupPresent);
BENCHMARK(BM_TableLookupAbsent);

void BM_TableIterate(benchmark::State& state) {
  OpenedTable table;
  for (auto _ : state) {
    const auto it = TableReader::NewIterator(table.reader, static_cast<TableReader::ReadKind>(state.range(0)));
    for (it->SeekToFirst(); it->Valid(); it->Next()) benchmark::DoNotOptimize(it->value());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kEntries));
}
BENCHMARK(BM_TableIterate)
    ->ArgName("kind")
    ->Arg(static_cast<int>(TableReader::ReadKind::kUser))
    ->Arg(static_cast<int>(TableReader::ReadKind::kCompaction))
    ->Unit(benchmark::kMillisecond);

void BM_TableSeek(benchmark::State& state) {
  OpenedTable table;
  const auto it = TableReader::NewIterator(table.reader, TableReader::ReadKind::kUser);
  size_t i = 0;
  for (auto _ : state) {
    it->Seek({table.targets[i], kFirstTrailer});
    SEPAL_CHECK(it->Valid());
    if (++i == table.targets.size()) i = 0;
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()));
}
BENCHMARK(BM_TableSeek);

}  // namespace
}  // namespace sepal

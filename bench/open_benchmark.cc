// The cost of opening a database with very many tables, or with very many column families. The tables are named by a
// manifest that is made here; their files hold one byte each, since opening must not read them. 100,000 tables lie on
// real files, in TMPDIR; a million in memory, where the cost of the listing is negligible.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/temporary_directory.h"
#include "db/act/manifest/manifest_writer.h"
#include "db/format/file_names.h"
#include "sepal/db.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/check.h"

namespace sepal {
namespace {

constexpr uint64_t kDatabaseId = 7;
constexpr size_t kTablesPerEdit = 4096;  // as ManifestContents

// Two runs: a twentieth in level 1, the rest in level 2, with keys of 16 bytes.
AddedTable TableNumbered(uint64_t i, uint64_t count, ColumnFamilyId family) {
  AddedTable added;
  added.family = family;
  const uint64_t upper = count / 20;
  added.level = i < upper ? 1 : 2;
  const uint64_t place = i < upper ? i * 20 : i;
  TableMetadata& t = added.table;
  t.number = FileNumber(family.value() * count + i + 1);
  t.run = RunNumber(added.level == 1 ? 2 : 1);
  t.size_bytes = 1;
  t.table_id = t.number.value() * 0x9E3779B97F4A7C15;
  t.footer_checksum = ~t.table_id;
  t.smallest = InternalKey(absl::StrFormat("key%013d", place * 100), PackTrailer(SequenceNumber(9), ValueKind::kPut));
  t.largest =
      InternalKey(absl::StrFormat("key%013d", place * 100 + 99), PackTrailer(SequenceNumber(9), ValueKind::kPut));
  t.lowest_sequence = t.highest_sequence = SequenceNumber(9);
  t.entries = 100;
  t.raw_bytes = 11600;
  return added;
}

// `count` tables in all, divided evenly among `families` families.
void MakeDatabase(FileSystem* files, const std::string& path, uint64_t count, uint32_t families) {
  const std::unique_ptr<Directory> directory = files->OpenDirectory(path, /*create=*/true).value();
  VersionEdit head;
  head.database_id = kDatabaseId;
  head.hash_seed = 1;
  head.next_file_number = FileNumber(count + 2);
  head.last_sequence = SequenceNumber(9);
  std::vector<VersionEdit> snapshot = {std::move(head)};
  for (uint32_t family = 0; family < families; ++family) {
    const ColumnFamilyId id(family);
    VersionEdit& description = snapshot.emplace_back();
    description.created_families.push_back({.id = id,
                                            .name = family == 0 ? "default" : absl::StrFormat("family %u", family),
                                            .comparator_name = std::string(BytewiseComparator()->Name()),
                                            .equal_means_identical = true});
    description.flushed_through.push_back({.family = id, .sequence = SequenceNumber(9)});
    for (uint64_t i = 0; i < count / families; ++i) {
      if (snapshot.back().added_tables.size() == kTablesPerEdit) snapshot.emplace_back();
      const AddedTable& added = snapshot.back().added_tables.emplace_back(TableNumbered(i, count / families, id));
      auto file = directory->OpenForWrite(TableFileName(added.table.number), WriteMode::kCreateNew).value();
      SEPAL_CHECK(file->Append("x").ok() && file->Close().ok());
    }
  }
  auto manifest = ManifestWriter::Create(directory.get(), FileNumber(count + 1), kDatabaseId, snapshot, nullptr);
  SEPAL_CHECK(manifest.ok() && (*manifest)->Close().ok());
}

void OpenAndClose(benchmark::State& state, FileSystem* files, const std::string& path) {
  Options options;
  options.env.file_system = files;
  options.memory_limit = size_t{64} << 20;
  for (auto _ : state) {
    auto db = DB::Open(options, path);
    SEPAL_CHECK(db.ok());
    state.PauseTiming();
    SEPAL_CHECK((*db)->Close().ok());
    db->reset();
    state.ResumeTiming();
  }
}

void BM_OpenManyTables(benchmark::State& state) {
  const TemporaryDirectory directory("sepal_open_benchmark");
  MakeDatabase(FileSystem::Posix(), directory.path(), static_cast<uint64_t>(state.range(0)), 1);
  OpenAndClose(state, FileSystem::Posix(), directory.path());
}
BENCHMARK(BM_OpenManyTables)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void BM_OpenManyTablesInMemory(benchmark::State& state) {
  MemoryFileSystem files;
  MakeDatabase(&files, "/db", static_cast<uint64_t>(state.range(0)), static_cast<uint32_t>(state.range(1)));
  OpenAndClose(state, &files, "/db");
}
BENCHMARK(BM_OpenManyTablesInMemory)
    ->ArgNames({"tables", "families"})
    ->Args({100'000, 1})
    ->Args({100'000, 1000})
    ->Args({1'000'000, 1})
    ->Unit(benchmark::kMillisecond);

// A log of batches of one entry each, of the families in turn.
void BM_ReplayBatches(benchmark::State& state) {
  constexpr uint64_t kBatches = 100'000;
  Options options;
  options.create_if_missing = true;
  MemoryFileSystem files;
  options.env.file_system = &files;
  {
    const std::unique_ptr<DB> db = DB::Open(options, "/db").value();
    std::vector<std::shared_ptr<ColumnFamily>> families;
    for (int64_t i = 0; i < state.range(0); ++i) {
      families.push_back(db->CreateColumnFamily(absl::StrFormat("family %d", i)).value());
    }
    for (uint64_t i = 0; i < kBatches; ++i) {
      SEPAL_CHECK(db->Put(*families[i % families.size()], absl::StrFormat("key%013d", i), "value").ok());
    }
    SEPAL_CHECK(db->Close().ok());
  }
  for (auto _ : state) {
    state.PauseTiming();
    MemoryFileSystem disk = files.Clone();
    options.env.file_system = &disk;
    state.ResumeTiming();
    std::unique_ptr<DB> db = DB::Open(options, "/db").value();
    state.PauseTiming();
    SEPAL_CHECK(db->Close().ok());
    db.reset();
    state.ResumeTiming();
  }
}
BENCHMARK(BM_ReplayBatches)->ArgName("families")->Arg(1)->Arg(1000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sepal

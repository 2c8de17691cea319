// What opening a database of very many tables costs. The tables are named by a manifest that is made here; their files
// hold one byte each, since opening must not read them. 100,000 tables lie on real files, in TMPDIR; a million in
// memory, where the listing costs nothing worth speaking of.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/temporary_directory.h"
#include "db/act/manifest_writer.h"
#include "db/format/file_names.h"
#include "sepal/db.h"
#include "util/check.h"
#include "util/memory_file_system.h"

namespace sepal {
namespace {

constexpr uint64_t kDatabaseId = 7;
constexpr size_t kTablesPerEdit = 4096;  // as CatalogSnapshot

// Two runs: a twentieth in level 1, the rest in level 2, with keys of 16 bytes.
AddedTable TableNumbered(uint64_t i, uint64_t count) {
  AddedTable added;
  const uint64_t upper = count / 20;
  added.level = i < upper ? 1 : 2;
  const uint64_t place = i < upper ? i * 20 : i;
  TableMetadata& t = added.table;
  t.number = FileNumber(i + 1);
  t.run = RunNumber(added.level == 1 ? 2 : 1);
  t.size_bytes = 1;
  t.table_id = i * 0x9E3779B97F4A7C15;
  t.footer_checksum = ~t.table_id;
  t.smallest = InternalKey(absl::StrFormat("key%013d", place * 100), PackTrailer(SequenceNumber(9), ValueKind::kPut));
  t.largest =
      InternalKey(absl::StrFormat("key%013d", place * 100 + 99), PackTrailer(SequenceNumber(9), ValueKind::kPut));
  t.lowest_sequence = t.highest_sequence = SequenceNumber(9);
  t.entries = 100;
  t.raw_bytes = 11600;
  return added;
}

void MakeDatabase(FileSystem* files, const std::string& path, uint64_t count) {
  const std::unique_ptr<Directory> directory = files->OpenDirectory(path, /*create=*/true).value();
  VersionEdit head;
  head.database_id = kDatabaseId;
  head.hash_seed = 1;
  head.next_file_number = FileNumber(count + 2);
  head.last_sequence = SequenceNumber(9);
  VersionEdit family;
  family.created_families.push_back({.id = ColumnFamilyId(0),
                                     .name = "default",
                                     .comparator_name = std::string(BytewiseComparator()->Name()),
                                     .equal_means_identical = true});
  family.flushed_through.push_back({.family = ColumnFamilyId(0), .sequence = SequenceNumber(9)});
  std::vector<VersionEdit> snapshot = {std::move(head), std::move(family)};
  for (uint64_t i = 0; i < count; ++i) {
    if (snapshot.back().added_tables.size() == kTablesPerEdit) snapshot.emplace_back();
    snapshot.back().added_tables.push_back(TableNumbered(i, count));
    auto file = directory->OpenForWrite(TableFileName(FileNumber(i + 1)), WriteMode::kCreateNew).value();
    SEPAL_CHECK(file->Append("x").ok() && file->Close().ok());
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
  MakeDatabase(FileSystem::Posix(), directory.path(), static_cast<uint64_t>(state.range(0)));
  OpenAndClose(state, FileSystem::Posix(), directory.path());
}
BENCHMARK(BM_OpenManyTables)->Arg(1000)->Arg(100'000)->Unit(benchmark::kMillisecond);

void BM_OpenManyTablesInMemory(benchmark::State& state) {
  MemoryFileSystem files;
  MakeDatabase(&files, "/db", static_cast<uint64_t>(state.range(0)));
  OpenAndClose(state, &files, "/db");
}
BENCHMARK(BM_OpenManyTablesInMemory)->Arg(100'000)->Arg(1'000'000)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace sepal

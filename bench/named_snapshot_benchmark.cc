// The costs of named snapshots: their creation, openings and listings with many of them, fills with compactions beside
// them, and reads at one. Files lie in memory, so that syncs are free, except for creations on a real disk.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "absl/strings/str_format.h"
#include "bench/temporary_directory.h"
#include "sepal/db.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/check.h"
#include "util/base/random.h"

namespace sepal {
namespace {

constexpr uint64_t kKeys = 100'000;

std::string KeyOf(uint64_t i) { return absl::StrFormat("key%08u", i); }

class NamedDatabase {
 public:
  // Each of the snapshots has a sequence number of its own.
  explicit NamedDatabase(int64_t snapshots, FileSystem* files = nullptr, std::string path = "named")
      : path_(std::move(path)) {
    options_.create_if_missing = true;
    options_.memtable_bytes = size_t{1} << 20;
    options_.env.file_system = files != nullptr ? files : &memory_;
    Open();
    for (int64_t i = 0; i < snapshots; ++i) {
      SEPAL_CHECK(db_->Put(KeyOf(static_cast<uint64_t>(i) % kKeys), "of a snapshot").ok());
      SEPAL_CHECK(db_->CreateSnapshot(absl::StrFormat("snapshot%d", i)).ok());
    }
  }
  void Open() {
    db_.reset();
    db_ = DB::Open(options_, path_).value();
  }
  void Fill() {
    const std::string value(100, 'v');
    for (uint64_t i = 0; i < kKeys; ++i) SEPAL_CHECK(db_->Put(KeyOf(random_.Uniform(kKeys)), value).ok());
  }
  DB* db() { return db_.get(); }

 private:
  MemoryFileSystem memory_;
  const std::string path_;
  Options options_;
  std::unique_ptr<DB> db_;
  Random random_{1};
};

// A write, a creation and a drop, beside so many. The write alone is below.
void CreateAndDrop(benchmark::State& state, FileSystem* files, const std::string& path) {
  NamedDatabase database(state.range(0), files, path);
  for (auto _ : state) {
    SEPAL_CHECK(database.db()->Put("k", "v").ok());
    SEPAL_CHECK(database.db()->CreateSnapshot("one more").ok());
    state.PauseTiming();
    SEPAL_CHECK(database.db()->DropSnapshot("one more").ok());
    state.ResumeTiming();
  }
}

void BM_CreateSnapshotInMemory(benchmark::State& state) { CreateAndDrop(state, nullptr, "named"); }
BENCHMARK(BM_CreateSnapshotInMemory)->Arg(0)->Arg(10'000)->Unit(benchmark::kMicrosecond);

void BM_CreateSnapshotOnDisk(benchmark::State& state) {
  const TemporaryDirectory directory("named");
  CreateAndDrop(state, FileSystem::Posix(), directory.path() + "/db");
}
BENCHMARK(BM_CreateSnapshotOnDisk)->Arg(0)->Unit(benchmark::kMicrosecond)->UseRealTime();

// The baseline for the creation above.
void BM_SyncedPutOnDisk(benchmark::State& state) {
  const TemporaryDirectory directory("named");
  NamedDatabase database(0, FileSystem::Posix(), directory.path() + "/db");
  for (auto _ : state) SEPAL_CHECK(database.db()->Put("k", "v", {.sync = true}).ok());
}
BENCHMARK(BM_SyncedPutOnDisk)->Unit(benchmark::kMicrosecond)->UseRealTime();

void BM_OpenWithSnapshots(benchmark::State& state) {
  NamedDatabase database(state.range(0));
  for (auto _ : state) database.Open();
}
BENCHMARK(BM_OpenWithSnapshots)->Arg(0)->Arg(10'000)->Unit(benchmark::kMillisecond)->UseRealTime();

void BM_ListSnapshots(benchmark::State& state) {
  NamedDatabase database(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(database.db()->ListSnapshots());
}
BENCHMARK(BM_ListSnapshots)->Arg(10'000)->Unit(benchmark::kMicrosecond);

void BM_FindSnapshot(benchmark::State& state) {
  NamedDatabase database(state.range(0));
  for (auto _ : state) benchmark::DoNotOptimize(database.db()->FindSnapshot("snapshot5"));
}
BENCHMARK(BM_FindSnapshot)->Arg(10'000)->Unit(benchmark::kNanosecond);

void BM_DropAllSnapshots(benchmark::State& state) {
  NamedDatabase database(state.range(0));
  SEPAL_CHECK(database.db()->Flush().ok());
  for (auto _ : state) {
    for (int64_t i = 0; i < state.range(0); ++i) {
      SEPAL_CHECK(database.db()->DropSnapshot(absl::StrFormat("snapshot%d", i)).ok());
    }
  }
}
BENCHMARK(BM_DropAllSnapshots)->Arg(1000)->Arg(10'000)->Iterations(1)->Unit(benchmark::kMillisecond);

// Overwrites of random keys, with the flushes and compactions that they cause, and one of everything.
void BM_FillBesideSnapshots(benchmark::State& state) {
  NamedDatabase database(state.range(0));
  for (auto _ : state) {
    database.Fill();
    SEPAL_CHECK(database.db()->CompactRange().ok());
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations() * kKeys));
}
BENCHMARK(BM_FillBesideSnapshots)->Arg(0)->Arg(100)->Arg(10'000)->Unit(benchmark::kMillisecond)->UseRealTime();

// Now, or at a named snapshot of the same contents.
void BM_GetAt(benchmark::State& state) {
  NamedDatabase database(0);
  database.Fill();
  SEPAL_CHECK(database.db()->CompactRange().ok());
  const std::shared_ptr<const Snapshot> snapshot = database.db()->CreateSnapshot("s").value();
  const ReadOptions options{.snapshot = state.range(0) != 0 ? snapshot.get() : nullptr};
  Random random(2);
  PinnedValue value;
  for (auto _ : state) {
    benchmark::DoNotOptimize(database.db()->Get(KeyOf(random.Uniform(kKeys)), value, options));
  }
}
BENCHMARK(BM_GetAt)->Arg(0)->Arg(1)->Unit(benchmark::kNanosecond);

}  // namespace
}  // namespace sepal

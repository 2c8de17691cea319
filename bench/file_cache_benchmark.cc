// Gets that miss the block cache: in a database on a local disk, on a remote store, and on the remote store through a
// cache of table bytes on that disk, which has all of them. The store is in memory, and answers each read after 200 us.
// `dropped`: the local disk's files are not in the system's page cache either.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/temporary_directory.h"
#include "sepal/cached_file_system.h"
#include "sepal/db.h"
#include "sepal/simulation/fault_file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/check.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

constexpr uint64_t kGetEntries = 400'000;
constexpr uint64_t kRoundTripMicros = 200;
constexpr int kGetsBetweenDrops = 64;

enum Where : int { kOnLocalDisk, kOnRemoteStore, kThroughCache };

std::string GetKey(uint64_t i) { return absl::StrFormat("key%013d", i); }

class GetWorld {
 public:
  explicit GetWorld(Where where) {
    remote_.SetHold([](const FileCall& call) {
      if (call.op == FileOp::kRead) Thread::SleepMicros(kRoundTripMicros);
    });
    if (where == kThroughCache) {
      const CacheOptions options = {.directory = local_.path() + "/cache", .bytes = uint64_t{1} << 30};
      cached_ = CachedFileSystem::Open(&remote_, options).value();
      SEPAL_CHECK(cached_->CacheStatus().ok());
    }
    options_.create_if_missing = true;
    options_.memory_limit = size_t{16} << 20;
    options_.env.file_system = where == kThroughCache    ? static_cast<FileSystem*>(cached_.get())
                               : where == kOnRemoteStore ? static_cast<FileSystem*>(&remote_)
                                                         : FileSystem::Posix();
    path_ = where == kOnLocalDisk ? local_.path() + "/db" : "/db";
  }
  ~GetWorld() {
    if (db_ != nullptr) SEPAL_CHECK(db_->Close().ok());
    db_.reset();
  }

  void Fill() {
    db_ = DB::Open(options_, path_).value();
    for (uint64_t i = 0; i < kGetEntries; ++i) {
      std::string value(400, '\0');
      for (char& c : value) c = static_cast<char>(random_.Next());
      SEPAL_CHECK(db_->Put(GetKey(i), value).ok());
    }
    SEPAL_CHECK(db_->Flush().ok() && db_->CompactRange().ok() && db_->Close().ok());
    db_.reset();
  }
  // With open tables.
  void FillAndReopen() {
    Fill();
    db_ = DB::Open(options_, path_).value();
    for (int i = 0; i < 20'000; ++i) SEPAL_CHECK(db_->Get(DrawKey()).ok());
  }

  DB& db() { return *db_; }
  std::string DrawKey() { return GetKey(random_.Uniform(kGetEntries)); }
  void DropPages() const {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(local_.path())) {
      if (!entry.is_regular_file()) continue;
      const int fd = ::open(entry.path().c_str(), O_RDONLY);
      SEPAL_CHECK(fd >= 0 && ::fdatasync(fd) == 0 && ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) == 0);
      ::close(fd);
    }
  }
  CacheCounts Counts() const { return cached_ != nullptr ? cached_->Counts() : CacheCounts{}; }

 private:
  const TemporaryDirectory local_{"sepal_file_cache_benchmark"};
  MemoryFileSystem memory_{{.hard_link = true, .remote = true}};
  FaultFileSystem remote_{&memory_};
  std::unique_ptr<CachedFileSystem> cached_;
  Options options_;
  std::string path_;
  Random random_{7};
  std::unique_ptr<DB> db_;
};

void BM_ColdGet(benchmark::State& state) {
  GetWorld world(static_cast<Where>(state.range(0)));
  world.FillAndReopen();
  const bool dropped = state.range(1) != 0;
  int since = 0;
  for (auto _ : state) {
    if (dropped && since++ % kGetsBetweenDrops == 0) {
      state.PauseTiming();
      world.DropPages();
      state.ResumeTiming();
    }
    SEPAL_CHECK(world.db().Get(world.DrawKey()).ok());
  }
  state.counters["misses"] = static_cast<double>(world.Counts().misses);
}
BENCHMARK(BM_ColdGet)
    ->ArgNames({"where", "dropped"})
    ->ArgsProduct({{kOnLocalDisk, kOnRemoteStore, kThroughCache}, {0, 1}})
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(20'000)
    ->UseRealTime();

void BM_ColdMultiGet64(benchmark::State& state) {
  GetWorld world(static_cast<Where>(state.range(0)));
  world.FillAndReopen();
  for (auto _ : state) {
    std::vector<std::string> keys(64);
    for (std::string& key : keys) key = world.DrawKey();
    const std::vector<std::string_view> views(keys.begin(), keys.end());
    for (const auto& value : world.db().MultiGet(views)) SEPAL_CHECK(value.ok());
  }
}
BENCHMARK(BM_ColdMultiGet64)
    ->ArgName("where")
    ->Arg(kOnLocalDisk)
    ->Arg(kOnRemoteStore)
    ->Arg(kThroughCache)
    ->Unit(benchmark::kMicrosecond)
    ->Iterations(500)
    ->UseRealTime();

// The cost of flushes and compactions.
void BM_FillThroughCache(benchmark::State& state) {
  GetWorld world(static_cast<Where>(state.range(0)));
  for (auto _ : state) world.Fill();
}
BENCHMARK(BM_FillThroughCache)
    ->ArgName("where")
    ->Arg(kOnRemoteStore)
    ->Arg(kThroughCache)
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->UseRealTime()
    ->MeasureProcessCPUTime();

}  // namespace
}  // namespace sepal

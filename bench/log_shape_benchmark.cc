// The log's mapped windows beside the other shapes that a log may have (bench/log_candidates.h): a stream of records
// that nobody syncs, alone and beside another thread whose records are synced. On real files, in TMPDIR. What the
// decision 0012 rests on.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/log_candidates.h"
#include "db/act/log_writer.h"
#include "db/format/batch_format.h"
#include "db/format/file_names.h"
#include "util/check.h"
#include "util/thread_pool.h"

namespace sepal {
namespace {

using Nanos = std::chrono::nanoseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr uint64_t kLogFileBytes = uint64_t{64} << 20;
constexpr size_t kFilesBehind = 2;

std::string NewDirectory() {
  const char* const temporary = std::getenv("TMPDIR");
  std::string path = std::string(temporary != nullptr ? temporary : "/tmp") + "/sepal_log_shape_XXXXXX";
  SEPAL_CHECK(mkdtemp(path.data()) != nullptr);
  return path;
}

// As the engine has it: windows and the next file are made ahead, and files whose memtables are flushed are removed in
// the background.
class WindowsLog {
 public:
  explicit WindowsLog(bool map)
      : path_(NewDirectory()),
        directory_(FileSystem::Posix()->OpenDirectory(path_, /*create=*/false).value()),
        tasks_(&pool_, Executor::Priority::kFlush) {
    LogOptions options;
    options.map = map;
    options.tasks = &tasks_;
    options.clock = Clock::System();
    log_ = WriteAheadLog::Create(directory_.get(), options, {.number = FileNumber(1)}).value();
  }
  ~WindowsLog() {
    tasks_.Close();
    log_->DiscardNextFile();
    SEPAL_CHECK(log_->Close().ok());
    log_.reset();
    directory_.reset();
    SEPAL_CHECK(std::system(("rm -r " + path_).c_str()) == 0);
  }

  uint64_t Append(SequenceNumber first, std::string_view batch, bool sync) {
    bytes_ += batch.size();
    if (bytes_ > kLogFileBytes / 2 && log_->WantsNextFile()) log_->PrepareNextFile(FileNumber(++number_));
    if (bytes_ > kLogFileBytes) StartFile();
    return log_->Append(first, batch, sync).value().value();
  }
  void Sync(uint64_t through) { SEPAL_CHECK(log_->Sync(LogPosition(through)).ok()); }

 private:
  void StartFile() {
    bytes_ = 0;
    SEPAL_CHECK(log_->Rotate(FileNumber(++number_), {}).ok());
    const std::vector<LiveLog> live = log_->Live();
    if (live.size() <= kFilesBehind) return;
    const FileNumber first = live[live.size() - kFilesBehind].number;
    log_->ForgetBefore(first);
    for (const LiveLog& old : live) {
      if (old.number >= first) break;
      tasks_.Run([this, number = old.number] { SEPAL_CHECK(directory_->Remove(LogFileName(number)).ok()); });
    }
  }

  const std::string path_;
  std::unique_ptr<Directory> directory_;
  ThreadPool pool_{1, 1};
  TaskGroup tasks_;
  std::unique_ptr<WriteAheadLog> log_;
  uint64_t number_ = 1;
  uint64_t bytes_ = 0;
};

class LockedRing {
 public:
  explicit LockedRing(bool reuse)
      : path_(NewDirectory()), log_(std::make_unique<RingLog>(path_, RingLogOptions{.reuse_files = reuse})) {}
  ~LockedRing() {
    log_.reset();
    SEPAL_CHECK(rmdir(path_.c_str()) == 0);
  }
  uint64_t Append(SequenceNumber first, std::string_view batch, bool) { return log_->Append(first, batch); }
  void Sync(uint64_t through) { log_->Sync(through); }

 private:
  const std::string path_;
  std::unique_ptr<RingLog> log_;
};

double ProcessCpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Batches of one entry of 16 + 100 bytes, `between` apart (0: one after another). With `syncs`, another thread writes
// one of them each millisecond and waits for the disk; the lock stands for the commit lock.
template <class Log>
void Stream(benchmark::State& state, bool variant, Nanos between, bool syncs) {
  const auto records = static_cast<size_t>(state.range(0));
  std::string batch(kBatchHeaderBytes, '\0');
  AppendBatchEntry(&batch, ValueKind::kPut, ColumnFamilyId(0), std::string(16, 'k'), std::string(100, 'v'));
  for (auto _ : state) {
    Log log(variant);
    Mutex commit;
    uint64_t sequence = 0;
    std::atomic<bool> stop{false};
    std::vector<uint32_t> sync_nanos;
    Thread other([&] {
      while (syncs && !stop.load()) {
        const auto begin = SteadyClock::now();
        uint64_t end = 0;
        {
          MutexLock lock(&commit);
          end = log.Append(SequenceNumber(++sequence), batch, true);
        }
        log.Sync(end);
        sync_nanos.push_back(static_cast<uint32_t>(Nanos(SteadyClock::now() - begin).count()));
        Clock::System()->SleepMicros(1000);
      }
    });
    std::vector<uint32_t> nanos;
    nanos.reserve(records);
    const double cpu = ProcessCpuSeconds();
    const auto start = SteadyClock::now();
    auto due = start;
    for (size_t i = 0; i < records; ++i) {
      if (between.count() > 0) {
        due += between;
        while (SteadyClock::now() < due) {
        }
      } else {
        due = SteadyClock::now();
      }
      {
        MutexLock lock(&commit);
        log.Append(SequenceNumber(++sequence), batch, false);
      }
      nanos.push_back(static_cast<uint32_t>(std::min<int64_t>(Nanos(SteadyClock::now() - due).count(), UINT32_MAX)));
    }
    const double seconds = std::chrono::duration<double>(SteadyClock::now() - start).count();
    const double cpu_seconds = ProcessCpuSeconds() - cpu;
    stop.store(true);
    other.Join();
    std::sort(nanos.begin(), nanos.end());
    const auto at = [&](double part) {
      return 1e-3 * nanos[static_cast<size_t>(part * static_cast<double>(records - 1))];
    };
    state.counters["ns"] = 1e9 * seconds / static_cast<double>(records);
    state.counters["cpu_ns"] = 1e9 * cpu_seconds / static_cast<double>(records);
    state.counters["p50_us"] = at(0.5);
    state.counters["p99_us"] = at(0.99);
    state.counters["p99.9_us"] = at(0.999);
    state.counters["p99.99_us"] = at(0.9999);
    state.counters["max_us"] = at(1);
    if (!sync_nanos.empty()) {
      std::sort(sync_nanos.begin(), sync_nanos.end());
      state.counters["sync_us"] = 1e-3 * sync_nanos[sync_nanos.size() / 2];
    }
  }
}

struct Arrivals {
  const char* name;
  int64_t records;
  Nanos between;
  bool syncs;
};

template <class Log>
void RegisterShape(const std::string& shape, bool variant) {
  for (const Arrivals& each : {Arrivals{"AtFullSpeed", 4'000'000, Nanos(0), false},
                               Arrivals{"AtFullSpeedBesideSyncs", 4'000'000, Nanos(0), true},
                               Arrivals{"Each5Micros", 1'000'000, Nanos(5000), false},
                               Arrivals{"Each5MicrosBesideSyncs", 1'000'000, Nanos(5000), true}}) {
    const auto run = [=](benchmark::State& state) { Stream<Log>(state, variant, each.between, each.syncs); };
    benchmark::RegisterBenchmark(("LogShape/" + shape + "/" + each.name).c_str(), run)
        ->Arg(each.records)
        ->Iterations(1);
  }
}

const bool kRegistered = [] {
  RegisterShape<WindowsLog>("Windows", true);
  RegisterShape<LockedRing>("RingBeforeFilesUsedAgain", true);
  RegisterShape<LockedRing>("RingBeforeNewFiles", false);
  RegisterShape<WindowsLog>("Written", false);
  return true;
}();

}  // namespace
}  // namespace sepal

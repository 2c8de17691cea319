// The log with its ring and without: a stream of records that nobody syncs, alone and beside another thread whose
// records are synced. On real files, in TMPDIR. What docs/internals/decisions/0004 rests on.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bench/temporary_directory.h"
#include "db/act/log/log_writer.h"
#include "db/format/batch_format.h"
#include "db/format/file_names.h"
#include "util/base/check.h"
#include "util/thread/thread_pool.h"

namespace sepal {
namespace {

using Nanos = std::chrono::nanoseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr uint64_t kLogFileBytes = uint64_t{64} << 20;
constexpr size_t kFilesBehind = 2;

constexpr char kDirectoryName[] = "sepal_log_shape";

// As the engine has it: the ring is written out and the next file made in the background, where files whose memtables
// are flushed are removed, too.
class EngineLog {
 public:
  explicit EngineLog(bool ring)
      : directory_(FileSystem::Posix()->OpenDirectory(temporary_.path(), /*create=*/false).value()),
        tasks_(&pool_, Executor::Priority::kFlush) {
    LogOptions options;
    options.ring_bytes = ring ? uint64_t{4} << 20 : 0;
    options.tasks = &tasks_;
    options.clock = Clock::System();
    log_ = WriteAheadLog::Create(directory_.get(), options, {.number = FileNumber(1)}).value();
  }
  ~EngineLog() {
    tasks_.Close();
    log_->DiscardNextFile();
    SEPAL_CHECK(log_->Close().ok());
  }

  uint64_t Append(SequenceNumber first, std::string_view batch) {
    bytes_ += batch.size();
    if (bytes_ > kLogFileBytes / 2 && log_->WantsNextFile()) log_->PrepareNextFile(FileNumber(++number_));
    if (bytes_ > kLogFileBytes) StartFile();
    return log_->Append(first, batch).value().value();
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

  const TemporaryDirectory temporary_{kDirectoryName};
  std::unique_ptr<Directory> directory_;
  ThreadPool pool_{1, 1};
  TaskGroup tasks_;
  std::unique_ptr<WriteAheadLog> log_;
  uint64_t number_ = 1;
  uint64_t bytes_ = 0;
};

double ProcessCpuSeconds() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

struct Arrivals {
  const char* name;
  int64_t records;
  Nanos between;  // 0: one after another
  bool syncs;
};

std::string OneEntryBatch() {
  std::string batch(kBatchHeaderBytes, '\0');
  AppendBatchEntry(&batch, ValueKind::kPut, ColumnFamilyId(0), std::string(16, 'k'), std::string(100, 'v'));
  return batch;
}

uint32_t NanosSince(SteadyClock::time_point begin) {
  return static_cast<uint32_t>(std::min<int64_t>(Nanos(SteadyClock::now() - begin).count(), UINT32_MAX));
}

// Waits for the time that is `between` behind `due`; that time, from which a record's delay counts.
SteadyClock::time_point NextDue(SteadyClock::time_point due, Nanos between) {
  if (between.count() == 0) return SteadyClock::now();
  due += between;
  while (SteadyClock::now() < due) {
  }
  return due;
}

// A log and those who write to it, one at a time: the lock stands for the commit lock.
class LogStream {
 public:
  explicit LogStream(bool ring) : log_(ring) {}

  // Each record's time until it was appended.
  std::vector<uint32_t> AppendAll(size_t records, Nanos between) {
    std::vector<uint32_t> nanos;
    nanos.reserve(records);
    SteadyClock::time_point due = SteadyClock::now();
    for (size_t i = 0; i < records; ++i) {
      due = NextDue(due, between);
      Append();
      nanos.push_back(NanosSince(due));
    }
    return nanos;
  }
  // Each millisecond a record that waits for the disk, until `stop`; the time that each took.
  std::vector<uint32_t> SyncUntil(const std::atomic<bool>& stop) {
    std::vector<uint32_t> nanos;
    while (!stop.load()) {
      const SteadyClock::time_point begin = SteadyClock::now();
      log_.Sync(Append());
      nanos.push_back(NanosSince(begin));
      Clock::System()->SleepMicros(1000);
    }
    return nanos;
  }

 private:
  uint64_t Append() {
    MutexLock lock(&commit_);
    return log_.Append(SequenceNumber(++sequence_), batch_);
  }

  const std::string batch_ = OneEntryBatch();
  EngineLog log_;
  Mutex commit_;
  uint64_t sequence_ ABSL_GUARDED_BY(commit_) = 0;
};

double MicrosAt(const std::vector<uint32_t>& sorted_nanos, double part) {
  return 1e-3 * sorted_nanos[static_cast<size_t>(part * static_cast<double>(sorted_nanos.size() - 1))];
}

void ReportLatencies(benchmark::State& state, std::vector<uint32_t> nanos, std::vector<uint32_t> sync_nanos) {
  std::sort(nanos.begin(), nanos.end());
  state.counters["p50_us"] = MicrosAt(nanos, 0.5);
  state.counters["p99_us"] = MicrosAt(nanos, 0.99);
  state.counters["p99.9_us"] = MicrosAt(nanos, 0.999);
  state.counters["p99.99_us"] = MicrosAt(nanos, 0.9999);
  state.counters["max_us"] = MicrosAt(nanos, 1);
  if (sync_nanos.empty()) return;
  std::sort(sync_nanos.begin(), sync_nanos.end());
  state.counters["sync_us"] = MicrosAt(sync_nanos, 0.5);
}

// Batches of one entry of 16 + 100 bytes, with or without another thread whose batches are synced.
void Stream(benchmark::State& state, bool ring, const Arrivals& arrivals) {
  const auto records = static_cast<size_t>(arrivals.records);
  for (auto _ : state) {
    LogStream stream(ring);
    std::atomic<bool> stop{!arrivals.syncs};
    std::vector<uint32_t> sync_nanos;
    Thread other([&] { sync_nanos = stream.SyncUntil(stop); });
    const double cpu = ProcessCpuSeconds();
    const SteadyClock::time_point start = SteadyClock::now();
    std::vector<uint32_t> nanos = stream.AppendAll(records, arrivals.between);
    const double seconds = std::chrono::duration<double>(SteadyClock::now() - start).count();
    const double cpu_seconds = ProcessCpuSeconds() - cpu;
    stop.store(true);
    other.Join();
    state.counters["ns"] = 1e9 * seconds / static_cast<double>(records);
    state.counters["cpu_ns"] = 1e9 * cpu_seconds / static_cast<double>(records);
    ReportLatencies(state, std::move(nanos), std::move(sync_nanos));
  }
}

void RegisterShape(const std::string& shape, bool ring) {
  for (const Arrivals& each : {Arrivals{"AtFullSpeed", 4'000'000, Nanos(0), false},
                               Arrivals{"AtFullSpeedBesideSyncs", 4'000'000, Nanos(0), true},
                               Arrivals{"Each5Micros", 1'000'000, Nanos(5000), false},
                               Arrivals{"Each5MicrosBesideSyncs", 1'000'000, Nanos(5000), true}}) {
    const auto run = [=](benchmark::State& state) { Stream(state, ring, each); };
    benchmark::RegisterBenchmark(("LogShape/" + shape + "/" + each.name).c_str(), run)
        ->Arg(each.records)
        ->Iterations(1);
  }
}

const bool kRegistered = [] {
  RegisterShape("Ring", true);
  RegisterShape("Written", false);
  return true;
}();

}  // namespace
}  // namespace sepal

// The cost of an append to the write-ahead log: written, stored into the ring, and synced. On real files, in TMPDIR.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>

#include "bench/temporary_directory.h"
#include "db/act/log/write_ahead_log.h"
#include "db/format/batch_format.h"
#include "db/format/file_names.h"
#include "util/base/check.h"

namespace sepal {
namespace {

constexpr uint64_t kFileBytes = uint64_t{64} << 20;

// A log in a directory of its own, both gone at the end.
class BenchmarkLog {
 public:
  explicit BenchmarkLog(bool ring) {
    directory_ = FileSystem::Posix()->OpenDirectory(temporary_.path(), /*create=*/false).value();
    LogOptions options;
    options.ring_bytes = ring ? uint64_t{4} << 20 : 0;
    log_ = WriteAheadLog::Create(directory_.get(), options, {.number = FileNumber(number_)}).value();
  }
  ~BenchmarkLog() { SEPAL_CHECK(log_->Close().ok()); }

  void Append(std::string_view batch, bool sync) {
    if (log_->Live().back().size_bytes > kFileBytes) StartFile();
    const absl::StatusOr<LogPosition> end = log_->Append(SequenceNumber(++sequence_), batch);
    SEPAL_CHECK(end.ok());
    if (sync) SEPAL_CHECK(log_->Sync(*end).ok());
  }

 private:
  void StartFile() {
    SEPAL_CHECK(log_->Rotate(FileNumber(number_ + 1), {}).ok());
    log_->ForgetBefore(FileNumber(number_ + 1));
    SEPAL_CHECK(directory_->Remove(LogFileName(FileNumber(number_))).ok());
    ++number_;
  }

  const TemporaryDirectory temporary_{"sepal_log_benchmark"};
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<WriteAheadLog> log_;
  uint64_t number_ = 1;
  uint64_t sequence_ = 0;
};

// Batches of one entry of 16 + 100 bytes.
void Append(benchmark::State& state, bool ring, bool sync) {
  BenchmarkLog log(ring);
  std::string batch(kBatchHeaderBytes, '\0');
  AppendBatchEntry(&batch, ValueKind::kPut, ColumnFamilyId(0), std::string(16, 'k'), std::string(100, 'v'));
  for (auto _ : state) log.Append(batch, sync);
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * batch.size()));
}
BENCHMARK_CAPTURE(Append, LogWritten, false, false);
BENCHMARK_CAPTURE(Append, LogInRing, true, false);
BENCHMARK_CAPTURE(Append, LogSynced, true, true);

}  // namespace
}  // namespace sepal

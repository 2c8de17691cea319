#include "tools/db_bench/bench_recorder.h"

#include <cstdlib>
#include <nlohmann/json.hpp>

#include "absl/strings/str_format.h"
#include "sepal/version.h"
#include "tools/db_bench/process_metrics.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/latency.h"

namespace sepal::tools {

BenchRecorder::BenchRecorder(const std::string& path, double tick_seconds)
    : path_(path),
      tick_seconds_(tick_seconds),
      file_(path, std::ios::binary | std::ios::trunc),
      began_nanos_(NowNanos()) {}

absl::StatusOr<std::unique_ptr<BenchRecorder>> BenchRecorder::Open(const std::string& path,
                                                                   const DbBenchOptions& options,
                                                                   const Options& engine_options) {
  std::unique_ptr<BenchRecorder> recorder(new BenchRecorder(path, options.report_interval_seconds));
  if (!recorder->file_) return absl::PermissionDeniedError(absl::StrFormat("%s cannot be written", path));
  recorder->Write({{"schema_version", kJsonSchemaVersion},
                   {"environment",
                    {{"version", VersionString()},
                     {"machine", DescribeMachine(options.db)},
                     {"unix_micros", Clock::System()->UnixMicros()},
                     {"database", options.db},
                     {"entries", options.num},
                     {"key_bytes", options.key_size},
                     {"value_bytes", options.value_size},
                     {"threads", options.threads},
                     {"sync", options.sync},
                     {"compression", options.Codec()},
                     {"memory_limit", engine_options.memory_limit},
                     {"seed", options.seed}}}});
  return recorder;
}

double BenchRecorder::Seconds() const { return static_cast<double>(NowNanos() - began_nanos_) / 1e9; }

BenchRecorder::Work BenchRecorder::Measure(DB* db) {
  const Statistics& statistics = db->statistics();
  return {.user_bytes = statistics.Get(Ticker::kBytesWritten),
          .flush_bytes = statistics.Get(Ticker::kFlushBytes),
          .compaction_read_bytes = statistics.Get(Ticker::kCompactionReadBytes),
          .compaction_write_bytes = statistics.Get(Ticker::kCompactionWriteBytes),
          .throttle_micros = statistics.Get(Ticker::kThrottleMicros)};
}

void BenchRecorder::Write(const nlohmann::json& line) { file_ << ToLine(line) << "\n"; }

void BenchRecorder::Begin(const std::string& benchmark, DB* db) {
  benchmark_ = benchmark;
  before_ = Measure(db);
  benchmark_began_ = last_sample_ = Seconds();
}

void BenchRecorder::Tick(uint64_t operations, DB* db) {
  if (Seconds() - last_sample_ >= tick_seconds_) Sample(operations, db);
}

void BenchRecorder::Sample(uint64_t operations, DB* db) {
  last_sample_ = Seconds();
  const Work now = Measure(db);
  Write({{"sample",
          {{"benchmark", benchmark_},
           {"at", last_sample_},
           {"operations", operations},
           {"user_bytes", now.user_bytes - before_.user_bytes},
           {"flush_bytes", now.flush_bytes - before_.flush_bytes},
           {"compaction_read_bytes", now.compaction_read_bytes - before_.compaction_read_bytes},
           {"compaction_write_bytes", now.compaction_write_bytes - before_.compaction_write_bytes},
           {"throttle_micros", now.throttle_micros - before_.throttle_micros},
           {"runs", std::strtoull(db->GetProperty("sepal.num-runs").value_or("0").c_str(), nullptr, 10)}}}});
}

void BenchRecorder::End(uint64_t operations, DB* db, const nlohmann::json& result) {
  Sample(operations, db);
  nlohmann::json line = {{"result", result}};
  line["result"]["began"] = benchmark_began_;
  line["result"]["ended"] = last_sample_;
  Write(line);
}

absl::Status BenchRecorder::Finish() {
  if (file_.flush()) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrFormat("%s cannot be written completely", path_));
}

}  // namespace sepal::tools

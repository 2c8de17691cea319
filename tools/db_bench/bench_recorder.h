// Records a run of db_bench, to be drawn by `sepal bench report`.
//
// A file of JSON Lines: one object with `environment`, then for each benchmark `sample` objects, a tick apart, and one
// `result`. Times are seconds since the recording began; counts of a sample are since its benchmark began.
#pragma once

#include <cstdint>
#include <fstream>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "sepal/db.h"
#include "tools/db_bench/db_bench_options.h"

namespace sepal::tools {

class BenchRecorder {
 public:
  // Replaces the file.
  static absl::StatusOr<std::unique_ptr<BenchRecorder>> Open(const std::string& path, const DbBenchOptions& options,
                                                             const Options& engine_options);

  // A benchmark begins; its samples count from here.
  void Begin(const std::string& benchmark, DB* db);
  // Call it often: records a sample when one is due.
  void Tick(uint64_t operations, DB* db);
  // `result`: what db_bench prints as JSON.
  void End(uint64_t operations, DB* db, const nlohmann::json& result);
  absl::Status Finish();

 private:
  // The engine's counters since it was opened.
  struct Work {
    uint64_t user_bytes = 0, flush_bytes = 0, compaction_read_bytes = 0, compaction_write_bytes = 0;
    uint64_t throttle_micros = 0;
  };
  BenchRecorder(const std::string& path, double tick_seconds);
  static Work Measure(DB* db);
  double Seconds() const;
  void Sample(uint64_t operations, DB* db);
  void Write(const nlohmann::json& line);

  const std::string path_;
  const double tick_seconds_;
  std::ofstream file_;
  uint64_t began_nanos_ = 0;
  std::string benchmark_;
  double benchmark_began_ = 0, last_sample_ = 0;
  Work before_;
};

}  // namespace sepal::tools

// Runs db_bench: opens the database, runs the benchmarks in threads, prints a line for each.
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "tools/db_bench/db_bench_options.h"
#include "tools/terminal/latency.h"

namespace sepal::tools {

struct BenchResult {
  std::string name;
  int threads = 1;
  uint64_t operations = 0;
  double seconds = 0;         // of the clock on the wall
  double thread_seconds = 0;  // added up over the threads
  uint64_t bytes = 0;
  uint64_t found = 0;
  uint64_t asked = 0;
  std::optional<uint64_t> writer_operations = {};  // of the thread beside, which is not measured
  LatencyHistogram latencies;
};

// "readrandom   :       1.234 micros/op 810372 ops/sec 1.234 seconds 1000000 operations;   89.6 MB/s (99 of 100 found)"
std::string FormatResult(const BenchResult& result);
// The same as one line of JSON.
std::string FormatResultJson(const BenchResult& result, bool histogram);

// Runs all benchmarks of `options`. Results go to `out`, notes and progress to `err`.
absl::Status RunBenchmarks(const DbBenchOptions& options, const Options& engine_options, std::ostream& out,
                           std::ostream& err);

// The whole program. Results go to `out`, notes, progress and errors to `err`; the exit code is returned.
int DbBenchMain(int argc, const char* const* argv, std::ostream& out, std::ostream& err);

}  // namespace sepal::tools

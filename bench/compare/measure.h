// Measures one workload: wall time, CPU time of the whole process, latencies, bytes written, memory.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/compare/engine.h"
#include "tools/lib/latency.h"

namespace sepal::compare {

struct Measurement {
  std::string engine;
  std::string workload;
  int threads = 0;  // as asked for
  int round = 0;
  uint64_t operations = 0;
  double seconds = 0;
  double cpu_micros_per_op = 0;
  double p50_micros = 0, p99_micros = 0, p999_micros = 0, max_micros = 0;
  uint64_t read_bytes = 0;  // from the disk
  uint64_t written_bytes = 0;
  uint64_t space_bytes = 0;  // all files but logs, after the workload
  uint64_t log_bytes = 0;
  uint64_t resident_bytes = 0;  // less what the process had before the engine was opened

  double OperationsPerSecond() const { return seconds > 0 ? static_cast<double>(operations) / seconds : 0; }
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Measurement, engine, workload, threads, round, operations, seconds,
                                   cpu_micros_per_op, p50_micros, p99_micros, p999_micros, max_micros, read_bytes,
                                   written_bytes, space_bytes, log_bytes, resident_bytes)

// What one thread of a workload does with.
struct Worker {
  int index = 0;
  int threads = 1;
  Session* session = nullptr;
  uint64_t operations = 0;  // this thread's share
  tools::LatencyHistogram latencies = {};
  uint64_t found = 0;
  uint64_t bytes_seen = 0;

  // Runs `operation(i)` for each i of the share; every `stride`-th one is timed.
  template <class Operation>
  void Loop(uint64_t stride, Operation operation) {
    uint64_t i = 0;
    while (i < operations) {
      const uint64_t begin = tools::NowNanos();
      operation(i++);
      latencies.Add(tools::NowNanos() - begin);
      const uint64_t end = i + stride - 1 < operations ? i + stride - 1 : operations;
      while (i < end) operation(i++);
    }
  }
  // Looks at a value as a user would: its first and last byte.
  void Touch(std::string_view value) {
    if (!value.empty()) bytes_seen += value.size() + static_cast<unsigned char>(value.front() ^ value.back());
  }
};

struct Totals {
  uint64_t found = 0;
  Measurement measurement;
};

class Meter {
 public:
  // `resident_before`: of the process before the engine was opened.
  Meter(Engine* engine, std::string path, uint64_t resident_before)
      : engine_(engine), path_(std::move(path)), resident_before_(resident_before) {}

  // Runs `body` in `threads` threads, `operations` in all. With `finish`, the time and the CPU time go on until the
  // engine's background work is done.
  Totals Run(const std::string& workload, int threads, uint64_t operations, bool finish,
             const std::function<void(Worker*)>& body);

 private:
  Engine* const engine_;
  const std::string path_;
  const uint64_t resident_before_;
};

}  // namespace sepal::compare

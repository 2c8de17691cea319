// Measures one workload: wall time, CPU time of the whole process, latencies, bytes written, memory. Figures that a
// workload does not have, or an engine does not count, are absent (null in JSON).
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bench/compare/engine.h"
#include "bench/compare/second_rates.h"
#include "tools/terminal/latency.h"

template <>
struct nlohmann::adl_serializer<std::optional<uint64_t>> {
  static void to_json(json& to, const std::optional<uint64_t>& from) {
    to = from.has_value() ? json(*from) : json(nullptr);
  }
  static void from_json(const json& from, std::optional<uint64_t>& to) {
    to = from.is_null() ? std::nullopt : std::optional(from.get<uint64_t>());
  }
};

namespace sepal::compare {

struct Measurement {
  std::string engine;
  std::string workload;
  int threads = 0;  // as asked for
  int round = 0;
  uint64_t operations = 0;
  double seconds = 0;       // with debt_seconds
  double debt_seconds = 0;  // from the last operation to the last background work that was waited for
  double cpu_micros_per_op = 0;
  double p50_micros = 0, p99_micros = 0, p999_micros = 0, max_micros = 0;
  uint64_t read_bytes = 0;  // from the disk
  uint64_t written_bytes = 0;
  uint64_t space_bytes = 0;  // all files but logs, after the workload
  uint64_t log_bytes = 0;
  // Resident memory, including mapped files, less that of the process before the engine was opened: afterwards, and at
  // most during the workload.
  uint64_t resident_bytes = 0, peak_resident_bytes = 0;
  uint64_t memory_limit_bytes = 0;  // that the engine was given
  // Of workloads that write and are timed until no background work is left: keys and values, and by the engine's own
  // count tables (flushes and compactions), log, and the sorted runs at the end.
  std::optional<uint64_t> user_bytes = {}, table_bytes_written = {}, log_bytes_written = {}, runs = {};
  std::optional<uint64_t> replayed_log_bytes = {};  // of recovery: in the files that the dead process left
  // Of --duration: the operations of each second, their least, and their coefficient of variation. A median has no
  // list, and of the other two the medians of the rounds' own.
  std::vector<uint64_t> operations_of_seconds = {};
  std::optional<uint64_t> least_of_seconds = {};
  double variation_of_seconds = 0;
  // Of --duration: the most space that all files but logs took, looked at twice a second.
  std::optional<uint64_t> peak_space_bytes = {};

  double OperationsPerSecond() const { return seconds > 0 ? static_cast<double>(operations) / seconds : 0; }
};
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Measurement, engine, workload, threads, round, operations, seconds, debt_seconds,
                                   cpu_micros_per_op, p50_micros, p99_micros, p999_micros, max_micros, read_bytes,
                                   written_bytes, space_bytes, log_bytes, resident_bytes, peak_resident_bytes,
                                   memory_limit_bytes, user_bytes, table_bytes_written, log_bytes_written, runs,
                                   replayed_log_bytes, operations_of_seconds, least_of_seconds, variation_of_seconds,
                                   peak_space_bytes)

// The state of one thread of a workload.
struct Worker {
  int index = 0;
  int threads = 1;
  Session* session = nullptr;
  uint64_t operations = 0;  // this thread's share; with seconds: what it came to
  uint64_t begin_nanos = 0;
  SecondRates seconds = {};
  tools::LatencyHistogram latencies = {};
  uint64_t found = 0;
  uint64_t bytes_seen = 0;

  // Runs `operation(i)` for each i of the share, and times every `stride`-th one; or, where the workload has seconds
  // instead, as long as they last, and times each.
  template <class Operation>
  void Loop(uint64_t stride, Operation operation) {
    if (!seconds.counts().empty()) return LoopForSeconds(operation);
    uint64_t i = 0;
    while (i < operations) {
      const uint64_t begin = tools::NowNanos();
      operation(i++);
      latencies.Add(tools::NowNanos() - begin);
      const uint64_t end = i + stride - 1 < operations ? i + stride - 1 : operations;
      while (i < end) operation(i++);
    }
  }
  template <class Operation>
  void LoopForSeconds(Operation operation) {
    const uint64_t deadline = begin_nanos + seconds.counts().size() * 1'000'000'000;
    operations = 0;
    for (uint64_t now = tools::NowNanos(); now < deadline;) {
      operation(operations++);
      const uint64_t end = tools::NowNanos();
      latencies.Add(end - now);
      seconds.Add(end - begin_nanos);
      now = end;
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

struct WorkloadPlan {
  std::string name = {};
  int threads = 1;
  uint64_t operations = 0;  // of all threads
  // Unless zero, every thread goes on for so long instead.
  uint64_t seconds = 0;
  // The time and the CPU time go on until the engine's background work is done.
  bool finish = false;
  uint64_t written_bytes_each = 0;  // keys and values of an operation
};

// The settings of the engine, which must outlive the meter, and the resident memory before it was opened.
class Meter {
 public:
  Meter(Engine* engine, const EngineSettings& settings, uint64_t resident_before)
      : engine_(engine), settings_(settings), resident_before_(resident_before) {}

  // Runs `body` in each thread.
  Totals Run(const WorkloadPlan& plan, const std::function<void(Worker*)>& body);

 private:
  class SpaceWatch;
  void MeasureSpace(Measurement* m) const;
  void CountWrites(const WorkloadPlan& plan, const EngineCounters& before, Measurement* m) const;

  Engine* const engine_;
  const EngineSettings& settings_;
  const uint64_t resident_before_;
};

// The engine's share of the process' memory, and its limit.
void MeasureMemory(const EngineSettings& settings, uint64_t resident_before, Measurement* m);

}  // namespace sepal::compare

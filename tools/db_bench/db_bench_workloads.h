// The benchmarks by name, with the work of each of their threads.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sepal/db.h"
#include "tools/db_bench/bench_thread.h"
#include "tools/db_bench/db_bench_options.h"

namespace sepal::tools {

struct Workload {
  const char* name;
  // One thread's part, and its number of operations; null: it is one, or none.
  absl::Status (*run)(BenchThread& thread);
  uint64_t (*limit)(const DbBenchOptions& options, int index) = nullptr;
  // Begins with an empty database.
  bool fresh = false;
  // One thread, one operation, whatever --threads says.
  bool once = false;
  // One thread more, which writes, and is not measured.
  bool extra_thread = false;
  // Wants BenchShared::zipf.
  bool zipfian = false;
};

// The number of operations of a thread.
uint64_t Reads(const DbBenchOptions& options, int index);
uint64_t Writes(const DbBenchOptions& options, int index);

// Parts of several workloads.
absl::Status ReadRandom(BenchThread& thread);
absl::Status MultiReadRandom(BenchThread& thread);
absl::Status SeekRandom(BenchThread& thread);

// Workloads that mix reads and writes (mixed_workloads.cc).
std::span<const Workload> MixedWorkloads();

// Null for an unknown name.
const Workload* FindWorkload(std::string_view name);
uint64_t OperationsOf(const Workload& workload, const DbBenchOptions& options, int thread);
// The operations of all threads together; 0 if that is not known beforehand.
uint64_t TotalOperations(const Workload& workload, const DbBenchOptions& options);
// All names, with spaces between.
std::string BenchmarkNames();
// A benchmark that prints rather than measures: its text, or nullopt for one that measures.
std::optional<std::string> ReportText(std::string_view name, DB* db);

}  // namespace sepal::tools

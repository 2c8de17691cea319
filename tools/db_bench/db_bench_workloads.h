// The benchmarks by name: what each thread of one does.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sepal/db.h"
#include "tools/db_bench/db_bench_options.h"
#include "tools/db_bench/workload.h"
#include "tools/terminal/latency.h"
#include "util/base/random.h"

namespace sepal::tools {

// What the threads of one benchmark share.
struct BenchShared {
  DB* db = nullptr;
  const DbBenchOptions* options = nullptr;
  uint64_t begin_nanos = 0;
  // Threads whose operations count and that are not done; the writer of readwhilewriting goes on until there is none.
  std::atomic<int> measured_left = 0;
};

// One thread's part. The thread alone writes it; `done` is read by the progress line.
class BenchThread {
 public:
  // `limit`: the operations to do, where --duration does not say when it is over.
  BenchThread(BenchShared* shared, int index, uint64_t limit)
      : shared_(shared),
        index_(index),
        limit_(limit),
        random_(shared->options->seed * 1'000'003 + static_cast<uint64_t>(index)),
        key_(shared->options->key_size) {}

  DB* db() const { return shared_->db; }
  const DbBenchOptions& options() const { return *shared_->options; }
  BenchShared& shared() const { return *shared_; }
  int index() const { return index_; }
  Random& random() { return random_; }
  KeyBuffer& key() { return key_; }
  uint64_t RandomNumber() { return random_.Uniform(options().num); }

  uint64_t limit() const { return limit_; }
  // Whether there is another operation to do, of the limit or of as many as fit into --duration.
  bool More();
  // `operations` are done, which moved `bytes` of keys and values.
  void Finished(uint64_t operations, uint64_t bytes);
  void CountFound(uint64_t found, uint64_t asked) {
    found_ += found;
    asked_ += asked;
  }

  uint64_t done() const { return done_.load(std::memory_order_relaxed); }
  uint64_t bytes() const { return bytes_; }
  uint64_t found() const { return found_; }
  uint64_t asked() const { return asked_; }
  const LatencyHistogram& latencies() const { return latencies_; }
  uint64_t busy_nanos() const { return last_nanos_ - begin_nanos_; }

  // Around the whole run of the thread.
  void Begin() { begin_nanos_ = last_nanos_ = NowNanos(); }
  void End() { last_nanos_ = NowNanos(); }

 private:
  BenchShared* const shared_;
  const int index_;
  const uint64_t limit_;
  Random random_;
  KeyBuffer key_;
  std::atomic<uint64_t> done_ = 0;
  uint64_t bytes_ = 0;
  uint64_t found_ = 0;
  uint64_t asked_ = 0;
  uint64_t begin_nanos_ = 0;
  uint64_t last_nanos_ = 0;
  LatencyHistogram latencies_;
};

struct Workload {
  const char* name;
  // One thread's part, and how many operations that is: null where it is one, or none.
  absl::Status (*run)(BenchThread& thread);
  uint64_t (*limit)(const DbBenchOptions& options, int index) = nullptr;
  // Begins with an empty database.
  bool fresh = false;
  // One thread, one operation, whatever --threads says.
  bool once = false;
  // One thread more, which is not measured.
  bool extra_thread = false;
};

// Null for an unknown name.
const Workload* FindWorkload(std::string_view name);
uint64_t OperationsOf(const Workload& workload, const DbBenchOptions& options, int thread);
// Of all threads together; 0 where that is not known beforehand.
uint64_t TotalOperations(const Workload& workload, const DbBenchOptions& options);
// All names, with spaces between.
std::string BenchmarkNames();
// A benchmark that prints rather than measures: its text, or nullopt for one that measures.
std::optional<std::string> ReportText(std::string_view name, DB* db);

}  // namespace sepal::tools

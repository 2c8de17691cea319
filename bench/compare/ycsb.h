// YCSB's core workloads (tools/db_bench/ycsb.h), one after another on one database, without a pause: background work
// that one leaves also loads the next one, and is waited for at the end ("ycsbsettle").
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "bench/compare/measure.h"
#include "bench/compare/options.h"
#include "tools/db_bench/workload.h"
#include "tools/db_bench/ycsb.h"

namespace sepal::compare {

class Ycsb {
 public:
  // Of a database with `options.entries` entries. `options` must outlive this.
  Ycsb(const CompareOptions& options, int threads, uint64_t seed);

  // ycsba to ycsbf, or ycsbsettle.
  Totals Run(const std::string& workload, Meter* meter);

 private:
  void Work(const tools::YcsbMix& mix, Worker* worker);

  const CompareOptions& options_;
  const int threads_;
  const uint64_t seed_;
  const tools::ZipfGenerator zipf_;
  std::atomic<uint64_t> next_insert_;
};

}  // namespace sepal::compare

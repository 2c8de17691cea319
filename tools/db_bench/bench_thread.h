// One thread of a benchmark: its keys and values, its operations and their counts.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "sepal/db.h"
#include "tools/db_bench/db_bench_options.h"
#include "tools/db_bench/workload.h"
#include "tools/terminal/latency.h"
#include "util/base/random.h"

namespace sepal::tools {

// The state that the threads of one benchmark share.
struct BenchShared {
  DB* db = nullptr;
  const DbBenchOptions* options = nullptr;
  // Never empty; the family of a key is the one at the key's number modulo their count.
  std::vector<const ColumnFamily*> families = {};
  // From --seed, the benchmark's name and its place among the benchmarks: so none repeats the keys of another, nor
  // their order, in this run or in a later one on the same database.
  uint64_t seed = 0;
  uint64_t begin_nanos = 0;
  // The number of measured threads that are not done; the writer of readwhilewriting continues until there is none.
  std::atomic<int> measured_left = 0;
  // Entries and bytes written by all threads, for the rate limits.
  std::atomic<uint64_t> written_entries = 0, written_bytes = 0;
  // For workloads with `zipfian`: the distribution over the numbers below --num.
  std::optional<ZipfGenerator> zipf = {};
  // The number of the next key that is inserted beyond those.
  std::atomic<uint64_t> next_insert = 0;
};

uint64_t SeedOf(uint64_t seed, std::string_view benchmark, uint64_t place);

// One thread's part. The thread alone writes it; `done` is read by the progress line.
class BenchThread {
 public:
  // `limit`: the number of operations, unless --duration sets the end.
  BenchThread(BenchShared* shared, int index, uint64_t limit)
      : shared_(shared),
        index_(index),
        limit_(limit),
        random_(shared->seed * 1'000'003 + static_cast<uint64_t>(index)),
        key_(shared->options->key_size),
        paced_(shared->options->writes_per_second > 0 || shared->options->benchmark_write_rate_limit > 0),
        deletes_ranges_(shared->options->writes_per_range_tombstone > 0) {}

  DB* db() const { return shared_->db; }
  const DbBenchOptions& options() const { return *shared_->options; }
  BenchShared& shared() const { return *shared_; }
  int index() const { return index_; }
  Random& random() { return random_; }
  KeyBuffer& key() { return key_; }
  uint64_t RandomNumber() { return random_.Uniform(options().num); }
  const ColumnFamily& FamilyOf(uint64_t number) const {
    const auto& families = shared_->families;
    return *(families.size() == 1 ? families.front() : families[number % families.size()]);
  }
  // A value of so many bytes; valid until the next call.
  std::string_view Value(size_t bytes) {
    if (!values_.has_value()) [[unlikely]]
      values_.emplace(options().compression_ratio, shared_->seed + static_cast<uint64_t>(index_), bytes);
    return values_->Next(bytes);
  }
  WriteOptions HowToWrite(bool sync) const { return {.sync = sync, .disable_wal = !sync && options().disable_wal}; }

  // Each is one operation on the entry with that number; all but Write are counted.
  absl::Status Get(uint64_t number, PinnedValue& value);
  absl::Status Put(uint64_t number, size_t value_bytes);
  // Merges an operand: 1 for the operator that adds, else a value's bytes.
  absl::Status Merge(uint64_t number);
  // Deletes a random range of --range_tombstone_width numbers, of every family.
  absl::Status DeleteRange();
  // Deletes a range if so many more entries make one due (--writes_per_range_tombstone). It counts as no operation.
  absl::Status DeleteRangeIfDue(uint64_t entries) {
    return deletes_ranges_ ? CountToDeleteRange(entries) : absl::OkStatus();
  }
  // Puts an entry without counting it as an operation. The bytes of key and value go to `bytes`.
  absl::Status Write(uint64_t number, size_t value_bytes, uint64_t* bytes);

  uint64_t limit() const { return limit_; }
  // Whether there is another operation to do, by the limit or by --duration.
  bool More() const {
    const uint64_t done = this->done();
    if (options().duration_seconds <= 0) [[likely]]
      return done < limit_;
    // The clock is read once in 64 operations.
    return done % 64 != 0 || static_cast<double>(NowNanos() - shared_->begin_nanos) < options().duration_seconds * 1e9;
  }
  // Counts `operations`, which moved `bytes` of keys and values.
  void Finished(uint64_t operations, uint64_t bytes);
  // Notes a write, and waits if it exceeds the rate limits so far.
  void Pace(uint64_t entries, uint64_t bytes) {
    if (paced_) KeepPace(entries, bytes);
  }
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
  absl::Status CountToDeleteRange(uint64_t entries);
  void KeepPace(uint64_t entries, uint64_t bytes);

  BenchShared* const shared_;
  const int index_;
  const uint64_t limit_;
  Random random_;
  KeyBuffer key_;
  const bool paced_;
  const bool deletes_ranges_;
  std::optional<ValueGenerator> values_;
  std::atomic<uint64_t> done_ = 0;
  uint64_t bytes_ = 0;
  uint64_t found_ = 0;
  uint64_t asked_ = 0;
  uint64_t entries_since_range_ = 0;
  uint64_t deleted_ranges_ = 0;
  uint64_t begin_nanos_ = 0;
  uint64_t last_nanos_ = 0;
  LatencyHistogram latencies_;
};

}  // namespace sepal::tools

// Benchmarks in which reads and writes mix: beside a writer, YCSB's, and a model of a production load.
#include <algorithm>
#include <cmath>
#include <vector>

#include "tools/db_bench/db_bench_workloads.h"
#include "tools/db_bench/ycsb.h"
#include "util/base/status.h"

namespace sepal::tools {
namespace {

// --- Beside one writer ---

// The last thread writes random entries until the others are done.
template <absl::Status (*read)(BenchThread&)>
absl::Status WhileWriting(BenchThread& thread) {
  if (thread.index() < thread.options().threads) return read(thread);
  while (thread.shared().measured_left.load(std::memory_order_relaxed) > 0) {
    RETURN_IF_ERROR(thread.Put(thread.RandomNumber(), thread.options().ValueSize()));
  }
  return absl::OkStatus();
}

absl::Status ReadRandomWriteRandom(BenchThread& thread) {
  PinnedValue value;
  while (thread.More()) {
    const uint64_t number = thread.RandomNumber();
    if (thread.random().Uniform(100) < static_cast<uint64_t>(thread.options().readwritepercent)) {
      RETURN_IF_ERROR(thread.Get(number, value));
    } else {
      RETURN_IF_ERROR(thread.Put(number, thread.options().ValueSize()));
    }
  }
  return absl::OkStatus();
}

// Reads an entry and writes it again, as one operation.
absl::Status Update(BenchThread& thread, uint64_t number, PinnedValue& value) {
  const absl::Status status = thread.db()->Get(thread.FamilyOf(number), thread.key().Format(number), value);
  if (!absl::IsNotFound(status)) RETURN_IF_ERROR(status);
  thread.CountFound(status.ok() ? 1 : 0, 1);
  return thread.Put(number, thread.options().ValueSize());
}

absl::Status UpdateRandom(BenchThread& thread) {
  PinnedValue value;
  while (thread.More()) RETURN_IF_ERROR(Update(thread, thread.RandomNumber(), value));
  return absl::OkStatus();
}

struct Touched {
  uint64_t found = 0, bytes = 0;
};

// Reads entries for update and writes them again.
absl::Status UpdateInTransaction(BenchThread& thread, const std::vector<uint64_t>& numbers, Transaction& transaction,
                                 Touched* touched) {
  const size_t value_bytes = thread.options().ValueSize();
  *touched = {};
  for (const uint64_t number : numbers) {
    const std::string_view key = thread.key().Format(number);
    const absl::StatusOr<std::string> value = transaction.GetForUpdate(thread.FamilyOf(number), key);
    if (!absl::IsNotFound(value.status())) RETURN_IF_ERROR(value.status());
    touched->found += value.ok() ? 1 : 0;
    touched->bytes += key.size() + value_bytes;
    RETURN_IF_ERROR(transaction.Put(thread.FamilyOf(number), key, thread.Value(value_bytes)));
  }
  return absl::OkStatus();
}

// Each transaction is one operation, repeated until it commits.
absl::Status RandomTransaction(BenchThread& thread) {
  const DbBenchOptions& options = thread.options();
  const TransactionOptions how{
      .isolation = options.transaction_serializable ? Isolation::kSerializable : Isolation::kSnapshot,
      .locking = options.transaction_db ? Locking::kPessimistic : Locking::kOptimistic};
  std::vector<uint64_t> numbers(options.transaction_sets);
  while (thread.More()) {
    for (uint64_t& number : numbers) number = thread.RandomNumber();
    Touched touched;
    const auto body = [&](Transaction& txn) { return UpdateInTransaction(thread, numbers, txn, &touched); };
    RETURN_IF_ERROR(thread.db()->RunTransaction(how, body, thread.HowToWrite(options.sync)));
    thread.CountFound(touched.found, numbers.size());
    thread.Finished(1, touched.bytes);
    thread.Pace(numbers.size(), touched.bytes);
  }
  return absl::OkStatus();
}

uint64_t MergedNumber(BenchThread& thread) {
  const uint64_t keys = thread.options().merge_keys;
  const uint64_t number = thread.RandomNumber();
  return keys > 0 ? number % keys : number;
}

absl::Status MergeRandom(BenchThread& thread) {
  while (thread.More()) RETURN_IF_ERROR(thread.Merge(MergedNumber(thread)));
  return absl::OkStatus();
}

absl::Status ReadRandomMergeRandom(BenchThread& thread) {
  PinnedValue value;
  while (thread.More()) {
    const uint64_t number = MergedNumber(thread);
    if (thread.random().Uniform(100) < static_cast<uint64_t>(thread.options().mergereadpercent)) {
      RETURN_IF_ERROR(thread.Merge(number));
    } else {
      RETURN_IF_ERROR(thread.Get(number, value));
    }
  }
  return absl::OkStatus();
}

// Up to `most` entries from the one with that number on, as one operation.
absl::Status ScanFrom(BenchThread& thread, uint64_t number, uint64_t most) {
  const std::unique_ptr<Iterator> it = thread.db()->NewIterator(thread.FamilyOf(number));
  uint64_t entries = 0, bytes = 0;
  for (it->Seek(thread.key().Format(number)); it->Valid() && entries < most; it->Next(), ++entries) {
    bytes += it->key().size() + it->value().size();
  }
  RETURN_IF_ERROR(it->status());
  thread.CountFound(entries > 0 ? 1 : 0, 1);
  thread.Finished(1, bytes);
  return absl::OkStatus();
}

// --- YCSB ---

template <const YcsbMix& mix>
absl::Status Ycsb(BenchThread& thread) {
  ZipfGenerator zipf = thread.shared().zipf->WithSeed(thread.random().Next());
  std::atomic<uint64_t>& next_insert = thread.shared().next_insert;
  const size_t value_bytes = thread.options().ValueSize();
  PinnedValue value;
  while (thread.More()) {
    const YcsbOperation operation = mix.OperationOf(thread.random().Uniform(100));
    const uint64_t number =
        mix.latest ? next_insert.load(std::memory_order_relaxed) - 1 - zipf.NextRank() : zipf.Next();
    switch (operation) {
      case YcsbOperation::kRead:
        RETURN_IF_ERROR(thread.Get(number, value));
        break;
      case YcsbOperation::kUpdate:
        RETURN_IF_ERROR(thread.Put(number, value_bytes));
        break;
      case YcsbOperation::kReadModifyWrite:
        RETURN_IF_ERROR(Update(thread, number, value));
        break;
      case YcsbOperation::kScan:
        RETURN_IF_ERROR(ScanFrom(thread, number, 1 + thread.random().Uniform(kYcsbLongestScan)));
        break;
      case YcsbOperation::kInsert:
        RETURN_IF_ERROR(thread.Put(next_insert.fetch_add(1, std::memory_order_relaxed), value_bytes));
    }
  }
  return absl::OkStatus();
}

// --- mixgraph: a model of ZippyDB's load at Facebook (Cao et al., "Characterizing, modeling, and benchmarking RocksDB
// key-value workloads at Facebook", 2020), with the parameters that are given there ---

// A generalised Pareto distribution.
struct Pareto {
  double theta, k, sigma;
  uint64_t Draw(Random& random, uint64_t most) const {
    const double u = random.NextDouble();
    return static_cast<uint64_t>(
        std::clamp(theta + sigma * (std::pow(1 - u, -k) - 1) / k, 0.0, static_cast<double>(most)));
  }
};
constexpr Pareto kValueBytes{.theta = 0, .k = 0.2615, .sigma = 25.45},
    kScanned{.theta = 0, .k = 2.517, .sigma = 14.236};
constexpr uint64_t kMostValueBytes = 1 << 20, kMostScanned = 10'000;

// Draws numbers: first one of 30 ranges of keys, by a two-term exponential of its rank, then a key in it, by a power.
class MixGraphKeys {
 public:
  MixGraphKeys(uint64_t num, uint64_t seed) : num_(num) {
    const uint64_t ranges = std::min(kRanges, num);
    std::vector<uint64_t> places(ranges);
    for (uint64_t i = 0; i < ranges; ++i) places[i] = i;
    // Hot ranges lie anywhere.
    Random random(seed);
    for (uint64_t i = ranges; i > 1; --i) std::swap(places[i - 1], places[random.Uniform(i)]);
    double sum = 0;
    for (uint64_t i = 0; i < ranges; ++i) {
      const auto x = static_cast<double>(i + 1);
      sum += 14.18 * std::exp(-2.917 * x) + 0.0164 * std::exp(-0.08082 * x);
      ranges_.push_back({.upto = sum, .place = places[i]});
    }
  }

  uint64_t Draw(Random& random) const {
    const double drawn = random.NextDouble() * ranges_.back().upto;
    const auto range = std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& r) { return drawn < r.upto; });
    const uint64_t place = range == ranges_.end() ? ranges_.back().place : range->place;
    const uint64_t first = num_ * place / ranges_.size(), next = num_ * (place + 1) / ranges_.size();
    // The inverse of a power law: ranks near zero are drawn most; spread, so that hot keys are no neighbours.
    const double rank = std::pow(random.NextDouble() / 0.002312, 1 / 0.3467);
    return first + Random(static_cast<uint64_t>(rank)).Uniform(next - first);
  }

 private:
  static constexpr uint64_t kRanges = 30;
  struct Range {
    double upto;
    uint64_t place;
  };

  const uint64_t num_;
  std::vector<Range> ranges_;
};

absl::Status MixGraph(BenchThread& thread) {
  const DbBenchOptions& options = thread.options();
  const MixGraphKeys keys(options.num, options.seed);
  PinnedValue value;
  while (thread.More()) {
    const double drawn = thread.random().NextDouble();
    const uint64_t number = keys.Draw(thread.random());
    if (drawn < options.mix_get_ratio) {
      RETURN_IF_ERROR(thread.Get(number, value));
    } else if (drawn < options.mix_get_ratio + options.mix_put_ratio) {
      RETURN_IF_ERROR(thread.Put(number, kValueBytes.Draw(thread.random(), kMostValueBytes)));
    } else {
      RETURN_IF_ERROR(ScanFrom(thread, number, kScanned.Draw(thread.random(), kMostScanned)));
    }
  }
  return absl::OkStatus();
}

constexpr Workload kWorkloads[] = {
    {.name = "readwhilewriting", .run = WhileWriting<ReadRandom>, .limit = Reads, .extra_thread = true},
    {.name = "multireadwhilewriting", .run = WhileWriting<MultiReadRandom>, .limit = Reads, .extra_thread = true},
    {.name = "seekrandomwhilewriting", .run = WhileWriting<SeekRandom>, .limit = Reads, .extra_thread = true},
    {.name = "readrandomwriterandom", .run = ReadRandomWriteRandom, .limit = Reads},
    {.name = "updaterandom", .run = UpdateRandom, .limit = Writes},
    {.name = "randomtransaction", .run = RandomTransaction, .limit = Writes},
    {.name = "mergerandom", .run = MergeRandom, .limit = Writes},
    {.name = "readrandommergerandom", .run = ReadRandomMergeRandom, .limit = Reads},
    {.name = "mixgraph", .run = MixGraph, .limit = Reads},
    {.name = "ycsba", .run = Ycsb<kYcsbA>, .limit = Reads, .zipfian = true},
    {.name = "ycsbb", .run = Ycsb<kYcsbB>, .limit = Reads, .zipfian = true},
    {.name = "ycsbc", .run = Ycsb<kYcsbC>, .limit = Reads, .zipfian = true},
    {.name = "ycsbd", .run = Ycsb<kYcsbD>, .limit = Reads, .zipfian = true},
    {.name = "ycsbe", .run = Ycsb<kYcsbE>, .limit = Reads, .zipfian = true},
    {.name = "ycsbf", .run = Ycsb<kYcsbF>, .limit = Reads, .zipfian = true},
};

}  // namespace

std::span<const Workload> MixedWorkloads() { return kWorkloads; }

}  // namespace sepal::tools

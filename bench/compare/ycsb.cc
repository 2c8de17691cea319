#include "bench/compare/ycsb.h"

#include <algorithm>
#include <memory>

#include "util/base/check.h"
#include "util/base/random.h"

namespace sepal::compare {
namespace {

constexpr uint64_t kStride = 8;  // of operations of a microsecond, every eighth is timed
// A scan is of 50 entries.
constexpr uint64_t kEntriesPerScan = 8;

tools::YcsbMix MixOf(char letter) {
  constexpr tools::YcsbMix kMixes[] = {tools::kYcsbA, tools::kYcsbB, tools::kYcsbC,
                                       tools::kYcsbD, tools::kYcsbE, tools::kYcsbF};
  SEPAL_CHECK(letter >= 'a' && letter <= 'f');
  return kMixes[letter - 'a'];
}

void Scan(Worker* worker, std::string_view from, uint64_t most) {
  const std::unique_ptr<Cursor> cursor = worker->session->NewCursor();
  cursor->Seek(from);
  for (uint64_t i = 0; i < most && cursor->Valid(); ++i, cursor->Next()) {
    worker->Touch(cursor->key());
    worker->Touch(cursor->value());
  }
}

}  // namespace

Ycsb::Ycsb(const CompareOptions& options, int threads, uint64_t seed)
    : options_(options),
      threads_(threads),
      seed_(seed),
      zipf_(options.entries, tools::kYcsbTheta, seed),
      next_insert_(options.entries) {}

Totals Ycsb::Run(const std::string& workload, Meter* meter) {
  if (workload == "ycsbsettle") {
    Totals totals = meter->Run({.name = workload, .operations = 1, .finish = true}, [](Worker*) {});
    totals.measurement.operations = options_.entries;
    totals.measurement.cpu_micros_per_op /= static_cast<double>(options_.entries);
    return totals;
  }
  const tools::YcsbMix mix = MixOf(workload.back());
  const uint64_t operations =
      mix.scan > 0 ? std::max<uint64_t>(1, options_.entries / kEntriesPerScan) : options_.entries;
  const WorkloadPlan plan{
      .name = workload, .threads = threads_, .operations = operations, .seconds = options_.duration_seconds};
  return meter->Run(plan, [&](Worker* worker) { Work(mix, worker); });
}

void Ycsb::Work(const tools::YcsbMix& mix, Worker* worker) {
  const uint64_t seed = seed_ * 1000 + static_cast<uint64_t>(worker->index);
  const auto value_bytes = static_cast<size_t>(options_.value_bytes);
  tools::KeyBuffer key(options_.key_bytes);
  tools::ValueGenerator values(options_.compression_ratio, seed, value_bytes);
  tools::ZipfGenerator zipf = zipf_.WithSeed(seed);
  Random draws(seed);
  const auto format = [&](uint64_t number) { return key.Format(NumberInKey(options_, number)); };
  const auto read = [&](uint64_t number) {
    std::string_view value;
    if (worker->session->Get(format(number), &value)) return worker->Touch(value);
    // Concurrent inserts may not have finished yet.
    if (!mix.latest) Fail("ycsb", "a key that was loaded was not found");
  };
  const auto write = [&](uint64_t number) { worker->session->Put(format(number), values.Next(value_bytes), false); };
  worker->Loop(kStride, [&](uint64_t) {
    const tools::YcsbOperation operation = mix.OperationOf(draws.Uniform(100));
    if (operation == tools::YcsbOperation::kInsert) return write(next_insert_.fetch_add(1, std::memory_order_relaxed));
    const uint64_t number =
        mix.latest ? next_insert_.load(std::memory_order_relaxed) - 1 - zipf.NextRank() : zipf.Next();
    if (operation == tools::YcsbOperation::kScan) {
      return Scan(worker, format(number), 1 + draws.Uniform(tools::kYcsbLongestScan));
    }
    if (operation != tools::YcsbOperation::kUpdate) read(number);
    if (operation != tools::YcsbOperation::kRead) write(number);
  });
}

}  // namespace sepal::compare

#include "bench/compare/updates.h"

#include "tools/db_bench/workload.h"
#include "util/base/random.h"

namespace sepal::compare {
namespace {

constexpr uint64_t kStride = 8;  // of operations of a microsecond, every eighth is timed
constexpr uint64_t kCounters = 1000;
constexpr uint64_t kUpdatesOfDelete = 100;
constexpr uint64_t kKeysOfDelete = 10;

Random DrawsOf(const Worker* worker, uint64_t seed) { return Random(seed * 1000 + static_cast<uint64_t>(worker->index)); }

}  // namespace

Totals RunIncrements(const CompareOptions& options, int threads, uint64_t seed, Meter* meter) {
  const WorkloadPlan plan{.name = "incrementrandom",
                          .threads = threads,
                          .operations = options.entries,
                          .finish = true,
                          .written_bytes_each = static_cast<uint64_t>(options.key_bytes) + sizeof(uint64_t)};
  return meter->Run(plan, [&](Worker* worker) {
    tools::KeyBuffer key(options.key_bytes);
    Random draws = DrawsOf(worker, seed);
    worker->Loop(kStride, [&](uint64_t) {
      worker->session->Increment(key.Format(NumberInKey(options, draws.Uniform(kCounters))), 1);
    });
  });
}

Totals RunRangeDeletes(const CompareOptions& options, int threads, uint64_t seed, Meter* meter) {
  const auto value_bytes = static_cast<size_t>(options.value_bytes);
  const WorkloadPlan plan{.name = "deleterangemix",
                          .threads = threads,
                          .operations = options.entries,
                          .finish = true,
                          .written_bytes_each = static_cast<uint64_t>(options.key_bytes) + value_bytes};
  return meter->Run(plan, [&](Worker* worker) {
    tools::KeyBuffer key(options.key_bytes), end(options.key_bytes);
    tools::ValueGenerator values(options.compression_ratio, seed + static_cast<uint64_t>(worker->index), value_bytes);
    Random draws = DrawsOf(worker, seed);
    worker->Loop(kStride, [&](uint64_t i) {
      const uint64_t number = draws.Uniform(options.entries);
      const std::string_view begin = key.Format(NumberInKey(options, number));
      if (i % kUpdatesOfDelete == kUpdatesOfDelete - 1) {
        worker->session->DeleteRange(begin, end.Format(NumberInKey(options, number + kKeysOfDelete)));
      } else {
        worker->session->Put(begin, values.Next(value_bytes), false);
      }
    });
  });
}

}  // namespace sepal::compare

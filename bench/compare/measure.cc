#include "bench/compare/measure.h"

#include <vector>

#include "tools/lib/process_metrics.h"
#include "util/sync.h"

namespace sepal::compare {

Totals Meter::Run(const std::string& workload, int threads, uint64_t operations, bool finish,
                  const std::function<void(Worker*)>& body) {
  std::vector<Worker> workers(static_cast<size_t>(threads));
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < threads; ++i) {
    sessions.push_back(engine_->NewSession());
    const uint64_t share = static_cast<uint64_t>(threads);
    const uint64_t index = static_cast<uint64_t>(i);
    workers[index].index = i;
    workers[index].threads = threads;
    workers[index].session = sessions.back().get();
    workers[index].operations = operations * (index + 1) / share - operations * index / share;
  }

  const uint64_t read = tools::StorageBytesRead();
  const uint64_t written = tools::StorageBytesWritten();
  const uint64_t cpu = tools::ProcessCpuNanos();
  const uint64_t begin = tools::NowNanos();
  {
    std::vector<Thread> others;
    for (int i = 1; i < threads; ++i) {
      Worker* worker = &workers[static_cast<size_t>(i)];
      others.emplace_back([&body, worker] { body(worker); });
    }
    body(&workers[0]);
    for (Thread& thread : others) thread.Join();
  }
  const uint64_t end = finish ? engine_->FinishBackgroundWork() : tools::NowNanos();

  Totals totals;
  Measurement& m = totals.measurement;
  m.workload = workload;
  m.threads = threads;
  m.operations = operations;
  m.seconds = static_cast<double>(end - begin) / 1e9;
  m.cpu_micros_per_op = static_cast<double>(tools::ProcessCpuNanos() - cpu) / 1e3 / static_cast<double>(operations);
  m.read_bytes = tools::StorageBytesRead() - read;
  m.written_bytes = tools::StorageBytesWritten() - written;
  const uint64_t resident = tools::ResidentBytes();
  m.resident_bytes = resident > resident_before_ ? resident - resident_before_ : 0;
  const tools::DirectorySize size = tools::MeasureDirectory(path_);
  m.space_bytes = size.data_bytes;
  m.log_bytes = size.log_bytes;
  tools::LatencyHistogram latencies;
  for (const Worker& worker : workers) {
    latencies.Merge(worker.latencies);
    totals.found += worker.found;
  }
  m.p50_micros = latencies.PercentileNanos(50) / 1e3;
  m.p99_micros = latencies.PercentileNanos(99) / 1e3;
  m.p999_micros = latencies.PercentileNanos(99.9) / 1e3;
  m.max_micros = static_cast<double>(latencies.MaximumNanos()) / 1e3;
  return totals;
}

}  // namespace sepal::compare

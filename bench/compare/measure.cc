#include "bench/compare/measure.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "sepal/env.h"
#include "tools/db_bench/process_metrics.h"
#include "util/thread/sync.h"

namespace sepal::compare {
namespace {

double ToSeconds(uint64_t nanos) { return static_cast<double>(nanos) / 1e9; }

// The difference of an engine's counts; none if it does not count.
std::optional<uint64_t> Grown(std::optional<uint64_t> before, std::optional<uint64_t> after) {
  return before.has_value() && after.has_value() ? std::optional(*after - *before) : std::nullopt;
}

// Returns when all threads are done.
void RunWorkers(std::vector<Worker>* workers, const std::function<void(Worker*)>& body) {
  std::vector<Thread> others;
  for (size_t i = 1; i < workers->size(); ++i) {
    Worker* worker = &(*workers)[i];
    others.emplace_back([&body, worker] { body(worker); });
  }
  body(&workers->front());
  for (Thread& thread : others) thread.Join();
}

Totals Sum(const std::vector<Worker>& workers) {
  Totals totals;
  Measurement& m = totals.measurement;
  tools::LatencyHistogram latencies;
  SecondRates seconds = workers.front().seconds;
  for (const Worker& worker : workers) {
    latencies.Merge(worker.latencies);
    if (&worker != &workers.front()) seconds.Merge(worker.seconds);
    m.operations += worker.operations;
    totals.found += worker.found;
  }
  m.p50_micros = latencies.PercentileNanos(50) / 1e3;
  m.p99_micros = latencies.PercentileNanos(99) / 1e3;
  m.p999_micros = latencies.PercentileNanos(99.9) / 1e3;
  m.max_micros = static_cast<double>(latencies.MaximumNanos()) / 1e3;
  if (!seconds.counts().empty()) {
    m.operations_of_seconds = seconds.counts();
    m.least_of_seconds = *std::min_element(seconds.counts().begin(), seconds.counts().end());
    m.variation_of_seconds = CoefficientOfVariation(seconds.counts());
  }
  return totals;
}

}  // namespace

// Measures the space of the engine's files until it is asked for the maximum.
class Meter::SpaceWatch {
 public:
  explicit SpaceWatch(std::string path) : path_(std::move(path)), thread_([this] { Watch(); }) {}
  uint64_t Stop() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.Join();
    return most_bytes_;
  }

 private:
  static constexpr uint64_t kPeriodMicros = 500'000;
  void Watch() {
    while (!stop_.load(std::memory_order_relaxed)) {
      most_bytes_ = std::max(most_bytes_, tools::MeasureDirectory(path_).data_bytes);
      Clock::System()->SleepMicros(kPeriodMicros);
    }
  }

  const std::string path_;
  std::atomic<bool> stop_ = false;
  uint64_t most_bytes_ = 0;
  Thread thread_;
};

Totals Meter::Run(const WorkloadPlan& plan, const std::function<void(Worker*)>& body) {
  std::vector<Worker> workers(static_cast<size_t>(plan.threads));
  std::vector<std::unique_ptr<Session>> sessions;
  const uint64_t share = workers.size();
  for (uint64_t i = 0; i < share; ++i) {
    sessions.push_back(engine_->NewSession());
    workers[i].index = static_cast<int>(i);
    workers[i].threads = plan.threads;
    workers[i].session = sessions.back().get();
    workers[i].operations = plan.operations * (i + 1) / share - plan.operations * i / share;
    workers[i].seconds = SecondRates(plan.seconds);
  }

  const EngineCounters counters = engine_->Counters();
  tools::ResetPeakResidentBytes();
  const uint64_t read = tools::StorageBytesRead();
  const uint64_t written = tools::StorageBytesWritten();
  const uint64_t cpu = tools::ProcessCpuNanos();
  const uint64_t begin = tools::NowNanos();
  for (Worker& worker : workers) worker.begin_nanos = begin;
  std::optional<SpaceWatch> space;
  if (plan.seconds > 0) space.emplace(settings_.path);
  RunWorkers(&workers, body);
  const uint64_t done = tools::NowNanos();
  const uint64_t end = plan.finish ? std::max(done, engine_->FinishBackgroundWork()) : done;
  const uint64_t cpu_spent = tools::ProcessCpuNanos() - cpu;

  Totals totals = Sum(workers);
  Measurement& m = totals.measurement;
  m.workload = plan.name;
  m.threads = plan.threads;
  m.seconds = ToSeconds(end - begin);
  m.debt_seconds = ToSeconds(end - done);
  m.cpu_micros_per_op = static_cast<double>(cpu_spent) / 1e3 / static_cast<double>(m.operations);
  m.read_bytes = tools::StorageBytesRead() - read;
  m.written_bytes = tools::StorageBytesWritten() - written;
  MeasureMemory(settings_, resident_before_, &m);
  MeasureSpace(&m);
  if (space.has_value()) m.peak_space_bytes = std::max(m.space_bytes, space->Stop());
  if (plan.finish && plan.written_bytes_each > 0) CountWrites(plan, counters, &m);
  return totals;
}

void Meter::MeasureSpace(Measurement* m) const {
  const tools::DirectorySize size = tools::MeasureDirectory(settings_.path);
  m->space_bytes = size.data_bytes;
  m->log_bytes = size.log_bytes;
}

void Meter::CountWrites(const WorkloadPlan& plan, const EngineCounters& before, Measurement* m) const {
  const EngineCounters after = engine_->Counters();
  m->user_bytes = m->operations * plan.written_bytes_each;
  m->table_bytes_written = Grown(before.table_bytes, after.table_bytes);
  m->log_bytes_written = Grown(before.log_bytes, after.log_bytes);
  m->runs = after.runs;
}

void MeasureMemory(const EngineSettings& settings, uint64_t resident_before, Measurement* m) {
  const auto of_engine = [&](uint64_t resident) { return resident > resident_before ? resident - resident_before : 0; };
  m->resident_bytes = of_engine(tools::ResidentBytes());
  // The system's own count of the peak may lag behind a little.
  m->peak_resident_bytes = std::max(m->resident_bytes, of_engine(tools::PeakResidentBytes()));
  m->memory_limit_bytes = settings.memory_bytes;
}

}  // namespace sepal::compare

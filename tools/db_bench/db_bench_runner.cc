#include "tools/db_bench/db_bench_runner.h"

#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <vector>

#include "absl/strings/str_format.h"
#include "sepal/db.h"
#include "sepal/version.h"
#include "tools/db_bench/bench_recorder.h"
#include "tools/db_bench/db_bench_workloads.h"
#include "tools/db_bench/process_metrics.h"
#include "tools/terminal/cli.h"
#include "tools/terminal/progress.h"
#include "util/base/status.h"
#include "util/thread/sync.h"

namespace sepal::tools {
namespace {

class DbBench {
 public:
  DbBench(const DbBenchOptions& options, const Options& engine_options, std::ostream& out, std::ostream& err)
      : options_(options), engine_options_(engine_options), out_(out), err_(err) {}

  absl::Status Run() {
    if (!options_.json) PrintHeader();
    if (!options_.report_file.empty()) {
      ASSIGN_OR_RETURN(recorder_, BenchRecorder::Open(options_.report_file, options_, engine_options_));
    }
    for (const std::string& name : options_.benchmarks) {
      const Workload& workload = *FindWorkload(name);
      if (workload.fresh && options_.use_existing_db) {
        err_ << name << ": skipped (--use_existing_db is true)\n";
        continue;
      }
      if (workload.fresh) RETURN_IF_ERROR(StartAfresh());
      if (db_ == nullptr) RETURN_IF_ERROR(Open());
      RETURN_IF_ERROR(Annotate(RunOne(workload), name));
    }
    if (db_ == nullptr) return absl::OkStatus();
    if (options_.statistics) {
      if (!options_.json) out_ << "STATISTICS:\n";
      PrintReport("statistics", db_->statistics().ToString());
    }
    if (recorder_ != nullptr) RETURN_IF_ERROR(recorder_->Finish());
    families_.clear();
    return db_->Close();
  }

 private:
  void PrintHeader() {
    const double raw_mib = static_cast<double>(options_.num) * (options_.key_size + options_.value_size) / (1 << 20);
    const FilterPolicy& filter = engine_options_.family.filter_policy;
    out_ << absl::StrFormat("Sepal:       version %s\n", VersionString())
         << absl::StrFormat("Machine:     %s\n", DescribeMachine(options_.db))
         << absl::StrFormat("Keys:        %d bytes each\n", options_.key_size)
         << absl::StrFormat("Values:      %d bytes each (%d bytes after compression)\n", options_.value_size,
                            static_cast<int>(options_.value_size * options_.compression_ratio))
         << absl::StrFormat("Entries:     %d\n", options_.num)
         << absl::StrFormat("RawSize:     %.1f MB (estimated)\n", raw_mib)
         << absl::StrFormat("Memory:      %s limit\n", HumanBytes(engine_options_.memory_limit))
         << absl::StrFormat("Compression: %s\n", options_.Codec())
         << absl::StrFormat("Filters:     %.1f + %.1f bits a key (lane + guard)\n", filter.lane_bits_per_key,
                            filter.guard_bits_per_key)
         << absl::StrFormat("Database:    %s\n", options_.db) << "------------------------------------------------\n";
    out_.flush();
  }

  absl::Status Open() {
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(engine_options_, options_.db);
    if (!db.ok()) return db.status();
    db_ = std::move(*db);
    for (int i = 1; i < options_.num_column_families; ++i) {
      const std::string name = absl::StrFormat("family%d", i);
      absl::StatusOr<std::shared_ptr<ColumnFamily>> family = db_->FindColumnFamily(name);
      if (absl::IsNotFound(family.status())) family = db_->CreateColumnFamily(name, engine_options_.family);
      if (!family.ok()) return family.status();
      families_.push_back(*std::move(family));
    }
    return absl::OkStatus();
  }

  absl::Status StartAfresh() {
    if (db_ != nullptr) {
      families_.clear();
      RETURN_IF_ERROR(db_->Close());
      db_ = nullptr;
    }
    const absl::Status destroyed = DB::Destroy(engine_options_, options_.db);
    return absl::IsNotFound(destroyed) ? absl::OkStatus() : destroyed;
  }

  // Prints the text of a benchmark that measures nothing.
  void PrintReport(std::string_view name, const std::string& text) {
    if (!options_.json) {
      out_ << text;
      return;
    }
    nlohmann::json line = JsonRow();
    line["report"] = name;
    line["text"] = text;
    out_ << line.dump() << "\n";
  }

  absl::Status RunOne(const Workload& workload) {
    if (std::optional<std::string> text = ReportText(workload.name, db_.get())) {
      PrintReport(workload.name, *text);
      return absl::OkStatus();
    }
    BenchResult result;
    if (recorder_ != nullptr) recorder_->Begin(workload.name, db_.get());
    RETURN_IF_ERROR(Measure(workload, &result));
    if (recorder_ != nullptr) {
      recorder_->End(result.operations, db_.get(), nlohmann::json::parse(FormatResultJson(result, /*histogram=*/true)));
    }
    if (options_.json) {
      out_ << FormatResultJson(result, options_.histogram) << std::endl;
      return absl::OkStatus();
    }
    out_ << FormatResult(result) << std::endl;
    if (options_.histogram) out_ << result.latencies.ToString() << std::endl;
    return absl::OkStatus();
  }

  absl::Status Measure(const Workload& workload, BenchResult* result) {
    const int measured = workload.once ? 1 : options_.threads;
    const int all = measured + (workload.extra_thread ? 1 : 0);
    BenchShared shared;
    shared.db = db_.get();
    shared.options = &options_;
    shared.families.push_back(&db_->DefaultColumnFamily());
    for (const std::shared_ptr<ColumnFamily>& family : families_) shared.families.push_back(family.get());
    shared.seed = SeedOf(options_.seed, workload.name, place_++);
    shared.measured_left = measured;
    shared.next_insert = options_.num;
    if (workload.zipfian) shared.zipf.emplace(options_.num, kYcsbTheta, options_.seed);
    std::vector<std::unique_ptr<BenchThread>> threads;
    for (int i = 0; i < all; ++i) {
      threads.push_back(std::make_unique<BenchThread>(&shared, i, OperationsOf(workload, options_, i)));
    }
    std::vector<absl::Status> statuses(static_cast<size_t>(all));

    Mutex mutex;
    CondVar changed;
    int running = all;
    shared.begin_nanos = NowNanos();
    std::vector<Thread> bodies;
    for (int i = 0; i < all; ++i) {
      bodies.emplace_back([&, i] {
        BenchThread& thread = *threads[static_cast<size_t>(i)];
        thread.Begin();
        statuses[static_cast<size_t>(i)] = workload.run(thread);
        thread.End();
        if (i < measured) shared.measured_left.fetch_sub(1, std::memory_order_relaxed);
        MutexLock lock(&mutex);
        --running;
        changed.NotifyOne();
      });
    }
    ShowProgress(workload, threads, &mutex, &changed, &running);
    for (Thread& body : bodies) body.Join();
    result->seconds = static_cast<double>(NowNanos() - shared.begin_nanos) / 1e9;

    result->name = workload.name;
    result->threads = measured;
    for (int i = 0; i < measured; ++i) {
      const BenchThread& thread = *threads[static_cast<size_t>(i)];
      result->operations += thread.done();
      result->thread_seconds += static_cast<double>(thread.busy_nanos()) / 1e9;
      result->bytes += thread.bytes();
      result->found += thread.found();
      result->asked += thread.asked();
      result->latencies.Merge(thread.latencies());
    }
    if (workload.extra_thread) result->writer_operations = threads.back()->done();
    for (const absl::Status& status : statuses) RETURN_IF_ERROR(status);
    return absl::OkStatus();
  }

  // Returns when no thread runs.
  void ShowProgress(const Workload& workload, const std::vector<std::unique_ptr<BenchThread>>& threads, Mutex* mutex,
                    CondVar* changed, const int* running) {
    Progress progress(workload.name, TotalOperations(workload, options_), err_, StandardErrorIsTerminal());
    uint64_t interval_begin = NowNanos();
    uint64_t interval_done = 0;
    MutexLock lock(mutex);
    while (*running > 0) {
      changed->WaitFor(mutex, 100'000);
      uint64_t done = 0;
      for (const auto& thread : threads) done += thread->done();
      progress.Update(done);
      if (recorder_ != nullptr) recorder_->Tick(done, db_.get());
      const double since = static_cast<double>(NowNanos() - interval_begin) / 1e9;
      if (options_.stats_interval_seconds > 0 && since >= options_.stats_interval_seconds) {
        progress.Tell(absl::StrFormat("%s: %.0f ops/sec in the last %.1f s\n", workload.name,
                                      static_cast<double>(done - interval_done) / since, since));
        interval_begin = NowNanos();
        interval_done = done;
      }
    }
  }

  const DbBenchOptions& options_;
  const Options& engine_options_;
  std::ostream& out_;
  std::ostream& err_;
  static constexpr double kYcsbTheta = 0.99;

  std::unique_ptr<DB> db_;
  std::vector<std::shared_ptr<ColumnFamily>> families_;  // but the default one
  uint64_t place_ = 0;                                   // of the next benchmark among those that are measured
  std::unique_ptr<BenchRecorder> recorder_;              // null: the run is not recorded
};

double OperationsPerSecond(const BenchResult& result) {
  return result.seconds > 0 ? static_cast<double>(result.operations) / result.seconds : 0;
}
double WritesPerSecond(const BenchResult& result) {
  return result.seconds > 0 ? static_cast<double>(result.writer_operations.value_or(0)) / result.seconds : 0;
}
double MicrosPerOperation(const BenchResult& result) {
  return result.operations > 0 ? result.thread_seconds * 1e6 / static_cast<double>(result.operations) : 0;
}
double MebibytesPerSecond(const BenchResult& result) {
  return result.seconds > 0 ? static_cast<double>(result.bytes) / (1 << 20) / result.seconds : 0;
}

}  // namespace

std::string FormatResult(const BenchResult& result) {
  std::string line =
      absl::StrFormat("%-12s : %11.3f micros/op %.0f ops/sec %.3f seconds %d operations;", result.name,
                      MicrosPerOperation(result), OperationsPerSecond(result), result.seconds, result.operations);
  if (result.bytes > 0) absl::StrAppendFormat(&line, " %6.1f MB/s", MebibytesPerSecond(result));
  if (result.asked > 0) absl::StrAppendFormat(&line, " (%d of %d found)", result.found, result.asked);
  if (result.writer_operations.has_value()) {
    absl::StrAppendFormat(&line, " beside %.0f writes/sec", WritesPerSecond(result));
  }
  return line;
}

std::string FormatResultJson(const BenchResult& result, bool histogram) {
  nlohmann::json json = {{"schema_version", kJsonSchemaVersion},
                         {"benchmark", result.name},
                         {"threads", result.threads},
                         {"operations", result.operations},
                         {"seconds", result.seconds},
                         {"micros_per_op", MicrosPerOperation(result)},
                         {"ops_per_second", OperationsPerSecond(result)},
                         {"bytes", result.bytes}};
  if (result.asked > 0) {
    json["found"] = result.found;
    json["asked"] = result.asked;
  }
  if (result.writer_operations.has_value()) json["writes_per_second"] = WritesPerSecond(result);
  if (histogram) {
    json["latency_micros"] = {{"mean", result.latencies.MeanNanos() / 1e3},
                              {"p50", result.latencies.PercentileNanos(50) / 1e3},
                              {"p99", result.latencies.PercentileNanos(99) / 1e3},
                              {"p99.9", result.latencies.PercentileNanos(99.9) / 1e3},
                              {"p99.99", result.latencies.PercentileNanos(99.99) / 1e3},
                              {"max", static_cast<double>(result.latencies.MaximumNanos()) / 1e3}};
  }
  return json.dump();
}

absl::Status RunBenchmarks(const DbBenchOptions& options, const Options& engine_options, std::ostream& out,
                           std::ostream& err) {
  return DbBench(options, engine_options, out, err).Run();
}

namespace {

int ParseAndRun(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  DbBenchOptions options;
  if (std::optional<int> exit = ParseDbBenchFlags(argc, argv, &options, out, err)) return *exit;
  const absl::StatusOr<Options> engine_options = options.EngineOptions();
  if (!engine_options.ok()) {
    err << CalledName(argv) << ": " << engine_options.status().ToString() << "\n";
    return kExitUsage;
  }
  const absl::Status status = RunBenchmarks(options, *engine_options, out, err);
  if (status.ok()) return kExitOk;
  err << CalledName(argv) << ": " << status.ToString() << "\n";
  return absl::IsDataLoss(status) ? kExitDamage : kExitError;
}

}  // namespace

int DbBenchMain(int argc, const char* const* argv, std::ostream& out, std::ostream& err) {
  return ExitOfOutput(ParseAndRun(argc, argv, out, err), CalledName(argv), out, err);
}

}  // namespace sepal::tools

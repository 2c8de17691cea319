#include "bench/compare/scenario.h"

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "absl/strings/str_format.h"
#include "bench/compare/page_cache.h"
#include "bench/compare/recovery.h"
#include "bench/compare/updates.h"
#include "bench/compare/ycsb.h"
#include "sepal/env.h"
#include "tools/db_bench/process_metrics.h"
#include "tools/db_bench/workload.h"
#include "util/thread/sync.h"

namespace sepal::compare {
namespace {

constexpr WorkloadEntry kWorkloads[] = {
    {"fillseq", "puts in key order"},
    {"fillrandom", "puts of random keys, about a third of them overwrites"},
    {"fillbatch", "puts in key order in batches of 100"},
    {"fillsync", "durable puts of random keys, at most 10,000; with 4 threads or more where 2 or more are asked for"},
    {"recovery",
     "openings after the death of a process that had everything in the log only, that is about 1.2 times the "
     "bytes of all entries: every engine's memtables are large enough (LevelDB, which has at most two of 1 "
     "GiB, does no background work, and is left out beyond), and it is made sure; entries a second"},
    {"incrementrandom", "additions to counters of 1,000 keys, by the engine's merge where it has one"},
    {"deleterangemix", "puts of random keys, and for each 100th the deletion of a range of 10 keys"},
    {"ycsbload", "puts of every key once in random order, for YCSB's workloads"},
    {"filluniquerandom", "puts of every key once in random order"},
    {"readrandom", "gets of present keys"},
    {"readmissing", "gets of absent keys between present ones"},
    {"readhot", "gets of present keys among 1 % of all"},
    {"multireadrandom", "gets of present keys, 64 at a time"},
    {"seekrandom", "a seek and 10 steps forward"},
    {"readseq", "steps forward over everything"},
    {"readreverse", "steps backward over everything"},
    {"readwhilewriting", "gets of present keys beside one writer (--writes_per_second)"},
    {"coldreadrandom", "gets of present keys, nothing but metadata in memory"},
    {"coldreadmissing", "gets of absent keys, nothing but metadata in memory"},
    {"coldmultireadrandom", "gets of present keys, 64 at a time, nothing but metadata in memory"},
    {"overwrite", "puts of random present keys, as many as entries, or for --duration"},
    {"openloop", "puts of random present keys at fixed times (--arrivals_per_second), each late from its own time on"},
    {"deleterandom", "deletions of random keys"},
    {"compact", "a full manual compaction after an eighth was overwritten; entries a second"},
    {"ycsba", "YCSB's A: 50 % reads and 50 % updates of keys of a Zipf distribution (0.99)"},
    {"ycsbb", "YCSB's B: 95 % reads, 5 % updates"},
    {"ycsbc", "YCSB's C: reads"},
    {"ycsbd", "YCSB's D: 95 % reads, mostly of what was inserted last, 5 % inserts"},
    {"ycsbe", "YCSB's E: 95 % scans of 1 to 100 entries, 5 % inserts; an eighth as many operations as entries"},
    {"ycsbf", "YCSB's F: 50 % reads, 50 % reads with an update of what was read"},
    {"ycsbsettle", "the wait for background work after YCSB's workloads; entries a second"},
};
constexpr size_t kFirstOnUniqueFill = 9, kYcsbWorkloads = 7;
constexpr uint64_t kKeysOfMultiGet = 64;
// Cold reads are few, so that hardly any block is met twice.
constexpr uint64_t kEntriesPerColdRead = 100;
constexpr uint64_t kFastStride = 8;  // of operations of a microsecond, every eighth is timed

// All but the fill before them.
std::span<const WorkloadEntry> YcsbWorkloads() { return AllWorkloads().last(kYcsbWorkloads); }
bool IsYcsb(const std::string& workload) {
  return std::any_of(YcsbWorkloads().begin(), YcsbWorkloads().end(),
                     [&](const WorkloadEntry& entry) { return workload == entry.name; });
}

void RequireFound(const std::string& workload, uint64_t found, uint64_t expected) {
  if (found != expected) Fail(workload, absl::StrFormat("found %d keys, expected %d", found, expected));
}

class Scenario {
 public:
  Scenario(const CompareOptions& options, int threads, uint64_t entries_seed)
      : options_(options), threads_(threads), seed_(entries_seed), shuffle_(options.entries, options.seed) {}

  using Report = std::function<void(const Totals&)>;

  void Run(const std::string& workload, Meter* meter, Engine* engine, const Report& report) {
    if (workload == "fillseq") report(Fill(meter, workload, [](uint64_t i) { return i; }));
    if (workload == "fillrandom") {
      report(FillDrawn(meter, {.name = workload, .threads = threads_, .operations = options_.entries, .finish = true},
                       false));
    }
    if (workload == "fillbatch") report(FillBatch(meter));
    if (workload == "fillsync") {
      report(FillDrawn(meter,
                       {.name = workload,
                        .threads = threads_ > 1 ? std::max(4, threads_) : 1,
                        .operations = std::min<uint64_t>(10'000, options_.entries / 20 + 1)},
                       true));
    }
    if (workload == "incrementrandom") report(RunIncrements(options_, threads_, seed_, meter));
    if (workload == "deleterangemix") report(RunRangeDeletes(options_, threads_, seed_, meter));
    if (workload == "filluniquerandom" || workload == "ycsbload")
      report(Fill(meter, workload, [this](uint64_t i) { return shuffle_(i); }));
    const uint64_t cold_reads = std::max<uint64_t>(1, options_.entries / kEntriesPerColdRead);
    if (workload == "readrandom") report(Read(meter, workload, options_.entries, options_.entries, true));
    if (workload == "readmissing") report(Read(meter, workload, options_.entries, options_.entries, false));
    if (workload == "readhot") {
      report(Read(meter, workload, options_.entries, (options_.entries + 99) / 100, true));
    }
    if (workload == "multireadrandom") report(MultiRead(meter, workload, options_.entries));
    if (workload == "coldreadrandom") report(Read(meter, workload, cold_reads, options_.entries, true));
    if (workload == "coldreadmissing") report(Read(meter, workload, cold_reads, options_.entries, false));
    if (workload == "coldmultireadrandom") report(MultiRead(meter, workload, cold_reads));
    if (workload == "seekrandom") report(SeekRandom(meter));
    if (workload == "readseq") report(Scan(meter, workload, true));
    if (workload == "readreverse") report(Scan(meter, workload, false));
    if (workload == "readwhilewriting") report(ReadWhileWriting(meter, engine));
    if (workload == "overwrite") report(Overwrite(meter));
    if (workload == "openloop") report(OpenLoop(meter));
    if (workload == "deleterandom") report(DeleteRandom(meter));
    if (workload == "compact") Compact(meter, engine, report);
    if (IsYcsb(workload)) {
      if (!ycsb_.has_value()) ycsb_.emplace(options_, threads_, seed_);
      report(ycsb_->Run(workload, meter));
    }
  }

  // Brings indexes and filters into memory, and no data.
  void WarmMetadata(Engine* engine) {
    std::unique_ptr<Session> session = engine->NewSession();
    tools::KeyBuffer key(options_.key_bytes);
    Random draws(seed_ + 77);
    std::string_view value;
    for (uint64_t i = 0; i < options_.entries / 20; ++i) {
      (void)session->Get(FormatMissing(&key, draws.Uniform(options_.entries)), &value);
    }
  }

 private:
  std::string_view Format(tools::KeyBuffer* key, uint64_t number) const {
    return key->Format(NumberInKey(options_, number));
  }
  std::string_view FormatMissing(tools::KeyBuffer* key, uint64_t number) const {
    return key->FormatMissing(NumberInKey(options_, number));
  }
  uint64_t EntryBytes() const { return static_cast<uint64_t>(options_.key_bytes + options_.value_bytes); }
  tools::ValueGenerator Values(int thread) const {
    return tools::ValueGenerator(options_.compression_ratio, seed_ + static_cast<uint64_t>(thread),
                                 static_cast<size_t>(options_.value_bytes));
  }
  Random Draws(const Worker* worker) const { return Random(seed_ * 1000 + static_cast<uint64_t>(worker->index)); }
  uint64_t FirstOf(const Worker* worker) const {
    return options_.entries * static_cast<uint64_t>(worker->index) / static_cast<uint64_t>(worker->threads);
  }

  template <class KeyOf>
  Totals Fill(Meter* meter, const std::string& workload, KeyOf key_of) {
    const WorkloadPlan plan{.name = workload,
                            .threads = threads_,
                            .operations = options_.entries,
                            .finish = true,
                            .written_bytes_each = EntryBytes()};
    return meter->Run(plan, [&](Worker* worker) {
      tools::KeyBuffer key(options_.key_bytes);
      tools::ValueGenerator values = Values(worker->index);
      const uint64_t first = FirstOf(worker);
      worker->Loop(kFastStride, [&](uint64_t i) {
        worker->session->Put(Format(&key, key_of(first + i)), values.Next(static_cast<size_t>(options_.value_bytes)),
                             false);
      });
    });
  }

  Totals Overwrite(Meter* meter) {
    return FillDrawn(meter,
                     {.name = "overwrite",
                      .threads = threads_,
                      .operations = options_.entries,
                      .seconds = options_.duration_seconds,
                      .finish = true},
                     false);
  }

  // Puts of keys drawn among all.
  Totals FillDrawn(Meter* meter, WorkloadPlan plan, bool sync) {
    plan.written_bytes_each = EntryBytes();
    return meter->Run(plan, [&](Worker* worker) {
      tools::KeyBuffer key(options_.key_bytes);
      tools::ValueGenerator values = Values(worker->index);
      Random draws = Draws(worker);
      worker->Loop(sync ? 1 : kFastStride, [&](uint64_t) {
        worker->session->Put(Format(&key, draws.Uniform(options_.entries)),
                             values.Next(static_cast<size_t>(options_.value_bytes)), sync);
      });
    });
  }

  Totals FillBatch(Meter* meter) {
    constexpr uint64_t kBatch = 100;
    const WorkloadPlan plan{.name = "fillbatch",
                            .threads = threads_,
                            .operations = options_.entries / kBatch,
                            .finish = true,
                            .written_bytes_each = kBatch * EntryBytes()};
    Totals totals = meter->Run(plan, [&](Worker* worker) {
      tools::KeyBuffer key(options_.key_bytes);
      tools::ValueGenerator values = Values(worker->index);
      std::vector<Entry> batch(kBatch);
      uint64_t next = FirstOf(worker);
      worker->Loop(1, [&](uint64_t) {
        for (Entry& entry : batch) {
          entry.key = Format(&key, next++);
          entry.value = values.Next(static_cast<size_t>(options_.value_bytes));
        }
        worker->session->PutBatch(batch);
      });
    });
    totals.measurement.operations *= kBatch;
    totals.measurement.cpu_micros_per_op /= static_cast<double>(kBatch);
    return totals;
  }

  Totals Read(Meter* meter, const std::string& workload, uint64_t reads, uint64_t range, bool present) {
    Totals totals = meter->Run({.name = workload, .threads = threads_, .operations = reads}, [&](Worker* worker) {
      tools::KeyBuffer key(options_.key_bytes);
      Random draws = Draws(worker);
      worker->Loop(kFastStride, [&](uint64_t) {
        const uint64_t number = draws.Uniform(range);
        std::string_view value;
        if (worker->session->Get(present ? Format(&key, number) : FormatMissing(&key, number), &value)) {
          ++worker->found;
          worker->Touch(value);
        }
      });
    });
    RequireFound(workload, totals.found, present ? reads : 0);
    return totals;
  }

  Totals MultiRead(Meter* meter, const std::string& workload, uint64_t reads) {
    constexpr uint64_t kKeys = kKeysOfMultiGet;
    const uint64_t calls = std::max<uint64_t>(1, reads / kKeys);
    Totals totals = meter->Run({.name = workload, .threads = threads_, .operations = calls}, [&](Worker* worker) {
      std::vector<tools::KeyBuffer> buffers(kKeys, tools::KeyBuffer(options_.key_bytes));
      std::vector<std::string_view> keys(kKeys);
      std::vector<std::string_view> values(kKeys);
      Random draws = Draws(worker);
      worker->Loop(1, [&](uint64_t) {
        for (size_t i = 0; i < kKeys; ++i) keys[i] = Format(&buffers[i], draws.Uniform(options_.entries));
        worker->found += worker->session->MultiGet(keys, values);
        for (std::string_view value : values) worker->Touch(value);
      });
    });
    RequireFound(workload, totals.found, calls * kKeys);
    totals.measurement.operations *= kKeys;
    totals.measurement.cpu_micros_per_op /= static_cast<double>(kKeys);
    return totals;
  }

  Totals SeekRandom(Meter* meter) {
    const uint64_t seeks = std::max<uint64_t>(1, options_.entries / 4);
    return meter->Run({.name = "seekrandom", .threads = threads_, .operations = seeks}, [&](Worker* worker) {
      tools::KeyBuffer key(options_.key_bytes);
      Random draws = Draws(worker);
      std::unique_ptr<Cursor> cursor = worker->session->NewCursor();
      worker->Loop(kFastStride, [&](uint64_t) {
        cursor->Seek(Format(&key, draws.Uniform(options_.entries)));
        for (int step = 0; step < 10 && cursor->Valid(); ++step) {
          worker->Touch(cursor->key());
          worker->Touch(cursor->value());
          cursor->Next();
        }
      });
    });
  }

  Totals Scan(Meter* meter, const std::string& workload, bool forward) {
    Totals totals =
        meter->Run({.name = workload, .threads = threads_, .operations = options_.entries}, [&](Worker* worker) {
          tools::KeyBuffer key(options_.key_bytes);
          std::unique_ptr<Cursor> cursor = worker->session->NewCursor();
          const uint64_t first = FirstOf(worker);
          cursor->Seek(Format(&key, forward ? first : first + worker->operations - 1));
          worker->Loop(kFastStride * 8, [&](uint64_t) {
            if (!cursor->Valid()) return;
            ++worker->found;
            worker->Touch(cursor->key());
            worker->Touch(cursor->value());
            forward ? cursor->Next() : cursor->Prev();
          });
        });
    RequireFound(workload, totals.found, options_.entries);
    return totals;
  }

  Totals ReadWhileWriting(Meter* meter, Engine* engine) {
    std::atomic<bool> stop = false;
    Thread writer([&] {
      std::unique_ptr<Session> session = engine->NewSession();
      tools::KeyBuffer key(options_.key_bytes);
      tools::ValueGenerator values = Values(1000);
      Random draws(seed_ + 1000);
      const uint64_t begin = tools::NowNanos();
      // A few puts each millisecond; missed ones are made up for.
      for (uint64_t written = 0; !stop.load(std::memory_order_relaxed);) {
        const uint64_t due = (tools::NowNanos() - begin) / (1'000'000'000 / options_.writes_per_second);
        for (; written < due; ++written) {
          session->Put(Format(&key, draws.Uniform(options_.entries)),
                       values.Next(static_cast<size_t>(options_.value_bytes)), false);
        }
        Clock::System()->SleepMicros(1000);
      }
    });
    Totals totals = Read(meter, "readwhilewriting", options_.entries, options_.entries, true);
    stop.store(true, std::memory_order_relaxed);
    writer.Join();
    engine->FinishBackgroundWork();
    return totals;
  }

  // A slow put delays the following ones, as with independent clients. The thread does not sleep: timers are late by
  // more than a put takes.
  Totals OpenLoop(Meter* meter) {
    const uint64_t arrivals = options_.arrivals_per_second * options_.open_loop_seconds;
    return meter->Run({.name = "openloop", .operations = arrivals}, [&](Worker* worker) {
      tools::KeyBuffer key(options_.key_bytes);
      tools::ValueGenerator values = Values(worker->index);
      Random draws = Draws(worker);
      const uint64_t begin = tools::NowNanos();
      for (uint64_t i = 0; i < worker->operations; ++i) {
        const uint64_t due = begin + i * 1'000'000'000 / options_.arrivals_per_second;
        while (tools::NowNanos() < due) {
        }
        worker->session->Put(Format(&key, draws.Uniform(options_.entries)),
                             values.Next(static_cast<size_t>(options_.value_bytes)), false);
        worker->latencies.Add(tools::NowNanos() - due);
      }
    });
  }

  Totals DeleteRandom(Meter* meter) {
    const WorkloadPlan plan{.name = "deleterandom",
                            .threads = threads_,
                            .operations = options_.entries / 2,
                            .finish = true,
                            .written_bytes_each = static_cast<uint64_t>(options_.key_bytes)};
    return meter->Run(plan, [&](Worker* worker) {
      tools::KeyBuffer key(options_.key_bytes);
      Random draws = Draws(worker);
      worker->Loop(kFastStride,
                   [&](uint64_t) { worker->session->Delete(Format(&key, draws.Uniform(options_.entries))); });
    });
  }

  // Of the database with an eighth of it overwritten in the memtable, so that there is something to merge.
  void Compact(Meter* meter, Engine* engine, const Report& report) {
    std::unique_ptr<Session> session = engine->NewSession();
    tools::KeyBuffer key(options_.key_bytes);
    tools::ValueGenerator values = Values(0);
    Random draws(seed_);
    for (uint64_t i = 0; i < options_.entries / 8; ++i) {
      session->Put(Format(&key, draws.Uniform(options_.entries)),
                   values.Next(static_cast<size_t>(options_.value_bytes)), false);
    }
    bool done = false;
    Totals totals = meter->Run({.name = "compact", .operations = 1, .finish = true}, [&](Worker* worker) {
      worker->Loop(1, [&](uint64_t) { done = engine->CompactAll(); });
    });
    totals.measurement.operations = options_.entries;
    totals.measurement.cpu_micros_per_op /= static_cast<double>(options_.entries);
    if (done) report(totals);
  }

  const CompareOptions& options_;
  const int threads_;
  const uint64_t seed_;
  const tools::Permutation shuffle_;
  std::optional<Ycsb> ycsb_;
};

bool Wanted(const CompareOptions& options, const std::string& workload) {
  return options.workloads.empty() ||
         std::find(options.workloads.begin(), options.workloads.end(), workload) != options.workloads.end();
}

bool IsCold(const std::string& workload) { return workload.starts_with("cold"); }

// The workloads of a scenario, in order; the scenario's own fill comes first.
std::vector<std::string> WorkloadsOf(const std::string& scenario) {
  std::vector<std::string> names = {scenario};
  std::span<const WorkloadEntry> more;
  if (scenario == "ycsbload") more = YcsbWorkloads();
  if (scenario == "filluniquerandom") {
    more = AllWorkloads().subspan(kFirstOnUniqueFill, AllWorkloads().size() - kFirstOnUniqueFill - kYcsbWorkloads);
  }
  for (const WorkloadEntry& entry : more) names.emplace_back(entry.name);
  return names;
}

}  // namespace

std::span<const WorkloadEntry> AllWorkloads() { return kWorkloads; }

bool IsWorkload(const std::string& name) {
  return std::any_of(std::begin(kWorkloads), std::end(kWorkloads),
                     [&](const WorkloadEntry& entry) { return name == entry.name; });
}

std::vector<std::string> ScenariosFor(const CompareOptions& options) {
  std::vector<std::string> scenarios;
  for (const WorkloadEntry& entry : AllWorkloads().first(kFirstOnUniqueFill)) {
    const std::vector<std::string> workloads = WorkloadsOf(entry.name);
    if (std::any_of(workloads.begin(), workloads.end(), [&](const std::string& w) { return Wanted(options, w); })) {
      scenarios.emplace_back(entry.name);
    }
  }
  return scenarios;
}

void RunScenario(const std::string& scenario, const EngineEntry& engine, int threads, int round,
                 const CompareOptions& options, const std::function<void(const Measurement&)>& report) {
  const std::string path = options.directory + "/" + engine.name;
  const uint64_t resident_before = tools::ResidentBytes();
  EngineSettings settings{.path = path,
                          .memory_bytes = options.memory_bytes,
                          .memtable_bytes = options.memtable_bytes,
                          .filter_bits_per_key = options.filter_bits_per_key,
                          .entries = options.entries,
                          .entry_bytes = static_cast<size_t>(options.key_bytes + options.value_bytes),
                          .separate_from = options.separate_from,
                          .compress = options.compress,
                          .counters = scenario == "incrementrandom"};
  const auto note = [&](Measurement measurement) {
    measurement.engine = engine.name;
    measurement.threads = threads;
    measurement.round = round;
    report(measurement);
  };
  if (scenario == "recovery") {
    MeasureRecovery(engine, options, settings, note);
  } else {
    std::unique_ptr<Engine> opened = engine.open(settings);
    Scenario run(options, threads, options.seed + static_cast<uint64_t>(round));
    if (scenario == "ycsbload" && options.direct_reads) {
      if (!engine.has_direct_reads) return;
      opened.reset();
      settings.direct_reads = true;
      opened = engine.open(settings);
    }
    for (const std::string& workload : WorkloadsOf(scenario)) {
      // Later workloads need the fill, wanted or not.
      if (workload != scenario && !Wanted(options, workload)) continue;
      if (IsCold(workload)) {
        if (options.direct_reads && !engine.has_direct_reads) continue;
        opened.reset();
        DropFromPageCache(path);
        settings.direct_reads = options.direct_reads;
        opened = engine.open(settings);
        run.WarmMetadata(opened.get());
        DropFromPageCache(path);
      }
      Meter meter(opened.get(), settings, resident_before);
      run.Run(workload, &meter, opened.get(), [&](const Totals& totals) {
        if (Wanted(options, workload)) note(totals.measurement);
      });
    }
  }
  std::filesystem::remove_all(path);
}

}  // namespace sepal::compare

// The C interface: statistics, the costs of calls, and the environment of a database.
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "absl/strings/str_format.h"
#include "db/c/c_types.h"

namespace {

class CallbackClock final : public sepal::Clock {
 public:
  uint64_t MonotonicMicros() override { return monotonic(state); }
  uint64_t UnixMicros() override { return unix_time(state); }
  void SleepMicros(uint64_t micros) override { sleep(state, micros); }

  void* state = nullptr;
  uint64_t (*monotonic)(void*) = nullptr;
  uint64_t (*unix_time)(void*) = nullptr;
  void (*sleep)(void*, uint64_t) = nullptr;
};

class CallbackExecutor final : public sepal::Executor {
 public:
  void Schedule(Priority priority, std::function<void()> work) override {
    schedule(state, static_cast<int>(priority), &Run, new std::function<void()>(std::move(work)));
  }
  int CompactionConcurrency() const override { return concurrency; }

  void* state = nullptr;
  int concurrency = 1;
  void (*schedule)(void*, int, void (*)(void*), void*) = nullptr;

 private:
  static void Run(void* work) {
    const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(work));
    (*owned)();
  }
};

// Returns the enumerator before kCount that has this name.
template <class Enum>
std::optional<Enum> Named(std::string_view name) {
  for (size_t i = 0; i < static_cast<size_t>(Enum::kCount); ++i) {
    if (sepal::Name(static_cast<Enum>(i)) == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

bool IsLevel(int level) { return level >= 0 && level < sepal::kMaxLevels; }

sepal_filter_statistics_t FilterOf(const sepal::LevelFilterStatistics& f) {
  return {.lookups = f.lookups,
          .guard_rejections = f.guard_rejections,
          .lane_rejections = f.lane_rejections,
          .blocks_searched = f.blocks_searched,
          .false_positives = f.false_positives,
          .observed_rate = f.ObservedRate()};
}

}  // namespace

extern "C" {

// --- statistics ---

char* sepal_statistics_prometheus(sepal_t* db) { return sepal::NewCopy(db->rep->statistics().ToPrometheus()); }
char* sepal_statistics_string(sepal_t* db) { return sepal::NewCopy(db->rep->statistics().ToString()); }
void sepal_statistics_reset(sepal_t* db) { db->rep->statistics().Reset(); }

unsigned char sepal_statistics_ticker(sepal_t* db, const char* name, uint64_t* value) {
  const std::optional<sepal::Ticker> ticker = Named<sepal::Ticker>(name);
  if (ticker.has_value()) *value = db->rep->statistics().Get(*ticker);
  return ticker.has_value();
}

unsigned char sepal_statistics_histogram(sepal_t* db, const char* name, sepal_histogram_t* value, size_t size) {
  const std::optional<sepal::Histogram> histogram = Named<sepal::Histogram>(name);
  if (!histogram.has_value()) return 0;
  const sepal::HistogramSummary s = db->rep->statistics().Get(*histogram);
  const sepal_histogram_t whole = {.count = s.count,
                                   .average = s.average,
                                   .minimum = s.minimum,
                                   .maximum = s.maximum,
                                   .p50 = s.p50,
                                   .p95 = s.p95,
                                   .p99 = s.p99,
                                   .p999 = s.p999,
                                   .p9999 = s.p9999};
  sepal::ToCaller(whole, value, size);
  return 1;
}

unsigned char sepal_statistics_filter(sepal_t* db, int level, sepal_filter_statistics_t* value, size_t size) {
  if (!IsLevel(level)) return 0;
  sepal::ToCaller(FilterOf(db->rep->statistics().GetFilter(level)), value, size);
  return 1;
}

unsigned char sepal_statistics_thread_ticker(sepal_t* db, const char* name, uint64_t* value) {
  const std::optional<sepal::Ticker> ticker = Named<sepal::Ticker>(name);
  if (ticker.has_value()) *value = db->rep->statistics().GetThisThread().tickers[static_cast<size_t>(*ticker)];
  return ticker.has_value();
}

unsigned char sepal_statistics_thread_filter(sepal_t* db, int level, sepal_filter_statistics_t* value, size_t size) {
  if (!IsLevel(level)) return 0;
  sepal::ToCaller(FilterOf(db->rep->statistics().GetThisThread().filters[static_cast<size_t>(level)]), value, size);
  return 1;
}

// --- what calls cost ---

sepal_perfcontext_t* sepal_perfcontext_create(sepal_t* db) {
  return new sepal_perfcontext_t{sepal::PerfContext(*db->rep)};
}
void sepal_perfcontext_destroy(sepal_perfcontext_t* context) { delete context; }
void sepal_perfcontext_reset(sepal_perfcontext_t* context) { context->rep.Reset(); }

unsigned char sepal_perfcontext_metric(const sepal_perfcontext_t* context, const char* name, uint64_t* value) {
  const std::string_view wanted = name;
  if (wanted == "call.micros") {
    *value = context->rep.CallMicros();
    return 1;
  }
  for (size_t i = 0; i < sepal::kPerfParts; ++i) {
    const auto part = static_cast<sepal::PerfPart>(i);
    if (wanted != absl::StrFormat("call.%s.micros", sepal::Name(part))) continue;
    *value = context->rep.Micros(part);
    return 1;
  }
  const std::optional<sepal::Ticker> ticker = Named<sepal::Ticker>(wanted);
  if (ticker.has_value()) *value = context->rep.Get(*ticker);
  return ticker.has_value();
}

unsigned char sepal_perfcontext_filter(const sepal_perfcontext_t* context, int level, sepal_filter_statistics_t* value,
                                       size_t size) {
  if (!IsLevel(level)) return 0;
  sepal::ToCaller(FilterOf(context->rep.GetFilter(level)), value, size);
  return 1;
}

char* sepal_perfcontext_string(const sepal_perfcontext_t* context) { return sepal::NewCopy(context->rep.ToString()); }

// --- the world ---

sepal_env_t* sepal_create_default_env(void) { return new sepal_env_t; }
void sepal_env_destroy(sepal_env_t* env) { delete env; }

char* sepal_env_get_test_directory(sepal_env_t*) {
  const char* given = std::getenv("TEST_TMPDIR");
  const std::string path = given != nullptr && *given != '\0' ? given : absl::StrFormat("/tmp/sepaltest-%d", geteuid());
  struct stat status;
  if (mkdir(path.c_str(), 0700) != 0 && (stat(path.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))) return nullptr;
  return sepal::NewCopy(path);
}

void sepal_env_set_random_seed(sepal_env_t* env, uint64_t seed) { env->rep.random_seed = seed; }

void sepal_env_set_clock(sepal_env_t* env, void* state, uint64_t (*monotonic_micros)(void*),
                         uint64_t (*unix_micros)(void*), void (*sleep_micros)(void*, uint64_t)) {
  auto clock = std::make_unique<CallbackClock>();
  clock->state = state;
  clock->monotonic = monotonic_micros;
  clock->unix_time = unix_micros;
  clock->sleep = sleep_micros;
  env->rep.clock = clock.get();
  env->clocks.push_back(std::move(clock));
}

void sepal_env_set_executor(sepal_env_t* env, void* state, int concurrency,
                            void (*schedule)(void*, int, void (*)(void*), void*)) {
  auto executor = std::make_unique<CallbackExecutor>();
  executor->state = state;
  executor->concurrency = concurrency;
  executor->schedule = schedule;
  env->rep.executor = executor.get();
  env->executors.push_back(std::move(executor));
}

void sepal_options_set_env(sepal_options_t* options, sepal_env_t* env) { options->env = env; }

}  // extern "C"

// Measures users' calls: for latency histograms, for PerfContexts, and to report slow calls.
//
// With all of them off, a call costs a load of a field of the core, a load of a thread-local, and a branch. Reading the
// clock twice costs some percent of a lookup, so histograms alone sample one call in kSampleOneIn of each thread; rare
// calls are always measured.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/act/files/info_log.h"
#include "sepal/event_listener.h"
#include "sepal/options.h"
#include "util/stats/perf_times.h"
#include "util/stats/statistics_impl.h"

namespace sepal {

// One for each database. Safe for concurrent use.
class CallWatch {
 public:
  // All must outlive the watch.
  CallWatch(const Options& options, Clock* clock, StatisticsImpl* statistics, InfoLog* info_log)
      : histograms_(options.latency_histograms),
        slow_micros_(options.slow_call_micros),
        clock_(clock),
        statistics_(statistics),
        info_log_(info_log),
        listeners_(options.listeners) {}

  // The properties that decide whether a call is measured.
  struct Kind {
    std::string_view name;
    std::optional<Histogram> histogram = {};
    bool rare = false;  // takes so long that measuring always pays
  };
  // The subject of a call; the views live as long as the call.
  struct Subject {
    std::string_view column_family = {};
    std::string_view key = {};
    // `batch`: the bytes of a write, from which its first key is taken. `key_buffer`: where an iterator keeps its key.
    std::string_view batch = {};
    const std::string* key_buffer = nullptr;
  };

 private:
  friend class WatchedCall;
  static constexpr uint32_t kSampleOneIn = 64;

  // Returns whether to measure the call. `counters_of` returns the calling thread's counters, for a call that may be
  // sampled.
  template <class CountersOf>
  bool Wants(const Kind& kind, CountersOf counters_of) const {
    if (slow_micros_ > 0 || PerfTimesOfThread().clock != nullptr) return true;
    if (!histograms_ || !kind.histogram.has_value()) return false;
    return kind.rare || counters_of().TakesSample(kSampleOneIn);
  }
  void Tell(std::string_view call, const Subject& subject, uint64_t micros, const PerfTimes& before, uint64_t reads,
            uint64_t read_bytes);
  // Returns whether a line may be written now, and how many were left out before it.
  bool TakeLine(uint64_t now_micros, uint64_t* left_out) ABSL_LOCKS_EXCLUDED(mutex_);

  const bool histograms_;
  const uint64_t slow_micros_;
  Clock* const clock_;
  StatisticsImpl* const statistics_;
  InfoLog* const info_log_;
  const std::vector<std::shared_ptr<EventListener>> listeners_;

  Mutex mutex_;
  uint64_t second_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t lines_in_second_ ABSL_GUARDED_BY(mutex_) = 0;
  uint64_t left_out_ ABSL_GUARDED_BY(mutex_) = 0;
};

// Measures a call while it lives. Created before any lock is taken or epoch entered.
class WatchedCall {
 public:
  // `counters`: the calling thread's, from the watch's statistics. `subject_of` makes the CallWatch::Subject if the
  // call is measured.
  template <class SubjectOf>
  WatchedCall(CallWatch* watch, StatisticsImpl::ThreadCounters* counters, const CallWatch::Kind& kind,
              SubjectOf subject_of) {
    if (watch->Wants(kind, [counters] { return *counters; })) [[unlikely]]
      Begin(watch, kind, subject_of());
  }
  template <class SubjectOf>
  WatchedCall(CallWatch* watch, const CallWatch::Kind& kind, SubjectOf subject_of) {
    if (watch->Wants(kind, [watch] { return watch->statistics_->ForThisThread(); })) [[unlikely]]
      Begin(watch, kind, subject_of());
  }
  ~WatchedCall() {
    if (measured_.has_value()) [[unlikely]]
      End();
  }
  WatchedCall(const WatchedCall&) = delete;
  WatchedCall& operator=(const WatchedCall&) = delete;

 private:
  struct Measured {
    CallWatch* watch;
    CallWatch::Kind kind;
    CallWatch::Subject subject;
    Clock* outer_clock;
    PerfTimes before;
    uint64_t began = 0;
    uint64_t reads = 0, read_bytes = 0;
  };
  void Begin(CallWatch* watch, const CallWatch::Kind& kind, const CallWatch::Subject& subject);
  void End();

  // Empty for most calls, which initialise nothing but the flag.
  std::optional<Measured> measured_;
};

}  // namespace sepal

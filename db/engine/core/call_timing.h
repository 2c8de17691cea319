// What a user's call is measured for: its latency histogram, PerfContexts, and the watch for slow calls.
//
// With none of them on, a call pays a load of the core's, one of the thread's, and a branch. Reading the clock twice
// costs some percent of a lookup: histograms alone take one call in kSampleOneIn of each thread, but every one that is
// rare.
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

// Of one database. Safe for concurrent use.
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

  // What decides whether a call is measured.
  struct Kind {
    std::string_view name;
    std::optional<Histogram> histogram = {};
    bool rare = false;  // takes so long anyway that it is always measured
  };
  // What a call is about; views live as long as the call.
  struct Subject {
    std::string_view column_family = {};
    std::string_view key = {};
    // Of a write: its bytes, from which the first key is taken. Of an iterator's step: where it keeps the key.
    std::string_view batch = {};
    const std::string* key_buffer = nullptr;
  };

 private:
  friend class WatchedCall;
  static constexpr uint32_t kSampleOneIn = 64;

  // `counters_of` gives the calling thread's, of a call that may be a sample.
  template <class CountersOf>
  bool Wants(const Kind& kind, CountersOf counters_of) const {
    if (slow_micros_ > 0 || PerfTimesOfThread().clock != nullptr) return true;
    if (!histograms_ || !kind.histogram.has_value()) return false;
    return kind.rare || counters_of().TakesSample(kSampleOneIn);
  }
  void Tell(std::string_view call, const Subject& subject, uint64_t micros, const PerfTimes& before, uint64_t reads,
            uint64_t read_bytes);
  // Whether a line may be written now; how many were left out before it.
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

// A call, while it lives. Made before any lock is taken or epoch entered.
class WatchedCall {
 public:
  // `counters`: the calling thread's, of the watch's statistics. `subject_of` makes the CallWatch::Subject, of a call
  // that is measured.
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

  // Empty for most calls, which write no byte of it but that.
  std::optional<Measured> measured_;
};

}  // namespace sepal

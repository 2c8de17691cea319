#include "db/engine/core/call_timing.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include "db/format/batch_format.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

constexpr size_t kToldKeyBytes = 64;
// The info log gets at most this many lines a second about slow calls; listeners are told of every slow call.
constexpr uint64_t kLinesPerSecond = 10;

std::string_view FirstKey(const CallWatch::Subject& subject) {
  if (subject.key_buffer != nullptr) return *subject.key_buffer;
  if (subject.batch.empty()) return subject.key;
  BatchReader reader(subject.batch);
  BatchEntry entry;
  return reader.Next(&entry) ? entry.key : std::string_view();
}

std::string_view LargestPart(const SlowCallEvent& event) {
  uint64_t rest = event.micros;
  size_t largest = 0;
  for (size_t i = 0; i < kPerfParts; ++i) {
    rest -= std::min(rest, event.part_micros[i]);
    if (event.part_micros[i] > event.part_micros[largest]) largest = i;
  }
  return event.part_micros[largest] >= rest ? Name(static_cast<PerfPart>(largest)) : "processor";
}

}  // namespace

void WatchedCall::Begin(CallWatch* watch, const CallWatch::Kind& kind, const CallWatch::Subject& subject) {
  PerfTimes& times = PerfTimesOfThread();
  Measured& call = measured_.emplace(
      Measured{.watch = watch, .kind = kind, .subject = subject, .outer_clock = times.clock, .before = {}});
  if (watch->slow_micros_ > 0 || call.outer_clock != nullptr) {
    times.clock = watch->clock_;
    StatisticsImpl::ThreadCounters counters = watch->statistics_->ForThisThread();
    call.reads = counters.Get(Ticker::kBlockReads);
    call.read_bytes = counters.Get(Ticker::kBlockReadBytes);
  }
  call.before = times;
  call.began = watch->clock_->MonotonicMicros();
}

void WatchedCall::End() {
  CallWatch* const watch = measured_->watch;
  const std::optional<Histogram>& histogram = measured_->kind.histogram;
  const uint64_t micros = watch->clock_->MonotonicMicros() - measured_->began;
  PerfTimes& times = PerfTimesOfThread();
  times.call_micros += micros;
  if (watch->histograms_ && histogram.has_value()) watch->statistics_->Record(*histogram, micros);
  if (watch->slow_micros_ > 0 && micros >= watch->slow_micros_ && !times.telling) {
    StatisticsImpl::ThreadCounters counters = watch->statistics_->ForThisThread();
    counters.Add(Ticker::kSlowCalls);
    watch->Tell(measured_->kind.name, measured_->subject, micros, measured_->before,
                counters.Get(Ticker::kBlockReads) - measured_->reads,
                counters.Get(Ticker::kBlockReadBytes) - measured_->read_bytes);
  }
  times.clock = measured_->outer_clock;
}

void CallWatch::Tell(std::string_view call, const Subject& subject, uint64_t micros, const PerfTimes& before,
                     uint64_t reads, uint64_t read_bytes) {
  SlowCallEvent event;
  event.call = call;
  event.column_family = subject.column_family;
  event.key = FirstKey(subject).substr(0, kToldKeyBytes);
  event.micros = micros;
  const PerfTimes& after = PerfTimesOfThread();
  for (size_t i = 0; i < kPerfParts; ++i) event.part_micros[i] = after.micros[i] - before.micros[i];
  event.block_reads = reads;
  event.block_read_bytes = read_bytes;
  event.reason = LargestPart(event);

  uint64_t left_out = 0;
  if (TakeLine(clock_->MonotonicMicros(), &left_out)) {
    std::string line = absl::StrFormat("slow %s: %u us, most of it %s (", event.call, micros, event.reason);
    for (size_t i = 0; i < kPerfParts; ++i) {
      absl::StrAppendFormat(&line, "%s %u us, ", Name(static_cast<PerfPart>(i)), event.part_micros[i]);
    }
    absl::StrAppendFormat(&line, "%u blocks of %u bytes read)", reads, read_bytes);
    if (!event.column_family.empty()) absl::StrAppendFormat(&line, ", family %s", Printable(event.column_family));
    if (!event.key.empty()) absl::StrAppendFormat(&line, ", key \"%s\"", Printable(event.key));
    if (left_out > 0) absl::StrAppendFormat(&line, "; %u more before it", left_out);
    info_log_->Write(line);
  }
  PerfTimesOfThread().telling = true;
  for (const std::shared_ptr<EventListener>& listener : listeners_) listener->OnSlowCall(event);
  PerfTimesOfThread().telling = false;
}

bool CallWatch::TakeLine(uint64_t now_micros, uint64_t* left_out) {
  MutexLock lock(&mutex_);
  const uint64_t second = now_micros / 1'000'000;
  if (second != second_) {
    second_ = second;
    lines_in_second_ = 0;
  }
  if (lines_in_second_ == kLinesPerSecond) {
    ++left_out_;
    return false;
  }
  ++lines_in_second_;
  *left_out = std::exchange(left_out_, 0);
  return true;
}

}  // namespace sepal

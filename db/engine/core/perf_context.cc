#include "sepal/perf_context.h"

#include <utility>

#include "absl/strings/str_format.h"
#include "sepal/db.h"
#include "util/stats/perf_times.h"

namespace sepal {

namespace {

uint64_t Since(uint64_t now, uint64_t begin) { return now >= begin ? now - begin : 0; }  // less after Statistics::Reset

}  // namespace

PerfContext::PerfContext(DB& db)
    : statistics_(&db.statistics()), outer_clock_(std::exchange(PerfTimesOfThread().clock, Clock::System())) {
  Reset();
}

PerfContext::~PerfContext() { PerfTimesOfThread().clock = outer_clock_; }

void PerfContext::Reset() {
  counts_ = statistics_->GetThisThread();
  micros_ = PerfTimesOfThread().micros;
  call_micros_ = PerfTimesOfThread().call_micros;
}

uint64_t PerfContext::Get(Ticker ticker) const {
  const auto i = static_cast<size_t>(ticker);
  return Since(statistics_->GetThisThread().tickers[i], counts_.tickers[i]);
}

LevelFilterStatistics PerfContext::GetFilter(int level) const {
  if (level < 0 || level >= kMaxLevels) return {};
  const LevelFilterStatistics now = statistics_->GetThisThread().filters[static_cast<size_t>(level)];
  const LevelFilterStatistics& begin = counts_.filters[static_cast<size_t>(level)];
  return {.lookups = Since(now.lookups, begin.lookups),
          .guard_rejections = Since(now.guard_rejections, begin.guard_rejections),
          .lane_rejections = Since(now.lane_rejections, begin.lane_rejections),
          .blocks_searched = Since(now.blocks_searched, begin.blocks_searched),
          .false_positives = Since(now.false_positives, begin.false_positives)};
}

uint64_t PerfContext::CallMicros() const { return PerfTimesOfThread().call_micros - call_micros_; }

uint64_t PerfContext::Micros(PerfPart part) const {
  const auto i = static_cast<size_t>(part);
  return PerfTimesOfThread().micros[i] - micros_[i];
}

std::string PerfContext::ToString() const {
  std::string text;
  const auto line = [&text](std::string_view name, uint64_t value) {
    if (value != 0) absl::StrAppendFormat(&text, "%s %u\n", name, value);
  };
  line("call.micros", CallMicros());
  for (size_t i = 0; i < kPerfParts; ++i) {
    const auto part = static_cast<PerfPart>(i);
    line(absl::StrFormat("call.%s.micros", Name(part)), Micros(part));
  }
  for (size_t i = 0; i < static_cast<size_t>(Ticker::kCount); ++i) {
    const auto ticker = static_cast<Ticker>(i);
    line(Name(ticker), Get(ticker));
  }
  for (int level = 0; level < kMaxLevels; ++level) {
    const LevelFilterStatistics f = GetFilter(level);
    line(absl::StrFormat("filter.level.%d.lookups", level), f.lookups);
    line(absl::StrFormat("filter.level.%d.guard.rejections", level), f.guard_rejections);
    line(absl::StrFormat("filter.level.%d.lane.rejections", level), f.lane_rejections);
    line(absl::StrFormat("filter.level.%d.blocks.searched", level), f.blocks_searched);
    line(absl::StrFormat("filter.level.%d.false.positives", level), f.false_positives);
  }
  return text;
}

}  // namespace sepal

#include "db/decide/pacing/throttle.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

constexpr std::string_view kLevel0Runs = "runs in level 0";

struct Pressure {
  double value = 0;  // 0 at the soft limit, 1 at the hard one
  std::string_view source;
  uint64_t is = 0;
  uint64_t hard = 0;
  bool of_compactions = false;
};

double Between(uint64_t soft, uint64_t is, uint64_t hard) {
  if (is <= soft) return 0;
  if (is >= hard) return 1;
  return static_cast<double>(is - soft) / static_cast<double>(hard - soft);
}

// In percent of the memory: an ordinary flush during which a memtable fills must not slow writers.
constexpr uint64_t kSoftMemtablePercent = 80;
constexpr uint64_t kSoftMemoryPercent = 90;

uint64_t Percent(uint64_t bytes, uint64_t percent) { return bytes / 100 * percent; }

Pressure Greatest(const ThrottleLimits& limits, const ThrottleInput& in) {
  const uint64_t memtables = limits.memtable_allowance_bytes;
  const uint64_t memory = limits.memory_limit_bytes;
  const uint64_t runs = static_cast<uint64_t>(std::max(0, in.level0_runs));
  const uint64_t hard_runs = static_cast<uint64_t>(limits.hard_level0_runs);
  const Pressure all[] = {
      {Between(SoftMemtableBytes(limits), in.memtable_bytes, memtables), "memtables", in.memtable_bytes, memtables},
      {Between(Percent(memory, kSoftMemoryPercent), in.unreclaimable_memory_bytes, memory), "memory",
       in.unreclaimable_memory_bytes, memory},
      {Between(static_cast<uint64_t>(limits.soft_level0_runs), runs, hard_runs), kLevel0Runs, runs, hard_runs, true},
      {Between(limits.soft_debt_bytes, in.debt_bytes, limits.hard_debt_bytes), "compaction debt", in.debt_bytes,
       limits.hard_debt_bytes, true},
      {Between(in.soft_value_bytes, in.value_bytes, in.hard_value_bytes), "value files", in.value_bytes,
       in.hard_value_bytes, true},
  };
  return *std::max_element(std::begin(all), std::end(all),
                           [](const Pressure& a, const Pressure& b) { return a.value < b.value; });
}

std::string Reason(const Pressure& p) {
  if (p.source != kLevel0Runs) return absl::StrFormat("%s: %s of %s", p.source, HumanBytes(p.is), HumanBytes(p.hard));
  return absl::StrFormat("%s: %d of %d", p.source, p.is, p.hard);
}

}  // namespace

constexpr uint64_t kOrdinaryBatches = 40;

ThrottleLimits MakeThrottleLimits(const CompactionPolicy& policy, uint64_t memtable_allowance_bytes,
                                  uint64_t memory_limit_bytes) {
  const uint64_t runs = static_cast<uint64_t>(policy.runs_per_level);
  ThrottleLimits limits;
  limits.memtable_allowance_bytes = memtable_allowance_bytes;
  limits.memory_limit_bytes = memory_limit_bytes;
  limits.soft_level0_runs = 4 * policy.runs_per_level;
  limits.hard_level0_runs = 12 * policy.runs_per_level;
  // Compactions of full levels into the last one are ordinary debt.
  limits.soft_debt_bytes = kOrdinaryBatches * policy.memtable_bytes * runs;
  limits.hard_debt_bytes = 8 * limits.soft_debt_bytes;
  return limits;
}

uint64_t SoftMemtableBytes(const ThrottleLimits& limits) {
  return Percent(limits.memtable_allowance_bytes, kSoftMemtablePercent);
}

uint64_t NanosAtRate(uint64_t bytes, uint64_t bytes_per_second) {
  return static_cast<uint64_t>(std::llround(static_cast<double>(bytes) * 1e9 / static_cast<double>(bytes_per_second)));
}

ThrottleRate NextThrottleRate(const ThrottleLimits& limits, const ThrottleInput& input, const ThrottleRate& last) {
  const Pressure pressure = Greatest(limits, input);
  if (input.memtable_bytes >= limits.memtable_allowance_bytes ||
      input.unreclaimable_memory_bytes >= limits.memory_limit_bytes) {
    return {0, "stopped, " + Reason(pressure)};
  }
  constexpr double kMax = static_cast<double>(kMaxThrottledRate);
  constexpr double kMin = static_cast<double>(kMinThrottledRate);
  const double before = last.unlimited() ? kMax : std::clamp(static_cast<double>(last.bytes_per_second), kMin, kMax);
  const double target = kMax * std::pow(kMin / kMax, pressure.value);
  const double rate = std::sqrt(before * target);
  // Without pressure, the rate approaches the maximum in halves, until the difference is nothing.
  if (pressure.value == 0 && rate >= kMax / 2) return {};
  std::string reason = pressure.value > 0 ? Reason(pressure) : "pressure is gone, speeding up again";
  return {static_cast<uint64_t>(std::llround(rate)), std::move(reason), pressure.value > 0 && pressure.of_compactions};
}

}  // namespace sepal

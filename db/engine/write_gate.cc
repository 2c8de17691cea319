#include "db/engine/write_gate.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "util/perf_times.h"
#include "util/status.h"

namespace sepal {

namespace {
// Shorter waits are saved up: a sleep costs more than it.
constexpr uint64_t kShortestSleepMicros = 1000;
// How often writers that are slowed look at the memory anew.
constexpr uint64_t kLookAgainMicros = 1000;
}  // namespace

WriteGate::WriteGate(EngineState* state) : state_(state) {}

void WriteGate::Update() {
  state_->mutex.AssertHeld();
  const Core& core = *state_->core;
  limits_ = {};
  input_ = {};
  for (const auto& [id, family] : state_->families) {
    limits_ = MakeThrottleLimits(family->policy, core.tuning.memtable_limit_bytes, core.budget.limit_bytes());
    const Version& version = *family->version();
    const CompactionPolicy policy = family->PolicyNow();
    input_.level0_runs = std::max(input_.level0_runs, version.NumRuns(0) - policy.unread_runs);
    input_.debt_bytes = std::max(input_.debt_bytes, CompactionDebtBytes(version, policy, family->sketches_sought));
  }
  const ThrottleRate next = Decide();
  if (next == decided_) return;
  Adopt(next);
  state_->changed.NotifyAll();
}

ThrottleRate WriteGate::Decide() {
  const Core& core = *state_->core;
  // Memtables that no flush is taking away are no reason to wait: the next write switches them.
  input_.memtable_bytes = state_->AllFlushed() ? 0 : state_->MemtableBytes();
  input_.unreclaimable_memory_bytes = core.budget.unreclaimable();
  looked_at_micros_ = core.world.clock->MonotonicMicros();
  return NextThrottleRate(limits_, input_, decided_);
}

void WriteGate::Adopt(const ThrottleRate& rate) {
  decided_ = rate;
  rate_.store(rate.bytes_per_second, std::memory_order_relaxed);
  if (rate.unlimited()) busy_until_nanos_ = 0;
}

void WriteGate::LookAgain() {
  if (decided_.unlimited() || decided_.stopped()) return;
  if (state_->core->world.clock->MonotonicMicros() < looked_at_micros_ + kLookAgainMicros) return;
  const ThrottleRate next = Decide();
  if (next.bytes_per_second > decided_.bytes_per_second) Adopt(next);
}

void WriteGate::LookAtMemory() {
  MutexLock lock(&state_->mutex);
  // A stop is begun and ended by Update, which wakes those who wait.
  if (decided_.stopped()) return;
  const ThrottleRate next = Decide();
  if (!next.stopped()) Adopt(next);
}

void WriteGate::TellOfChange() {
  {
    MutexLock lock(&state_->mutex);
    if (std::exchange(telling_, true)) return;
  }
  for (;;) {
    ThrottleEvent event;
    {
      MutexLock lock(&state_->mutex);
      telling_ = !(decided_ == told_);
      if (!telling_) return;
      told_ = decided_;
      event = {.reason = decided_.reason, .bytes_per_second = decided_.bytes_per_second};
    }
    if (event.bytes_per_second == ThrottleRate::kUnlimited) {
      state_->core->info_log.Write("writers are no longer slowed");
    } else {
      state_->core->info_log.Write("writers are held to %u bytes/s: %s", event.bytes_per_second, event.reason);
    }
    state_->Tell([&](EventListener& listener) { listener.OnThrottleChange(event); });
  }
}

absl::Status WriteGate::WaitWhileStopped(bool no_slowdown) {
  while (decided_.stopped() && state_->error.ok() && !state_->closing) {
    if (no_slowdown) return absl::UnavailableError(absl::StrFormat("writes are stopped: %s", decided_.reason));
    if (flushes_without_space_ > 0) {
      return absl::ResourceExhaustedError(absl::StrFormat(
          "%s: the disk is full and memtables cannot be flushed; free some space and write again", state_->core->path));
    }
    // A merge that waits for space frees no memory.
    if (state_->jobs > merges_without_space_ || state_->pauses > 0) {
      state_->changed.Wait(&state_->mutex);
      continue;
    }
    // Nothing is under way that would tell of a change.
    Update();
    if (decided_.stopped()) {
      return absl::ResourceExhaustedError(absl::StrFormat(
          "writes are %s, and nothing runs that would free memory: let go of iterators and pinned values, or raise "
          "memory_limit",
          decided_.reason));
    }
  }
  RETURN_IF_ERROR(state_->error);
  if (state_->closing) return absl::FailedPreconditionError("the database is closed");
  return absl::OkStatus();
}

absl::Status WriteGate::EnterSlowly(size_t bytes, bool no_slowdown) {
  Clock* const clock = state_->core->world.clock;
  const PerfTimer timer(PerfPart::kThrottle);
  const uint64_t arrived = clock->MonotonicMicros();
  uint64_t wait_micros = 0;
  bool tell = false;
  {
    MutexLock lock(&state_->mutex);
    LookAgain();
    RETURN_IF_ERROR(WaitWhileStopped(no_slowdown));
    tell = decided_.unlimited() != told_.unlimited();
    if (!decided_.unlimited()) {
      const uint64_t now = clock->MonotonicMicros() * 1000;
      const uint64_t begins = std::max(now, busy_until_nanos_);
      wait_micros = (begins - now) / 1000;
      if (no_slowdown && wait_micros > 0) {
        return absl::UnavailableError(absl::StrFormat("writes are slowed: %s", decided_.reason));
      }
      busy_until_nanos_ = begins + NanosAtRate(bytes, decided_.bytes_per_second);
    }
  }
  if (tell) TellOfChange();
  // In short sleeps: what held the writer back may be gone long before.
  for (; wait_micros >= kShortestSleepMicros; wait_micros -= kShortestSleepMicros) {
    if (rate_.load(std::memory_order_relaxed) == ThrottleRate::kUnlimited) break;
    clock->SleepMicros(kShortestSleepMicros);
  }
  StatisticsImpl& statistics = state_->core->statistics;
  statistics.Add(Ticker::kThrottledWrites);
  statistics.Add(Ticker::kThrottleMicros, clock->MonotonicMicros() - arrived);
  return absl::OkStatus();
}

}  // namespace sepal

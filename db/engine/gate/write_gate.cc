#include "db/engine/gate/write_gate.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/format/log_format.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/stats/perf_times.h"

namespace sepal {

namespace {
// Shorter waits are added up, because a sleep costs more than the wait.
constexpr uint64_t kShortestSleepMicros = 1000;
// How often slowed writers check the memory again.
constexpr uint64_t kLookAgainMicros = 1000;
// How often stopped writers check the memory again, though nothing wakes them.
constexpr uint64_t kStandStillMicros = 5000;
// How long a writer waits for readers to release memory while no background work is under way.
constexpr uint64_t kPatienceMicros = 1'000'000;
// The percentage of the limit above which no memory is kept for later use.
constexpr size_t kShortMemoryPercent = 90;
// The percentage of the shared memtables' limit below which databases that share memory do not slow writers down.
constexpr size_t kSoftGroupPercent = 50;
// Even if memtables are huge, a batch this large must be checked, because a log record may not hold it.
constexpr size_t kLargeAnyway = size_t{1} << 30;

// Returns the parts of memory that cannot be reclaimed, and how much each holds.
std::string HoldersText(const MemoryBudget& budget) {
  std::string text;
  for (const MemoryPart part :
       {MemoryPart::kMemtables, MemoryPart::kTables, MemoryPart::kCompaction, MemoryPart::kReadAhead, MemoryPart::kLog,
        MemoryPart::kPins, MemoryPart::kTransactions}) {
    if (budget.used(part) < budget.limit_bytes() / 32) continue;
    absl::StrAppendFormat(&text, "%s%s %s", text.empty() ? "" : ", ", Name(part), HumanBytes(budget.used(part)));
  }
  return text;
}

}  // namespace

WriteGate::WriteGate(EngineState* state, std::function<absl::Status()> flush)
    : state_(state),
      large_bytes_(std::min(state->core->BytesPerLook(), kLargeAnyway)),
      group_(state->core->member != nullptr ? state->core->member->group() : nullptr),
      flush_(std::move(flush)) {}

bool WriteGate::MemoryIsShort() const {
  return input_.unreclaimable_memory_bytes / kShortMemoryPercent >= limits_.memory_limit_bytes / 100;
}

void WriteGate::Update(int level0_runs, uint64_t debt_bytes, const ValueCollection* values) {
  const Core& core = *state_->core;
  // The limits depend only on what all families have from the tuning, so any family's policy will do.
  const CompactionPolicy& policy = state_->families.begin()->second->policy;
  const MemtableShare share = core.MemtableShareOf(state_->families.size());
  limits_ = MakeThrottleLimits(policy, share.limit_bytes, core.budget.limit_bytes());
  input_.level0_runs = level0_runs;
  input_.debt_bytes = debt_bytes;
  const ValueCollection none;
  const ValueCollection& collection = values != nullptr ? *values : none;
  input_.value_bytes = collection.bytes;
  input_.soft_value_bytes = collection.soft_bytes;
  input_.hard_value_bytes = collection.hard_bytes;
  DecideAndWake();
}

void WriteGate::DecideAndWake() {
  const ThrottleRate next = Decide();
  if (next == decided_) return;
  Adopt(next);
  state_->NotifyChanged();
}

ThrottleRate WriteGate::Decide() {
  const Core& core = *state_->core;
  // All that is charged, readers' memtables included, is at least the sum, which is expensive; so the sum is taken only
  // if the charge exceeds the soft limit.
  input_.memtable_bytes = core.budget.used(MemoryPart::kMemtables);
  if (input_.memtable_bytes > SoftMemtableBytes(limits_)) {
    // Memtables that wait for no flush are no reason to wait, because the next write switches them.
    input_.memtable_bytes = state_->AllFlushed() ? 0 : state_->MemtableBytes();
  }
  if (group_ != nullptr) LookAtGroup();
  input_.unreclaimable_memory_bytes = core.budget.unreclaimable();
  looked_at_micros_ = core.world.clock->MonotonicMicros();
  return NextThrottleRate(limits_, input_, decided_);
}

void WriteGate::LookAtGroup() {
  const Core& core = *state_->core;
  const bool stuck = flushes_without_space_ > 0 || !state_->error.ok();
  const size_t used = core.budget.used(MemoryPart::kMemtables);
  if (!std::exchange(was_stuck_, stuck) && !stuck && used < 2 * group_->memtable_bytes() / 100 * kSoftGroupPercent) {
    return;
  }
  const size_t own = state_->MemtableBytes();
  core.member->SetStuck(stuck ? own : 0);
  const size_t pressure = core.member->Pressure(own, used, limits_.memtable_allowance_bytes);
  input_.memtable_bytes = std::max<uint64_t>(input_.memtable_bytes, pressure);
}

void WriteGate::Adopt(const ThrottleRate& rate) {
  decided_ = rate;
  PublishRate();
  if (rate.unlimited()) busy_until_nanos_ = 0;
}

void WriteGate::PublishRate() {
  rate_.store(large_goes_first_ ? 0 : decided_.bytes_per_second, std::memory_order_relaxed);
}

void WriteGate::RetryBesideWriter() {
  if (decided_.unlimited() || decided_.stopped()) return;
  if (state_->core->world.clock->MonotonicMicros() < looked_at_micros_ + kLookAgainMicros) return;
  const ThrottleRate next = Decide();
  if (next.bytes_per_second > decided_.bytes_per_second) Adopt(next);
}

void WriteGate::LookAtMemory() {
  StateLock lock(state_);
  // Only Update, or a stopped writer that looks, ends a stop, because they wake the other writers.
  if (decided_.stopped()) return;
  const ThrottleRate next = Decide();
  // If memtables are the only reason, writers stop with the next switch instead, so that what it switches is flushed
  // meanwhile.
  const bool memory_is_full = input_.unreclaimable_memory_bytes >= limits_.memory_limit_bytes;
  if (!next.stopped() || memory_is_full) Adopt(next);
}

void WriteGate::TellOfChange() {
  {
    StateLock lock(state_);
    if (std::exchange(telling_, true)) return;
  }
  for (;;) {
    ThrottleEvent event;
    {
      StateLock lock(state_);
      telling_ = !(decided_ == told_);
      if (!telling_) return;
      told_ = decided_;
      event = {.reason = decided_.reason, .bytes_per_second = decided_.bytes_per_second};
    }
    if (event.bytes_per_second == ThrottleRate::kUnlimited) {
      state_->core->info_log.Write("writers are no longer slowed");
    } else {
      state_->core->info_log.Write("writers are limited to %u bytes/s: %s", event.bytes_per_second, event.reason);
    }
    state_->Tell([&](EventListener& listener) { listener.OnThrottleChange(event); });
  }
}

bool WriteGate::MemoryFits(size_t bytes) const {
  const MemoryBudget& budget = state_->core->budget;
  const size_t let_in = group_ != nullptr ? group_->let_in_bytes.load(std::memory_order_relaxed) : let_in_bytes_;
  return budget.unreclaimable() + let_in + bytes <= budget.limit_bytes();
}

bool WriteGate::IsOversized(size_t bytes) const { return bytes > state_->core->budget.limit_bytes() / 4; }

bool WriteGate::HasRoomFor(size_t bytes, bool looked) const {
  const MemoryBudget& budget = state_->core->budget;
  const size_t allowance = limits_.memtable_allowance_bytes;
  if (IsOversized(bytes) && let_in_bytes_ > 0) return false;
  const size_t coming = let_in_bytes_ + bytes;
  const bool memory_fits = MemoryFits(bytes);
  // The charge is at least the sum, which is usually not needed.
  if (memory_fits && budget.used(MemoryPart::kMemtables) + coming <= allowance) return true;
  const size_t memtables = state_->MemtableBytes();
  if (memory_fits && memtables + coming <= allowance) return true;
  // One large batch at a time may exceed the memtables' allowance, and the limit if no flush can make room. A flush
  // holds its memtables until it ends, and readers hold theirs until the epochs are collected.
  if (let_in_bytes_ > 0) return false;
  if (state_->AllFlushed()) {
    if (memory_fits || !looked || AnythingToFlush() || state_->AnyFlushRuns()) return memory_fits;
    return !AnyOtherMakesRoom();
  }
  return (memory_fits && memtables < allowance) || !AnythingUnderWay();
}

bool WriteGate::IsNext(const Writer& writer) const {
  return writer.turn.has_value() && large_waiting_.front() == *writer.turn && let_in_bytes_ == 0;
}

bool WriteGate::MayGoIn(const Writer& writer, bool looked) const {
  if (decided_.stopped()) return false;
  if (!writer.turn.has_value()) return !large_goes_first_ || state_->pauses > 0;
  return large_waiting_.front() == *writer.turn && HasRoomFor(writer.bytes, looked);
}

bool WriteGate::LacksMemory(const Writer& writer) const {
  return decided_.stopped() || (IsNext(writer) && !MemoryFits(writer.bytes));
}

bool WriteGate::TakesLook(Writer* writer) {
  return LacksMemory(*writer) && (!std::exchange(writer->looked, true) ||
                                  state_->core->world.clock->MonotonicMicros() >= looked_at_micros_ + kLookAgainMicros);
}

bool WriteGate::AnythingToFlush() const {
  const auto has_entries = [](const Family& family) REQUIRES_STATE_LOCK { return !family.active()->empty(); };
  return state_->AllFlushed() && state_->Any(has_entries);
}

bool WriteGate::EntersAtOnce(Writer* writer) {
  StateLock lock(state_);
  if (decided_.unlimited() && large_waiting_.empty() && HasRoomFor(writer->bytes, /*looked=*/false)) {
    Count(writer);
    return true;
  }
  RetryBesideWriter();
  if (writer->bytes >= large_bytes_) large_waiting_.push_back(writer->turn.emplace(++last_turn_));
  return false;
}

absl::StatusOr<WriteGate::Step> WriteGate::Advance(Writer* writer) {
  StateLock lock(state_);
  absl::StatusOr<Step> step = AwaitStep(writer);
  if (step.ok() && *step != Step::kGoIn) return step;
  LeaveLine(*writer);
  RETURN_IF_ERROR(step.status());
  RETURN_IF_ERROR(Pace(writer));
  Count(writer);
  return step;
}

absl::StatusOr<WriteGate::Step> WriteGate::AwaitStep(Writer* writer) {
  Clock* const clock = state_->core->world.clock;
  RETURN_IF_ERROR(writer->flushed);
  for (;;) {
    bool look = std::exchange(writer->gave_back, false);
    if (!look && TakesLook(writer)) {
      // Memory that is kept for later use is returned to the system first.
      writer->gave_back = MemoryIsShort() || !MemoryFits(writer->bytes);
      writer->flush_ran = state_->AnyFlushRuns();
      if (writer->gave_back) return Step::kGiveBackMemory;
      look = true;
    }
    if (look) DecideAndWake();
    RETURN_IF_ERROR(state_->error);
    if (state_->closing) {
      return absl::FailedPreconditionError(absl::StrFormat("the database in %s is closed", state_->core->path));
    }
    if (MayGoIn(*writer, look && !writer->flush_ran)) return Step::kGoIn;
    if (flushes_without_space_ > 0 && (decided_.stopped() || IsNext(*writer))) return NoSpaceToFlush();
    if (IsNext(*writer) && !MemoryFits(writer->bytes) && !writer->no_slowdown &&
        !std::exchange(large_goes_first_, true)) {
      PublishRate();
    }
    if (LacksMemory(*writer) && AnythingToFlush()) return Step::kFlush;
    if (writer->no_slowdown) {
      return absl::UnavailableError(absl::StrFormat(
          "writes are %s", decided_.stopped() ? decided_.reason : "delayed: other writers are filling the memtables"));
    }
    const bool under_way = AnythingUnderWay() || (decided_.stopped() && AnyOtherMakesRoom());
    if (under_way) writer->alone_since_micros = clock->MonotonicMicros();
    const bool readers_may_leave =
        state_->core->epochs.AnyRetired() && clock->MonotonicMicros() < writer->alone_since_micros + kPatienceMicros;
    if (decided_.stopped() && !under_way && !readers_may_leave) {
      // A refusal is decided by current memory: in a round that has looked, after everything that readers released was
      // freed.
      writer->looked = look;
      if (!look) continue;
      DecideAndWake();
      if (!decided_.stopped()) continue;
      return Refusal();
    }
    StandStill(*writer, under_way);
  }
}

bool WriteGate::AnyOtherMakesRoom() const {
  return group_ != nullptr && (group_->AnythingUnderWay() || state_->core->member->AskOthers());
}

void WriteGate::CountWaitingForSpace(BackgroundWork work, int more) {
  (work == BackgroundWork::kFlush ? flushes_without_space_ : compactions_without_space_) += more;
  if (group_ != nullptr) group_->CountJobs(-more);
}

// Jobs, pauses and other batches wake waiters when they end; released iterators and other databases do not.
void WriteGate::StandStill(const Writer& writer, bool under_way) {
  if (MemoryIsShort() || !MemoryFits(writer.turn.has_value() ? writer.bytes : 0) || !under_way || group_ != nullptr) {
    state_->WaitForChange(kStandStillMicros);
  } else {
    state_->WaitForChange();
  }
}

void WriteGate::LeaveLine(const Writer& writer) {
  if (!writer.turn.has_value()) return;
  if (large_waiting_.front() == *writer.turn && std::exchange(large_goes_first_, false)) PublishRate();
  std::erase(large_waiting_, *writer.turn);
  state_->NotifyChanged();
}

absl::Status WriteGate::Pace(Writer* writer) {
  writer->throttle_changed = decided_.unlimited() != told_.unlimited();
  if (decided_.unlimited()) return absl::OkStatus();
  const uint64_t now = state_->core->world.clock->MonotonicMicros() * 1000;
  const uint64_t begins = std::max(now, busy_until_nanos_);
  writer->pacing_micros = (begins - now) / 1000;
  if (writer->no_slowdown && writer->pacing_micros > 0) {
    return absl::UnavailableError(absl::StrFormat("writes are slowed: %s", decided_.reason));
  }
  busy_until_nanos_ = begins + NanosAtRate(writer->paced_bytes, decided_.bytes_per_second);
  return absl::OkStatus();
}

absl::Status WriteGate::NoSpaceToFlush() const {
  return absl::ResourceExhaustedError(absl::StrFormat(
      "%s: the disk is full and memtables cannot be flushed; free some space and write again", state_->core->path));
}

absl::Status WriteGate::Refusal() const {
  return absl::ResourceExhaustedError(
      absl::StrFormat("writes are %s, held by %s, and nothing runs that would free memory: release iterators and "
                      "pinned values, or raise memory_limit",
                      decided_.reason, HoldersText(state_->core->budget)));
}

absl::Status WriteGate::CheckSize(uint32_t entries, size_t batch_bytes) const {
  if (batch_bytes > kMaxLoggedBatchBytes) {
    return absl::InvalidArgumentError(
        absl::StrFormat("a batch of %u bytes: the log takes at most %u; split it", batch_bytes, kMaxLoggedBatchBytes));
  }
  const size_t bytes = MemTable::BytesOfBatch(entries, batch_bytes);
  if (state_->core->large_batches || !IsOversized(bytes)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat(
      "a batch of %u entries and %u bytes takes about %u bytes of memory, which is over a quarter of memory_limit (%u "
      "bytes): split it, raise the limit, or open the database with large_batches",
      entries, batch_bytes, bytes, state_->core->budget.limit_bytes()));
}

void WriteGate::Count(Writer* writer) {
  if (writer->bytes < large_bytes_) return;
  let_in_bytes_ += writer->bytes;
  if (group_ != nullptr) group_->let_in_bytes.fetch_add(writer->bytes, std::memory_order_relaxed);
  writer->counted_bytes = writer->bytes;
}

void WriteGate::Leave(size_t bytes) {
  StateLock lock(state_);
  let_in_bytes_ -= bytes;
  if (group_ != nullptr) group_->let_in_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  state_->NotifyChanged();
}

absl::Status WriteGate::EnterSlowly(const Load& load, bool no_slowdown, size_t* counted_bytes) {
  RETURN_IF_ERROR(CheckSize(load.entries, load.batch_bytes));
  Clock* const clock = state_->core->world.clock;
  const PerfTimer timer(PerfPart::kThrottle);
  const uint64_t arrived = clock->MonotonicMicros();
  Writer writer{.paced_bytes = load.paced_bytes,
                .bytes = MemTable::BytesOfBatch(load.entries, load.batch_bytes),
                .no_slowdown = no_slowdown,
                .alone_since_micros = arrived};
  if (!EntersAtOnce(&writer)) {
    Step step;
    do {
      ASSIGN_OR_RETURN(step, Advance(&writer));
      if (step == Step::kFlush) writer.flushed = flush_();
      if (step == Step::kGiveBackMemory) state_->core->GiveBackMemory();
    } while (step != Step::kGoIn);
    AwaitPace(writer);
    StatisticsImpl& statistics = state_->core->statistics;
    statistics.Add(Ticker::kThrottledWrites);
    statistics.Add(Ticker::kThrottleMicros, clock->MonotonicMicros() - arrived);
  }
  *counted_bytes = writer.counted_bytes;
  return absl::OkStatus();
}

// Sleeps in short steps, because the reason for the wait may disappear early.
void WriteGate::AwaitPace(const Writer& writer) {
  if (writer.throttle_changed) TellOfChange();
  for (uint64_t micros = writer.pacing_micros; micros >= kShortestSleepMicros; micros -= kShortestSleepMicros) {
    if (rate_.load(std::memory_order_relaxed) == ThrottleRate::kUnlimited) break;
    state_->core->world.clock->SleepMicros(kShortestSleepMicros);
  }
}

}  // namespace sepal

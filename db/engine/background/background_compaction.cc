// Compactions, of the background's own and of a CompactRange.
#include <utility>

#include "db/act/jobs/compaction_job.h"
#include "db/act/jobs/table_output.h"
#include "db/decide/compaction/compaction_picker.h"
#include "db/decide/writing/guard_budget.h"
#include "db/engine/background/background.h"
#include "util/base/check.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

// Ends a compaction when the database is closed, its family is dropped or its caller wants no more of it, and holds it
// while it is paused.
class Background::Control final : public CompactionControl {
 public:
  // `progress` is null but in a CompactRange.
  Control(Background* background, const Family* family, RangeProgress* progress)
      : background_(background), family_(family), progress_(progress) {}

  void BeginPart() override { background_->pause_.Enter(); }
  void EndPart() override { background_->pause_.Leave(); }
  // Whoever asks for a compaction waits for it.
  int Threads() override {
    if (progress_ != nullptr) return background_->executor_->CompactionConcurrency();
    return background_->merge_threads_.load(std::memory_order_relaxed);
  }
  bool GoesOn(uint64_t entries) override {
    background_->pause_.StepAside();
    if (progress_ != nullptr) {
      progress_->Count(entries);
      if (progress_->TakesTelling()) {
        // Whoever is told may pause, or take its time.
        background_->pause_.Leave();
        progress_->Tell();
        background_->pause_.Enter();
      }
      if (progress_->ended()) return false;
    }
    return !background_->cancel_.load(std::memory_order_relaxed) && !family_->dropped.load(std::memory_order_relaxed);
  }

 private:
  Background* const background_;
  const Family* const family_;
  RangeProgress* const progress_;
};

// Of a CompactRange that finds the tables taken by running plans.
class Background::RangeTurn {
 public:
  RangeTurn(Background* background, Family* family) : background_(background), family_(family) {}
  RangeTurn(const RangeTurn&) = delete;
  RangeTurn& operator=(const RangeTurn&) = delete;
  ~RangeTurn() {
    if (!waits_) return;
    StateLock lock(background_->state_);
    Take();
  }

  // With the database mutex held: from now on no plan of the background's own begins in the family (IsHeldBack) ...
  void Await() {
    database_mutex.AssertHeld();
    if (!std::exchange(waits_, true)) ++family_->ranges_waiting;
  }
  // ... until now.
  void Take() {
    database_mutex.AssertHeld();
    if (!std::exchange(waits_, false)) return;
    if (--family_->ranges_waiting == 0) family_->plans_passed = 0;
    background_->Schedule();
    background_->state_->NotifyChanged();
  }

 private:
  Background* const background_;
  Family* const family_;
  bool waits_ = false;
};

// Else one might always be in the way: a job's end begins the next before any waiter wakes. Where another CompactRange
// runs, or a merge waits for space, that may take so long that level 0 would fill up; there the others go on. So do
// a few where compactions lag so far behind that writers are slowed.
bool Background::IsHeldBack(const Family& family) const {
  constexpr int kMostThatPass = 8;
  const bool may_pass = gate_->current().compactions_lag && family.plans_passed < kMostThatPass;
  return family.ranges_waiting > 0 && family.ranges_running == 0 && !gate_->AnyWaitsForSpace() && !may_pass;
}

void Background::RunCompactionJob(const FamilyRef& family, const PlanRef& plan, RunNumber run) {
  const absl::Status status = CarryOut(family, plan, run, nullptr);
  {
    StateLock lock(state_);
    --state_->compaction_jobs;
  }
  JudgeCompaction(*family, status, "compaction, which is put off");
}

void Background::JudgeCompaction(const Family& family, const absl::Status& status, std::string_view what) {
  if (!absl::IsDataLoss(status)) return Judge(family, status, "compaction");
  state_->Tell([&](EventListener& listener) { listener.OnError(what, status); });
}

absl::Status Background::CarryOut(const FamilyRef& family, const PlanRef& plan, RunNumber run,
                                  RangeProgress* progress) {
  CompactionEvent event{.column_family = family->name,
                        .input_level = plan->InputLevel(),
                        .output_level = plan->output_level,
                        .input_files = plan->InputTables(),
                        .trivial_move = plan->kind == CompactionPlan::Kind::kMove,
                        .reason = plan->reason};
  state_->core->info_log.Write("compaction of %s begins: %s", Printable(family->name), ToString(*plan));
  state_->Tell([&](EventListener& listener) { listener.OnCompactionBegin(event); });
  const uint64_t began = state_->core->world.clock->MonotonicMicros();
  const uint64_t space = event.trivial_move ? 0 : plan->InputBytes();
  event.status = RetryWhileDiskFull(BackgroundWork::kCompaction, *family, space, progress,
                                    [&] { return Compact(family, plan, run, progress, &event); });
  event.micros = state_->core->world.clock->MonotonicMicros() - began;
  {
    StateLock lock(state_);
    Forget(family.get(), plan);
    if (progress != nullptr) --family->ranges_running;
    // A CompactRange may be asked for again, with another range.
    if (absl::IsDataLoss(event.status) && progress == nullptr && !family->dropped.load(std::memory_order_acquire)) {
      family->put_off.push_back({plan, event.status});
      family->need.reset();
    }
  }
  StatisticsImpl& statistics = state_->core->statistics;
  statistics.Add(event.trivial_move ? Ticker::kTrivialMoves : Ticker::kCompactions);
  statistics.Add(Ticker::kCompactionReadBytes, event.bytes_read);
  statistics.Add(Ticker::kCompactionWriteBytes, event.bytes_written);
  statistics.Add(Ticker::kCompactionEntriesIn, event.entries_in);
  statistics.Add(Ticker::kCompactionEntriesOut, event.entries_out);
  statistics.Record(Histogram::kCompactionMicros, event.micros);
  state_->core->info_log.Write("compaction of %s ends: %d tables, %u bytes read, %u written in %u us: %s",
                               Printable(family->name), event.output_files, event.bytes_read, event.bytes_written,
                               event.micros, event.status.ToString());
  state_->Tell([&](EventListener& listener) { listener.OnCompactionEnd(event); });
  return event.status;
}

// Of the limit of memory, for a merge's windows.
constexpr size_t kReadAheadPart = 8;

// Not to be kept while a job runs: what others replace meanwhile would stay.
VersionRef Background::VersionNow(const Family& family) const {
  StateLock lock(state_);
  return family.version();
}

absl::StatusOr<CompactionResult> Background::Merge(const Family& family, const PlanRef& plan, RunNumber run,
                                                   RangeProgress* progress) {
  Core& core = *state_->core;
  Control control(this, &family, progress);
  FamilyTableOpener opener = core.Opener(family.order);
  TableOutputContext context = catalog_->OutputContext(family);
  context.pacing = core.PacingFor(Executor::Priority::kCompaction);
  context.guard_bits_per_key =
      GuardBitsOfMerge(family.options.filter_policy.guard_bits_per_key, *VersionNow(family), *plan);
  // What nothing lies below is not rewritten soon, and readers of what it replaces find it in memory.
  if (plan->bottommost) context.cache = &core.cache;
  return RunCompaction({.context = std::move(context),
                        .plan = plan,
                        .opener = &opener,
                        .snapshots = Snapshots(),
                        .output_run = run,
                        .max_threads = executor_->CompactionConcurrency(),
                        .read_ahead_bytes = core.budget.limit_bytes() / kReadAheadPart,
                        .executor = executor_,
                        .control = &control});
}

absl::Status Background::Compact(const FamilyRef& family, const PlanRef& plan, RunNumber run, RangeProgress* progress,
                                 CompactionEvent* event) {
  Core& core = *state_->core;
  CompactionResult result;
  const bool moves = plan->kind == CompactionPlan::Kind::kMove;
  if (!moves) {
    ASSIGN_OR_RETURN(result, Merge(*family, plan, run, progress));
  }
  const PauseGate::Section section(&pause_);
  if (!moves) {
    const absl::Status synced = core.directory->Sync();
    if (!synced.ok()) {
      RemoveTables(core.directory.get(), &core.cache, result.outputs);
      return synced;
    }
  }
  event->output_files = moves ? plan->InputTables() : static_cast<int>(result.outputs.size());
  event->bytes_read = result.bytes_read;
  event->bytes_written = result.bytes_written;
  event->entries_in = result.counts.entries_in;
  event->entries_out = result.counts.entries_out;
  SEPAL_DCHECK(CheckPlan(*VersionNow(*family), *plan).ok() || family->dropped.load(std::memory_order_acquire));
  const absl::Status applied = catalog_->Apply(EditOf(*plan, family->id, run, result.outputs), nullptr, nullptr);
  if (!applied.ok() && !moves) DiscardIfRefused(applied, result.outputs);
  return applied;
}

// An edit that was refused, for want of space or since the family is gone, never took effect. After a failure that
// ended all writing it may be on the disk, and the tables must stay.
void Background::DiscardIfRefused(const absl::Status& applied, const std::vector<TableMetadata>& tables) {
  if (applied.ok() || state_->stopped.load(std::memory_order_acquire)) return;
  RemoveTables(state_->core->directory.get(), &state_->core->cache, tables);
}

absl::Status Background::CompactRange(const FamilyRef& family, const CompactRangeOptions& options) {
  RangeCall call{.keys = {options.begin, options.end},
                 .first_new_file = catalog_->NewFileNumber(),
                 .last_sequence = state_->VisibleSequence()};
  RangeProgress progress(options.progress, BytesIn(*family, call.keys), state_->core->world.clock);
  if (!progress.Tell()) return absl::CancelledError("the compaction was cancelled before it began");
  RangeTurn turn(this, family.get());
  bool waited = false;
  while (true) {
    if (std::exchange(waited, false) && !progress.Tell()) return absl::CancelledError("the compaction was cancelled");
    PlanRef plan;
    RunNumber run;
    {
      StateLock lock(state_);
      RETURN_IF_ERROR(state_->error);
      if (state_->closing) return BeingClosed();
      RETURN_IF_ERROR(family->CheckThere());
      std::vector<const CompactionPlan*> running;
      const PickerInput input = MakePickerInput(*family, &running);
      RangeStep step = PlanRange(input, call);
      if (step.blocked) {
        RETURN_IF_ERROR(DamageInTheWayOf(*family, input, call));
        turn.Await();
      }
      if (step.blocked || state_->pauses > 0) {
        AwaitChange(progress);
        waited = true;
        continue;
      }
      if (!step.plan.nothing()) {
        plan = std::make_shared<const CompactionPlan>(std::move(step.plan));
        run = Adopt(family.get(), plan);
        ++state_->jobs;
        ++family->ranges_running;
      }
      turn.Take();
      if (plan == nullptr) break;
      call.brought_down = true;
    }
    progress.BeginPlan(plan->InputBytes(), plan->InputEntries());
    const absl::Status status = CarryOut(family, plan, run, &progress);
    plan.reset();  // so that the job's end finds its inputs unused, and removes them
    JudgeCompaction(*family, status, "compaction of a range");
    EndJob();
    if (!status.ok()) RETURN_IF_ERROR(family->CheckThere());
    RETURN_IF_ERROR(status);
  }
  progress.TellEnd();
  return absl::OkStatus();
}

void Background::AwaitChange(const RangeProgress& progress) {
  constexpr uint64_t kTellAfterMicros = 250'000;
  if (progress.wanted()) {
    state_->WaitForChange(kTellAfterMicros);
  } else {
    state_->WaitForChange();
  }
}

absl::Status Background::DamageInTheWayOf(const Family& family, PickerInput input, const RangeCall& call) {
  for (const CompactionPutOff& put_off : family.put_off) {
    const CompactionPlan* const held = put_off.plan.get();
    input.running = std::span(&held, 1);
    if (PlanRange(input, call).blocked) return put_off.damage;
  }
  return absl::OkStatus();
}

uint64_t Background::BytesIn(const Family& family, const KeyRange& range) const {
  std::shared_ptr<const Version> version;
  {
    StateLock lock(state_);
    version = family.version();
  }
  uint64_t bytes = 0;
  for (const LevelRun& r : version->runs()) {
    for (const TableRef& table : r.run->Overlapping(range)) bytes += table->metadata().size_bytes;
  }
  return bytes;
}

}  // namespace sepal

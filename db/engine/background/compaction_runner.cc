#include "db/engine/background/compaction_runner.h"

#include <utility>

#include "db/act/jobs/table_output.h"
#include "db/decide/writing/guard_budget.h"
#include "util/base/check.h"
#include "util/base/status.h"
#include "util/base/strings.h"

namespace sepal {

namespace {

// The part of the memory limit for the windows in which a compaction reads ahead.
constexpr size_t kReadAheadPart = 8;

// Values in value files that are smaller than this move back into the tables.
uint64_t InlineBelow(const Family& family, const CompactionPlan& plan) {
  return plan.bottommost ? family.options.last_level_inline_below : 0;
}

}  // namespace

// Stops a compaction when the database is closed, its family is dropped or its caller cancels it, and holds it while
// background work is paused.
class CompactionRunner::Control final : public CompactionControl {
 public:
  // `progress` is null except in a CompactRange.
  Control(JobSlots* slots, PauseGate* pause, const Family* family, RangeProgress* progress)
      : slots_(slots), pause_(pause), family_(family), progress_(progress) {}

  void BeginPart() override { pause_->Enter(); }
  void EndPart() override { pause_->Leave(); }
  // A CompactRange may use all threads, because its caller waits.
  int Threads() override {
    return progress_ != nullptr ? slots_->executor()->CompactionConcurrency() : slots_->compaction_threads();
  }
  bool GoesOn(uint64_t entries) override {
    pause_->StepAside();
    if (progress_ != nullptr) {
      progress_->Count(entries);
      if (progress_->TakesTelling()) {
        // The callback may pause background work, or take long.
        pause_->Leave();
        progress_->Tell();
        pause_->Enter();
      }
      if (progress_->ended()) return false;
    }
    return !slots_->cancelled() && !family_->dropped();
  }

 private:
  JobSlots* const slots_;
  PauseGate* const pause_;
  const Family* const family_;
  RangeProgress* const progress_;
};

void CompactionRunner::Start(const FamilyRef& family, PlanRef plan) {
  const RunNumber run = Adopt(family.get(), plan, /*of_range=*/false);
  ++state_->compaction_jobs;
  const auto job =
      std::make_shared<Job>(Job{.family = family, .plan = std::move(plan), .run = run, .tries = slots_->NewTries()});
  slots_->StartInTries(Executor::Priority::kCompaction, [this, job] {
    if (!Continue(job.get())) return false;
    StateLock lock(state_);
    --state_->compaction_jobs;
    return true;
  });
}

RunNumber CompactionRunner::Adopt(Family* family, PlanRef plan, bool of_range) {
  SEPAL_DCHECK(CheckPlan(*family->version(), *plan).ok());
  const std::optional<RunNumber> run = plan->output_run;
  family->BeginCompaction(std::move(plan), of_range);
  return run.has_value() ? *run : RunNumber(catalog_->NewFileNumber().value());
}

absl::Status CompactionRunner::Run(const FamilyRef& family, const PlanRef& plan, RunNumber run, RangeProgress* progress,
                                   absl::Status* filter_status) {
  Job job{.family = family, .plan = plan, .run = run, .progress = progress};
  (void)Continue(&job);  // waits in this thread
  KeepFirst(filter_status, job.result.filter_status);
  return job.event.status;
}

void CompactionRunner::Begin(Job* job) {
  const CompactionPlan& plan = *job->plan;
  job->begun = true;
  job->event = {.column_family = job->family->name,
                .input_level = plan.InputLevel(),
                .output_level = plan.output_level,
                .input_files = plan.InputTables(),
                .trivial_move = plan.kind == CompactionPlan::Kind::kMove,
                .reason = plan.reason};
  state_->core->info_log.Write("compaction of %s begins: %s", Printable(job->family->name), ToString(plan));
  state_->Tell([&](EventListener& listener) { listener.OnCompactionBegin(job->event); });
  job->began_micros = state_->core->world.clock->MonotonicMicros();
}

uint64_t CompactionRunner::BytesToMove(const Job& job) const {
  ValueCollectionRef collection;
  {
    StateLock lock(state_);
    collection = job.family->collection();
  }
  const bool comes_back = InlineBelow(*job.family, *job.plan) > 0;
  uint64_t bytes = 0;
  for (const CompactionInput& in : job.plan->inputs) {
    for (const TableRef& table : in.tables) {
      const TableMetadata& m = table->metadata();
      if (comes_back) {
        bytes += ValueBytes(m);
      } else if (collection != nullptr) {
        bytes += collection->BytesToMove(m);
      }
    }
  }
  return bytes;
}

bool CompactionRunner::Continue(Job* job) {
  if (!job->begun) Begin(job);
  const uint64_t space = job->event.trivial_move ? 0 : job->plan->InputBytes() + BytesToMove(*job);
  std::optional<absl::Status> ended = slots_->RetryWhileDiskFull(
      BackgroundWork::kCompaction, {&job->family, 1}, space, job->progress, &job->tries, [&] {
        Outcome outcome = Compact(*job->family, job->plan, job->run, job->progress);
        job->result = std::move(outcome.result);
        return std::move(outcome.status);
      });
  if (!ended.has_value()) return false;
  job->event.status = *std::move(ended);
  Conclude(job);
  return true;
}

void CompactionRunner::Conclude(Job* job) {
  CompactionEvent& event = job->event;
  const CompactionResult& result = job->result;
  event.micros = state_->core->world.clock->MonotonicMicros() - job->began_micros;
  event.output_files = event.trivial_move ? job->plan->InputTables() : static_cast<int>(result.outputs.size());
  event.bytes_read = result.bytes_read;
  event.bytes_written = result.bytes_written;
  event.value_bytes_moved = result.value_bytes_moved;
  event.entries_in = result.counts.entries_in;
  event.entries_out = result.counts.entries_out;
  End(job->family.get(), job->plan, event.status, /*of_range=*/job->progress != nullptr);
  if (event.status.ok()) table_dropper_.Drop(job->family);
  Tell(event);
  if (!result.filter_status.ok()) {
    state_->Tell([&](EventListener& listener) { listener.OnError("filter with context", result.filter_status); });
  }
  if (!absl::IsDataLoss(event.status)) {
    slots_->StopOnFailure({&job->family, 1}, event.status, "compaction");
    return;
  }
  const std::string_view what = job->progress != nullptr ? "compaction of a range" : "compaction, which is put off";
  state_->Tell([&](EventListener& listener) { listener.OnError(what, event.status); });
}

void CompactionRunner::End(Family* family, const PlanRef& plan, const absl::Status& status, bool of_range) {
  StateLock lock(state_);
  family->EndCompaction(plan, state_->ReadDemandNow(), of_range);
  // CompactRange is not deferred, because its caller may try again with another range.
  if (absl::IsDataLoss(status) && !of_range && !family->dropped()) family->DeferCompaction(plan, status);
}

void CompactionRunner::Tell(const CompactionEvent& event) const {
  StatisticsImpl& statistics = state_->core->statistics;
  statistics.Add(event.trivial_move ? Ticker::kTrivialMoves : Ticker::kCompactions);
  statistics.Add(Ticker::kCompactionReadBytes, event.bytes_read);
  statistics.Add(Ticker::kCompactionWriteBytes, event.bytes_written);
  statistics.Add(Ticker::kValueBytesMoved, event.value_bytes_moved);
  statistics.Add(Ticker::kCompactionEntriesIn, event.entries_in);
  statistics.Add(Ticker::kCompactionEntriesOut, event.entries_out);
  statistics.Record(Histogram::kCompactionMicros, event.micros);
  state_->core->info_log.Write(
      "compaction of %s ends: %d tables, %u bytes read, %u written, %u of values moved in "
      "%u us: %s",
      Printable(event.column_family), event.output_files, event.bytes_read, event.bytes_written,
      event.value_bytes_moved, event.micros, event.status.ToString());
  state_->Tell([&](EventListener& listener) { listener.OnCompactionEnd(event); });
}

CompactionRunner::Outcome CompactionRunner::Compact(const Family& family, const PlanRef& plan, RunNumber run,
                                                    RangeProgress* progress) {
  Core& core = *state_->core;
  CompactionResult result;
  const bool moves = plan->kind == CompactionPlan::Kind::kMove;
  if (!moves) {
    absl::StatusOr<CompactionResult> rewritten = Rewrite(family, plan, run, progress);
    if (!rewritten.ok()) {
      // The file of moved values is ended, so that it goes with the values of this try, and the next try begins
      // another.
      core.values.moved().EndFile();
      return {rewritten.status()};
    }
    result = *std::move(rewritten);
  }
  const PauseGate::Section section(pause_);
  if (!moves) {
    absl::Status synced = result.value_bytes_moved > 0 ? core.values.moved().Sync() : absl::OkStatus();
    if (synced.ok()) synced = core.directory->Sync();
    if (!synced.ok()) {
      RemoveTables(core.directory.get(), &core.cache, result.outputs);
      return {std::move(synced)};
    }
  }
  SEPAL_DCHECK(CheckPlan(*state_->VersionOf(family), *plan, /*adopted=*/true).ok() || family.dropped());
  absl::Status applied = catalog_->Apply(EditOf(*plan, family.id, run, result.outputs), nullptr, nullptr);
  slots_->DiscardIfRefused(applied, result.outputs);
  return {std::move(applied), std::move(result)};
}

// The version is the one before the plan's edit, or a later one: it has all range tombstones that are durable by now.
absl::StatusOr<CompactionResult> CompactionRunner::Rewrite(const Family& family, const PlanRef& plan, RunNumber run,
                                                           RangeProgress* progress) {
  Core& core = *state_->core;
  Control control(slots_, pause_, &family, progress);
  FamilyTableOpener opener = core.Opener(family.order);
  TableOutputContext context = catalog_->OutputContext(family);
  context.pacing = core.PacingFor(Executor::Priority::kCompaction);
  context.guard_bits_per_key =
      GuardBitsOfCompaction(family.options.filter_policy.guard_bits_per_key, *state_->VersionOf(family), *plan);
  // Bottommost tables are not rewritten soon, and readers of the replaced tables then find the new blocks in memory.
  if (plan->bottommost) context.cache = &core.cache;
  std::vector<SequenceNumber> snapshots = snapshots_->ForJob(family);
  const std::vector<SequenceNumber> held = state_->snapshots->SequencesFor(family.id);
  RangeTombstonesRef ranges = state_->VersionOf(family)->range_tombstones().Merged(family.order, snapshots);
  std::shared_ptr<const StripeFilter> filter;
  ValueCollectionRef collection;
  {
    StateLock lock(state_);
    filter = family.FilterForJob(snapshots);
    collection = family.collection();
  }
  const bool needs_all = plan->bottommost && snapshots.size() == 1 && !family.history.on();
  absl::StatusOr<CompactionResult> result =
      RunCompaction({.context = std::move(context),
                     .plan = plan,
                     .opener = &opener,
                     .snapshots = std::move(snapshots),
                     .ranges = std::move(ranges),
                     .filter = std::move(filter),
                     .moves = {.store = &core.values,
                               .collection = std::move(collection),
                               .inline_below = InlineBelow(family, *plan)},
                     .context_filter = family.options.context_filter,
                     .filter_context = {.column_family = family.name,
                                        .output_level = plan->output_level,
                                        .last_level = plan->bottommost,
                                        .manual = progress != nullptr},
                     .newest_snapshot = held.empty() ? std::nullopt : std::optional(held.back()),
                     .output_run = run,
                     .max_threads = slots_->executor()->CompactionConcurrency(),
                     .read_ahead_bytes = core.budget.limit_bytes() / kReadAheadPart,
                     .executor = slots_->executor(),
                     .control = &control});
  if (!result.ok()) return result;
  for (TableMetadata& output : result->outputs) output.needs_all_versions = needs_all;
  return result;
}

void CompactionRunner::StartSketches(const FamilyRef& family) {
  family->BeginSketches();
  slots_->Start(Executor::Priority::kCompaction,
                [this, family, version = family->version()] { LearnSketches(family.get(), *version); });
}

void CompactionRunner::LearnSketches(Family* family, const Version& version) {
  const Core& core = *state_->core;
  // No cache is used, because the blocks cached for a table would be evicted with this short-lived reader.
  FamilyTableOpener opener(
      {core.directory.get(), /*cache=*/nullptr, &state_->core->budget, /*statistics=*/nullptr, false}, family->order);
  for (const TableRef& table : version.Tables()) {
    if (slots_->cancelled()) break;
    const absl::Status learned = table->LearnSketch(&opener);
    if (!learned.ok())
      state_->core->info_log.Write("the number of distinct keys of a table is unknown: %s", learned.ToString());
  }
  // Sums the keys here, for later versions to share; otherwise the next look for work would do it with the mutex held.
  static_cast<void>(version.Keys());
  StateLock lock(state_);
  family->EndSketches();
}

}  // namespace sepal

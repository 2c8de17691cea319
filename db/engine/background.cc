#include "db/engine/background.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "db/decide/level_targets.h"
#include "db/decide/read_demand.h"
#include "util/status.h"

namespace sepal {

Background::Background(EngineState* state, Catalog* catalog, WriteAheadLog* log, Executor* executor)
    : state_(state),
      catalog_(catalog),
      log_(log),
      executor_(executor),
      gate_(state),
      pause_(state),
      scrubber_(state, &pause_, executor),
      pace_(executor->CompactionConcurrency()) {
  state_->snapshots->SetListener([this] { HearOfSnapshots(); });
}

// --- what is due ---

void Background::Schedule() {
  state_->mutex.AssertHeld();
  WeighReads();
  gate_.Update();
  pace_.SetThrottled(!gate_.current().unlimited());
  pace_.SetCompactionsLag(gate_.current().compactions_lag);
  pace_.SetResting(AllAtRest());
  SetEarlyFlushThreads();
  if (state_->closing || !state_->error.ok() || state_->pauses > 0) return;
  for (const FamilyRef& family : state_->Families()) {
    ScheduleFlush(family);
    ScheduleSketches(family);
  }
  bool scheduled = true;
  const int most_compactions = pace_.threads();
  while (scheduled && state_->compaction_jobs < most_compactions) {
    scheduled = false;
    for (const FamilyRef& family : ByNeedOfCompaction()) {
      if (state_->compaction_jobs < most_compactions && ScheduleCompaction(family)) scheduled = true;
    }
  }
  const int others = std::max(0, state_->compaction_jobs - 1);
  merge_threads_.store(std::max(1, pace_.merge_threads() - others), std::memory_order_relaxed);
}

std::vector<FamilyRef> Background::ByNeedOfCompaction() const {
  std::vector<FamilyRef> families = state_->Families();
  if (families.size() < 2) return families;
  std::vector<std::pair<double, FamilyRef>> by_score;
  for (FamilyRef& family : families) {
    const Version& version = *family->version();
    const CompactionPolicy policy = family->PolicyNow();
    double score = 0;
    for (int level = 0; level <= version.DeepestLevel(); ++level) {
      const bool taken = std::any_of(family->running.begin(), family->running.end(),
                                     [level](const PlanRef& plan) { return plan->InputLevel() == level; });
      if (!taken) score = std::max(score, CompactionScore(version, policy, level));
    }
    by_score.emplace_back(score, std::move(family));
  }
  std::stable_sort(by_score.begin(), by_score.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  families.clear();
  for (auto& [score, family] : by_score) families.push_back(std::move(family));
  return families;
}

void Background::SetEarlyFlushThreads() {
  pace_.SetFlushAwaited(waiting_ + waiting_for_flush_ > 0);
  early_flush_threads_.store(pace_.early_flush_threads(), std::memory_order_relaxed);
}

uint64_t Background::DemandNow() const {
  const StatisticsImpl& statistics = state_->core->statistics;
  return ReadDemand({.level0_lookups = statistics.GetFilter(0).lookups,
                     .seeks = statistics.Get(Ticker::kSeeks),
                     .steps = statistics.Get(Ticker::kNexts) + statistics.Get(Ticker::kPrevs)});
}

void Background::WeighReads() {
  const uint64_t now = DemandNow();
  demand_weighed_.store(now, std::memory_order_relaxed);
  uint64_t next = kNever;
  bool awaited = false;
  for (const FamilyRef& family : state_->Families()) {
    const Version& version = *family->version();
    // What readers have asked for holds until they have it.
    if (!family->MergesLevel0()) {
      const bool few = version.NumRuns(0) < family->policy.runs_per_level;
      // Less than before: the user has set the counts back to zero.
      if (few || family->demand_before.value_or(0) > now) family->demand_before = now;
      const uint64_t due =
          family->demand_before.has_value() ? DemandThatMerges(*family->demand_before, version.Entries(0)) : 0;
      family->level0_is_read = !few && now >= due;
      if (!few && now < due) next = std::min(next, due);
    }
    awaited = awaited || (family->level0_is_read && version.NumRuns(0) > 2 * family->policy.runs_per_level);
  }
  pace_.SetAwaited(awaited || waiting_ > 0);
  demand_due_.store(next, std::memory_order_relaxed);
}

void Background::HearReaders(uint64_t reads) {
  const uint64_t before = heard_.fetch_add(reads, std::memory_order_relaxed);
  if (before / kReadsPerLook == (before + reads) / kReadsPerLook) return;
  const uint64_t now = DemandNow();
  // Less than before: the user has set the counts back to zero, and what is due has to be found anew.
  const bool reset = now < demand_weighed_.load(std::memory_order_relaxed);
  if (!reset && now < demand_due_.load(std::memory_order_relaxed)) return;
  MutexLock lock(&state_->mutex);
  Schedule();
}

PickerInput Background::MakePickerInput(const Family& family, std::vector<const CompactionPlan*>* running) const {
  for (const PlanRef& plan : family.running) running->push_back(plan.get());
  for (const CompactionPutOff& put_off : family.put_off) running->push_back(put_off.plan.get());
  const std::vector<SequenceNumber> snapshots = state_->snapshots->Sequences();
  return {.version = family.version().get(),
          .policy = family.PolicyNow(),
          .running = *running,
          .oldest_snapshot = snapshots.empty() ? state_->VisibleSequence() : snapshots.front(),
          // Who only looks at a database, or adds little, should not set off a merge by opening it.
          .at_rest = family.last_flush.has_value() && AtRest(family),
          .sketches_sought = family.sketches_sought};
}

void Background::ScheduleSketches(const FamilyRef& family) {
  // Who adds nothing should not set off a merge for the sake of space.
  if (family->sketches_sought || family->sketches_running || !family->last_flush.has_value()) return;
  if (!MayExceedSpace(*family->version(), family->policy)) return;
  family->sketches_running = true;
  StartJob(Executor::Priority::kCompaction,
           [this, family, version = family->version()] { LearnSketches(family.get(), *version); });
}

void Background::LearnSketches(Family* family, const Version& version) {
  const Core& core = *state_->core;
  // Without the cache: what it holds of a table would go with this passing reader.
  FamilyTableOpener opener(
      {core.directory.get(), /*cache=*/nullptr, &state_->core->budget, /*statistics=*/nullptr, false}, family->order);
  for (const TableRef& table : version.Tables()) {
    if (cancel_.load(std::memory_order_relaxed)) break;
    const absl::Status learned = table->LearnSketch(&opener);
    if (!learned.ok()) state_->core->info_log.Write("a table's keys count as unknown: %s", learned.ToString());
  }
  // Summed here, as far as later versions share it, rather than by the first look for what is due, which holds the
  // mutex.
  static_cast<void>(version.Keys());
  MutexLock lock(&state_->mutex);
  family->sketches_sought = true;
}

bool Background::AtRest(const Family& family) { return family.active()->empty() && family.immutables.empty(); }

bool Background::AllAtRest() const {
  const std::vector<FamilyRef> families = state_->Families();
  return std::all_of(families.begin(), families.end(), [](const FamilyRef& f) { return AtRest(*f); });
}

bool Background::ScheduleCompaction(const FamilyRef& family) {
  std::vector<const CompactionPlan*> running;
  CompactionPlan picked = PickCompaction(MakePickerInput(*family, &running));
  if (picked.nothing()) return false;
  auto plan = std::make_shared<const CompactionPlan>(std::move(picked));
  const RunNumber run = Adopt(family.get(), plan);
  ++state_->compaction_jobs;
  StartJob(Executor::Priority::kCompaction,
           [this, family, plan = std::move(plan), run] { RunCompactionJob(family, plan, run); });
  return true;
}

RunNumber Background::Adopt(Family* family, PlanRef plan) {
  const RunNumber run = plan->output_run.value_or(RunNumber(0));
  const bool fresh = !plan->output_run.has_value();
  family->running.push_back(std::move(plan));
  return fresh ? RunNumber(catalog_->NewFileNumber().value()) : run;
}

void Background::Forget(Family* family, const PlanRef& plan) {
  // Reads of before have had what they asked for.
  if (plan->InputLevel() == 0) family->demand_before = DemandNow();
  family->running.erase(std::find(family->running.begin(), family->running.end(), plan));
}

std::vector<SequenceNumber> Background::Snapshots() {
  const SequenceNumber visible = state_->VisibleSequence();
  std::vector<SequenceNumber> snapshots = state_->snapshots->Sequences();
  if (!snapshots.empty()) {
    // Should they be released before this is noted: the job's end looks for what is due.
    MutexLock lock(&state_->mutex);
    kept_for_ = std::max(kept_for_.value_or(snapshots.back()), snapshots.back());
    kept_for_any_.store(true, std::memory_order_relaxed);
  }
  if (snapshots.empty() || snapshots.back() < visible) snapshots.push_back(visible);
  return snapshots;
}

// Once for each of the snapshots that jobs met, at most: who takes and releases many pays a look for each of the
// others.
void Background::HearOfSnapshots() {
  if (!kept_for_any_.load(std::memory_order_relaxed)) return;
  MutexLock lock(&state_->mutex);
  if (!kept_for_.has_value()) return;
  Schedule();
  const std::vector<SequenceNumber> left = state_->snapshots->Sequences();
  if (!left.empty() && left.front() <= *kept_for_) return;
  kept_for_.reset();
  kept_for_any_.store(false, std::memory_order_relaxed);
}

// --- failing, waiting, ending ---

absl::Status Background::CheckSpace(uint64_t bytes_needed) const {
  absl::StatusOr<uint64_t> free = state_->core->directory->FreeBytes();
  // A file system that cannot say is taken at its word when it writes.
  if (!free.ok() || *free >= bytes_needed + bytes_needed / 8) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("%s: %u bytes are free and about %u are needed", state_->core->path, *free, bytes_needed));
}

absl::Status Background::WhetherToWaitForSpace(const Family& family, RangeProgress* progress) const {
  if (cancel_.load(std::memory_order_relaxed)) return absl::CancelledError("the database is being closed");
  RETURN_IF_ERROR(family.CheckThere());
  if (progress != nullptr && !progress->Tell()) return absl::CancelledError("the compaction was ended");
  return absl::OkStatus();
}

absl::Status Background::RetryWhileDiskFull(BackgroundWork work, const Family& family, uint64_t bytes_needed,
                                            RangeProgress* progress, const std::function<absl::Status()>& body) {
  bool waits = false;
  const auto note = [&](bool full) {
    if (full == std::exchange(waits, full)) return;
    MutexLock lock(&state_->mutex);
    gate_.CountWaitingForSpace(work, full ? 1 : -1);
    state_->changed.NotifyAll();
  };
  while (true) {
    if (waits) state_->core->RemoveUnusedFiles();  // no job may end before there is space
    // Who closes the database has no time to wait for space, and tries what there is.
    absl::Status status = cancel_.load(std::memory_order_relaxed) ? absl::OkStatus() : CheckSpace(bytes_needed);
    if (status.ok()) {
      note(false);
      status = body();
    }
    const bool full =
        absl::IsResourceExhausted(status) && log_->Failure().ok() && !state_->stopped.load(std::memory_order_acquire);
    note(full);
    if (!full) return status;
    const absl::Status why_not = WhetherToWaitForSpace(family, progress);
    if (!why_not.ok()) {
      note(false);
      return absl::CancelledError(absl::StrCat(status.message(), "; ", why_not.message()));
    }
    state_->core->info_log.Write("waiting for space: %s", status.ToString());
    state_->Tell([&](EventListener& listener) { listener.OnError("background work waits for space", status); });
    state_->core->world.clock->SleepMicros(state_->core->tuning.space_retry_micros);
  }
}

void Background::StartJob(Executor::Priority priority, std::function<void()> work) {
  ++state_->jobs;
  executor_->Schedule(priority, [this, work = std::move(work)]() mutable {
    work();
    work = nullptr;  // the families, versions and plans that it holds
    EndJob();
  });
}

void Background::Judge(const Family& family, const absl::Status& status, std::string_view what) {
  const bool is_void = absl::IsCancelled(status) || family.dropped.load(std::memory_order_acquire);
  if (!status.ok() && !is_void) state_->Stop(status, what);
}

void Background::EndJob() {
  CleanUp();
  {
    MutexLock lock(&state_->mutex);
    Schedule();
  }
  gate_.TellOfChange();
  MutexLock lock(&state_->mutex);
  --state_->jobs;
  state_->changed.NotifyAll();
}

void Background::CleanUp() {
  state_->core->RemoveUnusedFiles();
  state_->core->cache.Shrink();
  bool keeps = true;
  {
    MutexLock lock(&state_->mutex);
    keeps = !AllAtRest() && !gate_.MemoryIsShort();
  }
  if (!keeps) state_->core->ClearPools();
  gate_.TellOfChange();
}

bool Background::NothingDue() const {
  if (state_->jobs > 0 || state_->pauses > 0) return false;
  for (const FamilyRef& family : state_->Families()) {
    if (!family->immutables.empty()) return false;
  }
  return true;
}

absl::Status Background::WaitUntilIdle() {
  MutexLock lock(&state_->mutex);
  ++waiting_;
  Schedule();
  while (state_->error.ok() && !state_->closing && !NothingDue()) state_->changed.Wait(&state_->mutex);
  --waiting_;
  return state_->error;
}

absl::Status Background::WaitForFlush(const FamilyRef& family) {
  MutexLock lock(&state_->mutex);
  const std::shared_ptr<const MemTable> last =
      family->immutables.empty() ? nullptr : family->immutables.back().memtable;
  const auto waits = [&] {
    return std::any_of(family->immutables.begin(), family->immutables.end(),
                       [&](const ImmutableMemTable& immutable) { return immutable.memtable == last; });
  };
  RETURN_IF_ERROR(state_->error);
  if (last == nullptr) return family->CheckThere();
  ++waiting_for_flush_;
  SetEarlyFlushThreads();
  while (state_->error.ok() && !state_->closing && waits()) state_->changed.Wait(&state_->mutex);
  --waiting_for_flush_;
  SetEarlyFlushThreads();
  RETURN_IF_ERROR(state_->error);
  if (!waits()) return family->CheckThere();
  return absl::CancelledError(absl::StrFormat("the database in %s is being closed", state_->core->path));
}

absl::Status Background::Continue() {
  MutexLock lock(&state_->mutex);
  RETURN_IF_ERROR(pause_.Continue());
  Schedule();
  return absl::OkStatus();
}

void Background::Close() {
  state_->snapshots->SetListener(nullptr);
  {
    MutexLock lock(&state_->mutex);
    state_->closing = true;
    state_->changed.NotifyAll();
  }
  // Not before `closing`: what gives up would be scheduled again, for as long as this thread does not get its turn.
  cancel_.store(true, std::memory_order_relaxed);
  state_->core->rate_limiter.Lift();
  {
    MutexLock lock(&state_->mutex);
    while (state_->jobs > 0) state_->changed.Wait(&state_->mutex);
  }
  scrubber_.Stop();
}

std::vector<FamilyRef> Background::UnloggedFamilies() const {
  std::vector<FamilyRef> families = state_->Families();
  std::erase_if(families, [](const FamilyRef& family) {
    return std::none_of(family->immutables.begin(), family->immutables.end(),
                        [](const ImmutableMemTable& immutable) { return immutable.unlogged; });
  });
  return families;
}

absl::Status Background::FlushUnlogged() {
  std::vector<FamilyRef> families;
  absl::Status why;
  {
    MutexLock lock(&state_->mutex);
    families = UnloggedFamilies();
    if (families.empty()) return absl::OkStatus();
  }
  for (const FamilyRef& family : families) {
    {
      MutexLock lock(&state_->mutex);
      if (!state_->error.ok()) break;
      ++state_->jobs;
      ++family->flushes_waiting;
    }
    KeepFirst(&why, RunFlush(family));
    EndJob();
  }
  MutexLock lock(&state_->mutex);
  KeepFirst(&why, state_->error);
  std::string names;
  for (const FamilyRef& family : UnloggedFamilies()) absl::StrAppend(&names, names.empty() ? "" : ", ", family->name);
  if (names.empty()) return absl::OkStatus();
  return absl::Status(absl::IsCancelled(why) ? absl::StatusCode::kResourceExhausted : why.code(),
                      absl::StrFormat("%s: what was written with disable_wal is lost, of column families %s: %s",
                                      state_->core->path, names, why.message()));
}

}  // namespace sepal

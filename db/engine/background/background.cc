#include "db/engine/background/background.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "util/base/check.h"
#include "util/base/status.h"

namespace sepal {

Background::Background(EngineState* state, WriteGate* gate, Catalog* catalog, WriteAheadLog* log, Executor* executor)
    : state_(state),
      gate_(gate),
      catalog_(catalog),
      log_(log),
      executor_(executor),
      pause_(state),
      scrubber_(state, &pause_, executor),
      pace_(executor->CompactionConcurrency()) {
  state_->snapshots->SetListener([this] { HearOfSnapshots(); });
}

void Background::LearnSketches(Family* family, const Version& version) {
  const Core& core = *state_->core;
  // Without the cache: what it holds of a table would go with this passing reader.
  FamilyTableOpener opener(
      {core.directory.get(), /*cache=*/nullptr, &state_->core->budget, /*statistics=*/nullptr, false}, family->order);
  for (const TableRef& table : version.Tables()) {
    if (cancel_.load(std::memory_order_relaxed)) break;
    const absl::Status learned = table->LearnSketch(&opener);
    if (!learned.ok())
      state_->core->info_log.Write("the number of distinct keys of a table is unknown: %s", learned.ToString());
  }
  // Summed here, as far as later versions share it, rather than by the first look for what is due, which holds the
  // mutex.
  static_cast<void>(version.Keys());
  StateLock lock(state_);
  family->sketches_sought = true;
  family->need.reset();
}

RunNumber Background::Adopt(Family* family, PlanRef plan) {
  SEPAL_DCHECK(CheckPlan(*family->version(), *plan).ok());
  const RunNumber run = plan->output_run.value_or(RunNumber(0));
  const bool fresh = !plan->output_run.has_value();
  family->running.push_back(std::move(plan));
  family->need.reset();
  return fresh ? RunNumber(catalog_->NewFileNumber().value()) : run;
}

void Background::Forget(Family* family, const PlanRef& plan) {
  // Reads of before have had what they asked for.
  if (plan->InputLevel() == 0) {
    family->demand_before = DemandNow();
    family->few_runs = false;
  }
  family->running.erase(std::find(family->running.begin(), family->running.end(), plan));
  family->need.reset();
}

std::vector<SequenceNumber> Background::Snapshots() {
  const SequenceNumber visible = state_->VisibleSequence();
  std::vector<SequenceNumber> snapshots = state_->snapshots->Sequences();
  if (!snapshots.empty()) {
    // Should they be released before this is noted: the job's end looks for what is due.
    StateLock lock(state_);
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
  StateLock lock(state_);
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
  if (cancel_.load(std::memory_order_relaxed)) return BeingClosed();
  RETURN_IF_ERROR(family.CheckThere());
  if (progress != nullptr && !progress->Tell()) return absl::CancelledError("the compaction was cancelled");
  return absl::OkStatus();
}

absl::Status Background::RetryWhileDiskFull(BackgroundWork work, const Family& family, uint64_t bytes_needed,
                                            RangeProgress* progress, const std::function<absl::Status()>& body) {
  bool waits = false;
  const auto note = [&](bool full) {
    if (full == std::exchange(waits, full)) return;
    StateLock lock(state_);
    gate_->CountWaitingForSpace(work, full ? 1 : -1);
    Schedule();  // what a CompactRange held back
    state_->NotifyChanged();
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
    StateLock lock(state_);
    Schedule();
  }
  gate_->TellOfChange();
  StateLock lock(state_);
  --state_->jobs;
  state_->NotifyChanged();
}

void Background::CleanUp() {
  state_->core->RemoveUnusedFiles();
  state_->core->cache.Shrink();
  bool keeps = true;
  {
    StateLock lock(state_);
    keeps = !AllAtRest() && !gate_->MemoryIsShort();
  }
  if (!keeps) state_->core->ClearPools();
  gate_->TellOfChange();
}

absl::Status Background::WaitUntilIdle() {
  StateLock lock(state_);
  ++waiting_;
  Schedule();
  while (state_->error.ok() && !state_->closing && !NothingDue()) state_->WaitForChange();
  --waiting_;
  return state_->error;
}

absl::Status Background::WaitForFlush(const FamilyRef& family) {
  StateLock lock(state_);
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
  while (state_->error.ok() && !state_->closing && waits()) state_->WaitForChange();
  --waiting_for_flush_;
  SetEarlyFlushThreads();
  RETURN_IF_ERROR(state_->error);
  if (!waits()) return family->CheckThere();
  return BeingClosed();
}

absl::Status Background::BeingClosed() const {
  return absl::CancelledError(absl::StrFormat("the database in %s is being closed", state_->core->path));
}

absl::Status Background::Continue() {
  StateLock lock(state_);
  RETURN_IF_ERROR(pause_.Continue());
  Schedule();
  return absl::OkStatus();
}

void Background::Close() {
  state_->snapshots->SetListener(nullptr);
  {
    StateLock lock(state_);
    state_->closing = true;
    state_->NotifyChanged();
  }
  // Not before `closing`: what gives up would be scheduled again, for as long as this thread does not get its turn.
  cancel_.store(true, std::memory_order_relaxed);
  state_->core->rate_limiter.Lift();
  {
    StateLock lock(state_);
    while (state_->jobs > 0) state_->WaitForChange();
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
    StateLock lock(state_);
    families = UnloggedFamilies();
    if (families.empty()) return absl::OkStatus();
  }
  for (const FamilyRef& family : families) {
    {
      StateLock lock(state_);
      if (!state_->error.ok()) break;
      ++state_->jobs;
      ++family->flushes_waiting;
      family->need.reset();
    }
    KeepFirst(&why, RunFlush(family));
    EndJob();
  }
  StateLock lock(state_);
  KeepFirst(&why, state_->error);
  std::string names;
  for (const FamilyRef& family : UnloggedFamilies()) absl::StrAppend(&names, names.empty() ? "" : ", ", family->name);
  if (names.empty()) return absl::OkStatus();
  return absl::Status(absl::IsCancelled(why) ? absl::StatusCode::kResourceExhausted : why.code(),
                      absl::StrFormat("%s: writes with disable_wal to column families %s are lost: %s",
                                      state_->core->path, names, why.message()));
}

}  // namespace sepal

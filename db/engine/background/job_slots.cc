#include "db/engine/background/job_slots.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "db/act/jobs/table_output.h"
#include "util/base/no_memory.h"
#include "util/base/status.h"

namespace sepal {

namespace {

bool AllDropped(JobSlots::Families families) {
  return std::all_of(families.begin(), families.end(), [](const FamilyRef& family) { return family->dropped(); });
}

}  // namespace

void JobSlots::Begin() {
  ++state_->jobs;
  if (state_->core->member != nullptr) state_->core->member->group()->CountJobs(1);
}

void JobSlots::Start(Executor::Priority priority, std::function<void()> work) {
  Begin();
  executor_->Schedule(priority, [this, work = std::move(work)]() mutable {
    work();
    work = nullptr;  // releases the families, versions and plans that it holds
    End();
  });
}

void JobSlots::StartInTries(Executor::Priority priority, std::function<bool()> work) {
  Begin();
  executor_->Schedule(priority,
                      [this, priority, work = std::move(work)]() mutable { RunTry(priority, std::move(work)); });
}

void JobSlots::RunTry(Executor::Priority priority, std::function<bool()> work) {
  if (work()) {
    work = nullptr;
    End();
    return;
  }
  patient_->PutOff(priority, state_->core->tuning.space_retry_micros,
                   [this, priority, work = std::move(work)]() mutable { RunTry(priority, std::move(work)); });
}

void JobSlots::End() {
  CleanUp();
  {
    StateLock lock(state_);
    Schedule();
  }
  gate_->TellOfChange();
  if (state_->core->member != nullptr) state_->core->member->group()->CountJobs(-1);
  StateLock lock(state_);
  --state_->jobs;
  state_->NotifyChanged();
}

void JobSlots::CleanUp() {
  state_->core->RemoveUnusedFiles();
  state_->core->cache.Shrink();
  bool keeps = true;
  {
    StateLock lock(state_);
    const MemtableGroup::Member* const member = state_->core->member.get();
    const bool others_work = member != nullptr && !member->group()->OneJobAtMost();
    keeps = (others_work || !state_->AllAtRest()) && !gate_->MemoryIsShort();
  }
  if (!keeps) state_->core->ClearPools();
  gate_->TellOfChange();
}

absl::Status JobSlots::BeingClosed() const {
  return absl::CancelledError(absl::StrFormat("the database in %s is being closed", state_->core->path));
}

absl::Status JobSlots::CheckSpace(uint64_t bytes_needed) const {
  absl::StatusOr<uint64_t> free = state_->core->directory->FreeBytes();
  // If the file system cannot tell, the write itself will.
  if (!free.ok() || *free >= bytes_needed + bytes_needed / 8) return absl::OkStatus();
  return absl::ResourceExhaustedError(
      absl::StrFormat("%s: %u bytes are free and about %u are needed", state_->core->path, *free, bytes_needed));
}

absl::Status JobSlots::CheckMayWait(Families families, RangeProgress* progress) const {
  if (cancelled()) return BeingClosed();
  if (AllDropped(families)) return families.front()->CheckThere();
  if (progress != nullptr && !progress->Tell()) return absl::CancelledError("the compaction was cancelled");
  return absl::OkStatus();
}

void JobSlots::TellOfWait(std::string_view what, const absl::Status& status) const {
  const std::string waits = absl::StrFormat("background work waits for %s", what);
  state_->core->info_log.Write("%s: %s", waits, status.ToString());
  state_->Tell([&](EventListener& listener) { listener.OnError(waits, status); });
}

std::optional<absl::Status> JobSlots::RetryWhileDiskFull(BackgroundWork work, Families families, uint64_t bytes_needed,
                                                         RangeProgress* progress, Tries* tries,
                                                         const std::function<absl::Status()>& body) {
  while (true) {
    std::optional<absl::Status> ended = Try(work, families, bytes_needed, progress, tries, body);
    if (ended.has_value() || !tries->in_thread) return ended;
    state_->core->world.clock->SleepMicros(state_->core->tuning.space_retry_micros);
  }
}

void JobSlots::NoteWait(BackgroundWork work, bool for_space, Tries* tries) {
  if (for_space == std::exchange(tries->waits_for_space, for_space)) return;
  StateLock lock(state_);
  gate_->CountWaitingForSpace(work, for_space ? 1 : -1);
  Schedule();  // a CompactRange may have held it back
  state_->NotifyChanged();
}

std::optional<absl::Status> JobSlots::Try(BackgroundWork work, Families families, uint64_t bytes_needed,
                                          RangeProgress* progress, Tries* tries,
                                          const std::function<absl::Status()>& body) {
  if (tries->waits_for_space) state_->core->RemoveUnusedFiles();  // until there is space no job may end and do it
  // Closing cannot wait for space, so it tries with what there is.
  absl::Status status = cancelled() ? absl::OkStatus() : CheckSpace(bytes_needed);
  if (status.ok()) {
    NoteWait(work, false, tries);
    status = body();
  }
  const bool may_pass =
      absl::IsResourceExhausted(status) && log_->Failure().ok() && !state_->stopped.load(std::memory_order_acquire);
  const bool no_memory = may_pass && IsNoMemory(status);
  NoteWait(work, may_pass && !no_memory, tries);
  if (!may_pass) return status;
  tries->for_memory = no_memory ? tries->for_memory + 1 : 0;
  if (tries->for_memory == kMostTriesForMemory) {
    return Lasting(status, absl::StrFormat("the system had no memory in %d tries", kMostTriesForMemory));
  }
  const absl::Status why_not = CheckMayWait(families, progress);
  if (!why_not.ok()) {
    NoteWait(work, false, tries);
    return absl::CancelledError(absl::StrCat(status.message(), "; ", why_not.message()));
  }
  TellOfWait(no_memory ? "memory" : "space", status);
  return std::nullopt;
}

void JobSlots::StopOnFailure(Families families, const absl::Status& status, std::string_view what) {
  const bool is_void = absl::IsCancelled(status) || AllDropped(families);
  if (!status.ok() && !is_void) state_->Stop(status, what);
}

void JobSlots::DiscardIfRefused(const absl::Status& applied, const std::vector<TableMetadata>& tables) {
  if (applied.ok() || state_->stopped.load(std::memory_order_acquire)) return;
  RemoveTables(state_->core->directory.get(), &state_->core->cache, tables);
}

void JobSlots::GrantEarlyFlushThreads() {
  early_flush_threads_.store(pace_.early_flush_threads(), std::memory_order_relaxed);
}

void JobSlots::GrantCompactionThreads() {
  const int others = std::max(0, state_->compaction_jobs - 1);
  compaction_threads_.store(std::max(1, pace_.compaction_threads() - others), std::memory_order_relaxed);
}

}  // namespace sepal

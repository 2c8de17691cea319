// What all background jobs share: how they start and end, their threads, and their failures.
//
// A full disk makes a job wait and try again (so does a full quota). So does a system without memory, but only
// kMostTriesForMemory times, as that may never end. Closing makes a job give up. Any other failure ends all writing.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "db/act/log/write_ahead_log.h"
#include "db/decide/pacing/background_pace.h"
#include "db/engine/background/range_progress.h"
#include "db/engine/core/database_state.h"
#include "db/engine/gate/write_gate.h"
#include "util/thread/fair_executor.h"

namespace sepal {

// The interface that starts due jobs.
class JobSource {
 public:
  virtual ~JobSource() = default;
  // Starts whatever is due. To be called when a memtable was switched, a job ended, or the database was opened.
  virtual void Schedule() REQUIRES_STATE_LOCK = 0;
};

class JobSlots {
 public:
  static constexpr int kMostTriesForMemory = 20;

  JobSlots(EngineState* state, WriteGate* gate, WriteAheadLog* log, Executor* executor, JobSource* source)
      : state_(state),
        gate_(gate),
        log_(log),
        executor_(executor),
        source_(source),
        patient_(state->core->shared != nullptr ? static_cast<FairExecutor::Client*>(executor) : nullptr),
        pace_(executor->CompactionConcurrency()) {}

  Executor* executor() const { return executor_; }
  void Schedule() REQUIRES_STATE_LOCK { source_->Schedule(); }

  // Runs `work` as a job in a worker thread. What it holds is released before the job ends, since the database may be
  // gone after that.
  void Start(Executor::Priority priority, std::function<void()> work) REQUIRES_STATE_LOCK;
  // The same for work that may have to wait for space: it returns whether it has ended, and is called again after a
  // while if not. It has no thread while it waits.
  void StartInTries(Executor::Priority priority, std::function<bool()> work) REQUIRES_STATE_LOCK;
  // Begins a job of the calling thread, which End ends.
  void Begin() REQUIRES_STATE_LOCK;
  // The last step of a job, whose thread must hold nothing of the database any more.
  void End() EXCLUDES_STATE_LOCK;

  // Makes work give up when it next asks.
  void Cancel() {
    cancel_.store(true, std::memory_order_relaxed);
    if (patient_ != nullptr) patient_->Hurry();
  }
  bool cancelled() const { return cancel_.load(std::memory_order_relaxed); }
  absl::Status BeingClosed() const;

  // The families that a job works for; not empty.
  using Families = std::span<const FamilyRef>;
  // The state that is kept from one try to the next.
  struct Tries {
    // Whether it waits in its own thread rather than in StartInTries; always true if the threads are the database's
    // own.
    bool in_thread = true;
    bool waits_for_space = false;
    int for_memory = 0;
  };
  // For work that StartInTries calls.
  Tries NewTries() const { return {.in_thread = patient_ == nullptr}; }
  // Runs `body` until its result is anything but a full disk, or it has lacked memory too often; waits between the
  // tries. Cancelled if all its families are dropped, or if `progress`, which may be null, says so. Returns nullopt if
  // the caller must wait and call again with the same `tries`.
  std::optional<absl::Status> RetryWhileDiskFull(BackgroundWork work, Families families, uint64_t bytes_needed,
                                                 RangeProgress* progress, Tries* tries,
                                                 const std::function<absl::Status()>& body) EXCLUDES_STATE_LOCK;
  // A failure of `what` ends all writing, unless the work was given up or all its families are gone.
  void StopOnFailure(Families families, const absl::Status& status, std::string_view what) EXCLUDES_STATE_LOCK;
  // Removes the new tables of an edit that was refused, for lack of space or because the family is gone, as the edit
  // never took effect. After a failure that ended all writing the edit may be on the disk, so the tables must stay.
  void DiscardIfRefused(const absl::Status& applied, const std::vector<TableMetadata>& tables);

  BackgroundPace& pace() REQUIRES_STATE_LOCK { return pace_; }
  // Grants running jobs the threads that the pace allows now.
  void GrantEarlyFlushThreads() REQUIRES_STATE_LOCK;
  void GrantCompactionThreads() REQUIRES_STATE_LOCK;
  // The threads of each early flush.
  int early_flush_threads() const { return early_flush_threads_.load(std::memory_order_relaxed); }
  // The threads of each compaction, while the present number of them runs.
  int compaction_threads() const { return compaction_threads_.load(std::memory_order_relaxed); }

 private:
  void RunTry(Executor::Priority priority, std::function<bool()> work) EXCLUDES_STATE_LOCK;
  // Makes one try; nullopt if it is to be repeated.
  std::optional<absl::Status> Try(BackgroundWork work, Families families, uint64_t bytes_needed,
                                  RangeProgress* progress, Tries* tries,
                                  const std::function<absl::Status()>& body) EXCLUDES_STATE_LOCK;
  void NoteWait(BackgroundWork work, bool for_space, Tries* tries) EXCLUDES_STATE_LOCK;
  absl::Status CheckSpace(uint64_t bytes_needed) const;
  // Returns why work should wait no longer for space; ok if it should wait.
  absl::Status CheckMayWait(Families families, RangeProgress* progress) const;
  // Reports that work waits for `what`, "space" or "memory".
  void TellOfWait(std::string_view what, const absl::Status& status) const;
  // Frees what became free, and tells listeners of a change of the throttle.
  void CleanUp() EXCLUDES_STATE_LOCK;

  EngineState* const state_;
  WriteGate* const gate_;
  WriteAheadLog* const log_;
  Executor* const executor_;
  JobSource* const source_;
  FairExecutor::Client* const patient_;  // the executor, if databases share it
  BackgroundPace pace_ ABSL_GUARDED_BY(database_mutex);
  std::atomic<int> compaction_threads_{1};
  std::atomic<int> early_flush_threads_{1};
  std::atomic<bool> cancel_{false};
};

}  // namespace sepal

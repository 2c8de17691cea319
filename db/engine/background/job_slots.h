// What all background jobs share: their start and their end, the threads that they may have, and how they fail.
//
// A full disk makes a job wait and try again (a quota too, where the disk itself has space). So does a system without
// memory, but only kMostTriesForMemory times: unlike space, nobody may ever free it. Closing makes a job give up. Any
// other failure ends all writing.
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

// What starts jobs.
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

  // Has a worker do `work`, as a job. All that it holds is let go of before the job ends, since the database may be
  // gone then.
  void Start(Executor::Priority priority, std::function<void()> work) REQUIRES_STATE_LOCK;
  // The same for work that may have to wait for space: it returns whether it has ended, and is called again after a
  // while if not. Meanwhile it has no thread.
  void StartInTries(Executor::Priority priority, std::function<bool()> work) REQUIRES_STATE_LOCK;
  // A job that the calling thread does, between these two.
  void Begin() REQUIRES_STATE_LOCK;
  // The last step of a job, whose thread holds nothing of the database any more.
  void End() EXCLUDES_STATE_LOCK;

  // From now on work gives up as soon as it asks.
  void Cancel() {
    cancel_.store(true, std::memory_order_relaxed);
    if (patient_ != nullptr) patient_->Hurry();
  }
  bool cancelled() const { return cancel_.load(std::memory_order_relaxed); }
  absl::Status BeingClosed() const;

  // Those that work is for; not empty.
  using Families = std::span<const FamilyRef>;
  // What work remembers from one try to the next.
  struct Tries {
    // Whether it waits in its thread, and not in StartInTries: always, where the threads are the database's own.
    bool in_thread = true;
    bool waits_for_space = false;
    int for_memory = 0;
  };
  // Of work that StartInTries calls.
  Tries NewTries() const { return {.in_thread = patient_ == nullptr}; }
  // Runs `body` until it ends in anything but a full disk, or has lacked memory too often; waits between the tries, for
  // as long as one of its families is there and `progress`, which may be null, says so. Cancelled else. Nullopt: the
  // wait is the caller's, who calls again with the same `tries`.
  std::optional<absl::Status> RetryWhileDiskFull(BackgroundWork work, Families families, uint64_t bytes_needed,
                                                 RangeProgress* progress, Tries* tries,
                                                 const std::function<absl::Status()>& body) EXCLUDES_STATE_LOCK;
  // A failure of `what` ends all writing, but where the work was given up, or was for families that are gone.
  void Judge(Families families, const absl::Status& status, std::string_view what) EXCLUDES_STATE_LOCK;
  // An edit that was refused, for want of space or since the family is gone, never took effect, and its new tables are
  // removed. After a failure that ended all writing it may be on the disk, and the tables must stay.
  void DiscardIfRefused(const absl::Status& applied, const std::vector<TableMetadata>& tables);

  BackgroundPace& pace() REQUIRES_STATE_LOCK { return pace_; }
  // Running jobs may have as many threads as the pace says by now.
  void GrantEarlyFlushThreads() REQUIRES_STATE_LOCK;
  void GrantCompactionThreads() REQUIRES_STATE_LOCK;
  // For each flush of what came in order.
  int early_flush_threads() const { return early_flush_threads_.load(std::memory_order_relaxed); }
  // For each compaction, while so many of them run.
  int compaction_threads() const { return compaction_threads_.load(std::memory_order_relaxed); }

 private:
  void RunTry(Executor::Priority priority, std::function<bool()> work) EXCLUDES_STATE_LOCK;
  // One try; nullopt: it is to be tried again.
  std::optional<absl::Status> Try(BackgroundWork work, Families families, uint64_t bytes_needed,
                                  RangeProgress* progress, Tries* tries,
                                  const std::function<absl::Status()>& body) EXCLUDES_STATE_LOCK;
  void NoteWait(BackgroundWork work, bool for_space, Tries* tries) EXCLUDES_STATE_LOCK;
  absl::Status CheckSpace(uint64_t bytes_needed) const;
  // Why work that waits for space should not wait any longer; ok: it should.
  absl::Status WhetherToWait(Families families, RangeProgress* progress) const;
  // Says what work waits for, "space" or "memory".
  void TellOfWait(std::string_view what, const absl::Status& status) const;
  // Frees what became free, and tells listeners of a change of the throttle.
  void CleanUp() EXCLUDES_STATE_LOCK;

  EngineState* const state_;
  WriteGate* const gate_;
  WriteAheadLog* const log_;
  Executor* const executor_;
  JobSource* const source_;
  FairExecutor::Client* const patient_;  // the executor, where databases share it
  BackgroundPace pace_ ABSL_GUARDED_BY(database_mutex);
  std::atomic<int> compaction_threads_{1};
  std::atomic<int> early_flush_threads_{1};
  std::atomic<bool> cancel_{false};
};

}  // namespace sepal

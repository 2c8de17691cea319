// Flushes and compactions: when they are due, who runs them, and what happens when they fail.
//
// A job's way: decide (with the database mutex) -> work (with none) -> edit (Catalog) -> look again. A full disk makes
// a job wait and try again (a quota too, where the disk itself has space); closing makes it give up; a compaction that
// meets damage is put off, and everything that does not need its tables goes on; any other failure ends all writing.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "db/act/files/table_files.h"
#include "db/act/jobs/compaction_job.h"
#include "db/act/log/log_writer.h"
#include "db/decide/pacing/background_pace.h"
#include "db/engine/background/pause_gate.h"
#include "db/engine/background/range_progress.h"
#include "db/engine/background/scrubber.h"
#include "db/engine/catalog/catalog.h"
#include "db/engine/core/database_state.h"
#include "db/engine/gate/write_gate.h"

namespace sepal {

class Background {
 public:
  Background(EngineState* state, WriteGate* gate, Catalog* catalog, WriteAheadLog* log, Executor* executor);

  Scrubber* scrubber() { return &scrubber_; }

  // Starts whatever is due. Requires the database mutex. Called when a memtable was switched, a job ended, or the
  // database was opened.
  void Schedule();
  // Whether a merge waits for readers (db/decide/pacing/read_demand.h). They ask each time, for a load.
  bool AwaitsReaders() const { return demand_due_.load(std::memory_order_relaxed) != FamilyNeed::kNoDemand; }
  // So many reads have come meanwhile. The demand of all is looked at once for each `kReadsPerLook`, and what is due is
  // scheduled.
  static constexpr uint64_t kReadsPerLook = 256;
  void HearReaders(uint64_t reads) ABSL_LOCKS_EXCLUDED(database_mutex);
  // The oldest snapshot was released: schedules what it held back.
  void HearOfSnapshots() ABSL_LOCKS_EXCLUDED(database_mutex);
  // Returns when nothing runs and nothing is due, or with the error that ended writing.
  absl::Status WaitUntilIdle() ABSL_LOCKS_EXCLUDED(database_mutex);
  // Returns when every memtable that `family` had switched by now is in a table.
  absl::Status WaitForFlush(const FamilyRef& family) ABSL_LOCKS_EXCLUDED(database_mutex);
  // Brings a range into the last level; works on it in the calling thread.
  absl::Status CompactRange(const FamilyRef& family, const CompactRangeOptions& options)
      ABSL_LOCKS_EXCLUDED(database_mutex);
  // See DB.
  void Pause() { pause_.Pause(); }
  absl::Status Continue() ABSL_LOCKS_EXCLUDED(database_mutex);
  // Returns when no job runs; none is started any more.
  void Close() ABSL_LOCKS_EXCLUDED(database_mutex);
  // After Close: brings what no log holds, and is in memory alone, into tables, in the calling thread. Does not wait
  // for space.
  absl::Status FlushUnlogged() ABSL_LOCKS_EXCLUDED(database_mutex);

 private:
  using PlanRef = std::shared_ptr<const CompactionPlan>;
  class Control;
  class RangeTurn;

  // What all families need. The families are those of EngineState::families.
  struct Look {
    int level0_runs = 0;
    uint64_t debt_bytes = 0;
    bool readers_wait = false;
    std::vector<const FamilyRef*> jobs = {};    // a flush, or sketches
    std::vector<const FamilyRef*> merges = {};  // the picker may have something
  };
  // Finds the need of those families alone where it is another, and when readers will have asked for one.
  Look LookAtFamilies() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Readers had asked for `before` at the last look, and have for `now`.
  void FindNeed(Family* family, uint64_t before, uint64_t now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Whether readers of the family have asked for a merge of its level 0. Returns when they will have.
  static uint64_t WeighReads(Family* family, uint64_t before, uint64_t now);
  // Whether what is kept of it is what a look would find.
  bool NeedHolds(const Family& family, SequenceNumber oldest) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  uint64_t DemandNow() const;
  // What no snapshot looks below.
  SequenceNumber OldestSnapshot() const;
  void ScheduleFlush(const FamilyRef& family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Of those families, as long as another may run: whose level is fullest first, and each has one before any has
  // another.
  void ScheduleCompactions(std::vector<const FamilyRef*> families) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  bool ScheduleCompaction(const FamilyRef& family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Whether a CompactRange waits until none of the family's plans is in its way, so that the background begins none.
  bool IsHeldBack(const Family& family) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // A job that reads the sketches of tables of earlier openings.
  void ScheduleSketches(const FamilyRef& family) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void LearnSketches(Family* family, const Version& version) ABSL_LOCKS_EXCLUDED(database_mutex);
  PickerInput MakePickerInput(const Family& family, std::vector<const CompactionPlan*>* running) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Until something changes; with `progress`, not for long.
  void AwaitChange(const RangeProgress& progress) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // The damage that keeps a CompactRange from this step for good; ok: none does.
  static absl::Status DamageInTheWayOf(const Family& family, PickerInput input, const RangeCall& call);
  bool AllAtRest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // For a job that begins: those that users hold, and what is visible now.
  std::vector<SequenceNumber> Snapshots() ABSL_LOCKS_EXCLUDED(database_mutex);

  // As many as somebody who waits may make it.
  void SetEarlyFlushThreads() ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Returns how it ended.
  absl::Status RunFlush(const FamilyRef& family) ABSL_LOCKS_EXCLUDED(database_mutex);
  class Taken;
  struct FlushDone {
    LastFlush volume = {};
    int threads = 1;
    bool again = false;  // older memtables wait again, and come first
  };
  // Of the memtables that wait. Cancelled where there are none.
  absl::Status TryFlush(const FamilyRef& family, bool goes_first, FlushEvent* event, FlushDone* done)
      ABSL_LOCKS_EXCLUDED(database_mutex);
  absl::Status Flush(const FamilyRef& family, const Taken& taken, FlushEvent* event, FlushDone* done)
      ABSL_LOCKS_EXCLUDED(database_mutex);
  absl::StatusOr<std::vector<TableMetadata>> WriteTables(const FamilyRef& family, const Taken& taken, FlushDone* done)
      ABSL_LOCKS_EXCLUDED(database_mutex);
  // Returns when nothing older than `run` is under way: whether all of it is in tables, and none in a newer run.
  absl::StatusOr<bool> AwaitTurn(const Family& family, RunNumber run) ABSL_LOCKS_EXCLUDED(database_mutex);
  absl::Status Install(const FamilyRef& family, const Taken& taken, const std::vector<TableMetadata>& tables,
                       FlushDone* done) ABSL_LOCKS_EXCLUDED(database_mutex);
  bool AnyMerges() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // Whether another family has an update at or before `through` that is in no table yet.
  bool OthersWaitBefore(const Family& family, SequenceNumber through) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void RunCompactionJob(const FamilyRef& family, const PlanRef& plan, RunNumber run)
      ABSL_LOCKS_EXCLUDED(database_mutex);
  // Carries out an adopted plan, whole.
  absl::Status CarryOut(const FamilyRef& family, const PlanRef& plan, RunNumber run, RangeProgress* progress)
      ABSL_LOCKS_EXCLUDED(database_mutex);
  VersionRef VersionNow(const Family& family) const ABSL_LOCKS_EXCLUDED(database_mutex);
  absl::StatusOr<CompactionResult> Merge(const Family& family, const PlanRef& plan, RunNumber run,
                                         RangeProgress* progress) ABSL_LOCKS_EXCLUDED(database_mutex);
  absl::Status Compact(const FamilyRef& family, const PlanRef& plan, RunNumber run, RangeProgress* progress,
                       CompactionEvent* event) ABSL_LOCKS_EXCLUDED(database_mutex);
  // Of the tables that may hold keys of `range`.
  uint64_t BytesIn(const Family& family, const KeyRange& range) const ABSL_LOCKS_EXCLUDED(database_mutex);
  void DiscardIfRefused(const absl::Status& applied, const std::vector<TableMetadata>& tables);
  RunNumber Adopt(Family* family, PlanRef plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  void Forget(Family* family, const PlanRef& plan) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  // Runs `body` until it ends in anything but a full disk; waits between the tries, for as long as its family is there
  // and `progress`, which may be null, says so. Cancelled else.
  absl::Status RetryWhileDiskFull(BackgroundWork work, const Family& family, uint64_t bytes_needed,
                                  RangeProgress* progress, const std::function<absl::Status()>& body)
      ABSL_LOCKS_EXCLUDED(database_mutex);
  absl::Status BeingClosed() const;
  // Why work that waits for space should not wait any longer; ok: it should.
  absl::Status WhetherToWaitForSpace(const Family& family, RangeProgress* progress) const;
  absl::Status CheckSpace(uint64_t bytes_needed) const;
  // Frees what became free, and tells listeners of a change of the throttle.
  void CleanUp() ABSL_LOCKS_EXCLUDED(database_mutex);
  // Has a worker do `work`. All that it holds is let go of before the job ends, since the database may be gone then.
  void StartJob(Executor::Priority priority, std::function<void()> work) ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  // The last step of a job, whose thread holds nothing of the database any more.
  void EndJob() ABSL_LOCKS_EXCLUDED(database_mutex);
  // A failure of `what` ends all writing, but where the work was given up, or was for a family that is gone.
  void Judge(const Family& family, const absl::Status& status, std::string_view what)
      ABSL_LOCKS_EXCLUDED(database_mutex);
  // The same of a compaction. Damage of its inputs is told as an error of `what`, and no reason to end writing.
  void JudgeCompaction(const Family& family, const absl::Status& status, std::string_view what)
      ABSL_LOCKS_EXCLUDED(database_mutex);
  // In a job of its own: the operating system takes its time to give back a file's pages, and the next flush need not
  // wait for that. At once when closing, or calm.
  void RemoveOldLogs(FileNumber minimum) ABSL_LOCKS_EXCLUDED(database_mutex);
  // Those whose immutables hold what no log holds.
  std::vector<FamilyRef> UnloggedFamilies() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);
  bool NothingDue() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(database_mutex);

  EngineState* const state_;
  WriteGate* const gate_;
  Catalog* const catalog_;
  WriteAheadLog* const log_;
  Executor* const executor_;
  PauseGate pause_;
  Scrubber scrubber_;
  BackgroundPace pace_ ABSL_GUARDED_BY(database_mutex);
  // Of each compaction, while so many of them run.
  std::atomic<int> merge_threads_{1};
  // Of each flush of what came in order.
  std::atomic<int> early_flush_threads_{1};
  // The demand of reads at which a merge is due; kNoDemand while none waits for that.
  std::atomic<uint64_t> demand_due_{FamilyNeed::kNoDemand};
  // When it was last weighed.
  std::atomic<uint64_t> demand_weighed_{0};
  // Reads while a merge waited.
  std::atomic<uint64_t> heard_{0};
  // So that AllAtRest seldom has to ask all: a family that was not, and the last sequence number when all were.
  uint32_t restless_ ABSL_GUARDED_BY(database_mutex) = 0;
  std::optional<SequenceNumber> rested_at_ ABSL_GUARDED_BY(database_mutex);
  // Threads in WaitUntilIdle.
  int waiting_ ABSL_GUARDED_BY(database_mutex) = 0;
  // Threads in WaitForFlush.
  int waiting_for_flush_ ABSL_GUARDED_BY(database_mutex) = 0;
  // The newest snapshot for whose sake a job may have kept what else it would have dropped; none: all those are gone.
  std::optional<SequenceNumber> kept_for_ ABSL_GUARDED_BY(database_mutex);
  std::atomic<bool> kept_for_any_{false};  // the same, for a look without the mutex
  std::atomic<bool> cancel_{false};
};

}  // namespace sepal

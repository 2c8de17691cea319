// Looks for what background work is due, and starts it.
//
// Facts (Family) -> decision (db/decide/pacing/schedule.h) -> actions (the runners). A look asks each family for the
// need that the last one found there, and has it found anew in those families alone of which something has changed
// since: a database of many families has little to do with most.
#pragma once

#include <atomic>
#include <cstdint>
#include <set>
#include <vector>

#include "absl/status/status.h"
#include "db/decide/pacing/schedule.h"
#include "db/engine/background/compaction_runner.h"
#include "db/engine/background/flush_runner.h"
#include "db/engine/background/job_slots.h"
#include "db/engine/core/database_state.h"
#include "db/engine/gate/write_gate.h"

namespace sepal {

class JobScheduler final : public JobSource {
 public:
  JobScheduler(EngineState* state, WriteGate* gate, JobSlots* slots, FlushRunner* flushes,
               CompactionRunner* compactions)
      : state_(state), gate_(gate), slots_(slots), flushes_(flushes), compactions_(compactions) {}

  void Schedule() override REQUIRES_STATE_LOCK;

  // Whether a compaction waits for lookups, or for lookups and iterators (db/decide/pacing/read_demand.h). These ask
  // each time, for a load.
  bool AwaitsReaders() const { return demand_due_.load(std::memory_order_relaxed) != ReadWatch::kNever; }
  bool AwaitsIterators() const {
    return AwaitsReaders() || seeks_due_.load(std::memory_order_relaxed) != ReadWatch::kNever;
  }
  // So many reads have come meanwhile. The demand of all is looked at once for each `kReadsPerLook`, and what is due is
  // scheduled.
  static constexpr uint64_t kReadsPerLook = 256;
  void OnReads(uint64_t reads) EXCLUDES_STATE_LOCK;

  // Returns when nothing runs and nothing is due, or with the error that ended writing.
  absl::Status WaitUntilIdle() EXCLUDES_STATE_LOCK;
  // Returns when every memtable that `family` had switched by now is in a table.
  absl::Status WaitForFlush(const FamilyRef& family) EXCLUDES_STATE_LOCK;

 private:
  // What all families need, and which of them need anything. The pointers are into EngineState::families.
  struct Look {
    int level0_runs = 0;
    uint64_t debt_bytes = 0;
    bool readers_wait = false;
    std::vector<FamilyRef> flushes = {};
    std::vector<const FamilyRef*> sketches = {};
    // By the candidates' numbers.
    std::vector<const FamilyRef*> families = {};
    std::vector<CompactionCandidate> candidates = {};
  };
  // Finds anew which value files are to be emptied, where that may have changed, and tells the families.
  void LookAtValues() REQUIRES_STATE_LOCK;
  std::set<FileNumber> FilesOfTablesPutOff() const REQUIRES_STATE_LOCK;
  // Also finds when readers will have asked for another need.
  Look LookAtFamilies() REQUIRES_STATE_LOCK;
  void SetPace(const Look& look) REQUIRES_STATE_LOCK;
  void StartCompactions(const Look& look) REQUIRES_STATE_LOCK;
  // Of each early flush, which has more while a caller waits for a flush.
  void GrantEarlyFlushThreads() REQUIRES_STATE_LOCK;
  bool NothingDue() const REQUIRES_STATE_LOCK;

  EngineState* const state_;
  WriteGate* const gate_;
  JobSlots* const slots_;
  FlushRunner* const flushes_;
  CompactionRunner* const compactions_;
  // Null: there was no value file yet.
  ValueCollectionRef collection_ ABSL_GUARDED_BY(database_mutex);
  uint64_t value_changes_ ABSL_GUARDED_BY(database_mutex) = 0;
  // The demand of reads at which a compaction is due; kNever while none waits for that.
  std::atomic<uint64_t> demand_due_{ReadWatch::kNever};
  std::atomic<uint64_t> seeks_due_{ReadWatch::kNever};
  // When it was last weighed.
  std::atomic<uint64_t> demand_weighed_{0};
  // Reads while a compaction waited.
  alignas(64) std::atomic<uint64_t> heard_{0};
  // Threads in WaitUntilIdle, and in WaitForFlush.
  int waiting_ ABSL_GUARDED_BY(database_mutex) = 0;
  int waiting_for_flush_ ABSL_GUARDED_BY(database_mutex) = 0;
};

}  // namespace sepal

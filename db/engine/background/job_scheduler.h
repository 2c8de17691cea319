// Finds the background work that is due, and starts it.
//
// Facts (Family) -> decision (db/decide/pacing/schedule.h) -> actions (the runners). A look uses each family's need
// from the last look, and recomputes it only for families that have changed since, because in a database of many
// families most are idle.
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

  // Whether a compaction waits for lookups, or for lookups and iterators (db/decide/pacing/read_demand.h). Every read
  // asks, at the cost of one load.
  bool AwaitsReaders() const { return demand_due_.load(std::memory_order_relaxed) != ReadWatch::kNever; }
  bool AwaitsIterators() const {
    return AwaitsReaders() || seeks_due_.load(std::memory_order_relaxed) != ReadWatch::kNever;
  }
  // Counts reads. Once every `kReadsPerLook`, checks the demand, and schedules what is due.
  static constexpr uint64_t kReadsPerLook = 256;
  void OnReads(uint64_t reads) EXCLUDES_STATE_LOCK;

  // Returns when nothing runs and nothing is due, or with the error that ended writing.
  absl::Status WaitUntilIdle() EXCLUDES_STATE_LOCK;
  // Returns when every memtable that `family` has switched before the call is in a table.
  absl::Status WaitForFlush(const FamilyRef& family) EXCLUDES_STATE_LOCK;

 private:
  // The needs of all families, and which of them need anything. The pointers are into EngineState::families.
  struct Look {
    int level0_runs = 0;
    uint64_t debt_bytes = 0;
    bool readers_wait = false;
    std::vector<FamilyRef> flushes = {};
    std::vector<const FamilyRef*> sketches = {};
    // Indexed by the candidates' `family`.
    std::vector<const FamilyRef*> families = {};
    std::vector<CompactionCandidate> candidates = {};
  };
  // Decides again which value files are to be emptied, if that may have changed, and tells the families.
  void LookAtValues() REQUIRES_STATE_LOCK;
  std::set<FileNumber> FilesOfTablesPutOff() const REQUIRES_STATE_LOCK;
  // Also finds the demand at which the next need arises.
  Look LookAtFamilies() REQUIRES_STATE_LOCK;
  void SetPace(const Look& look) REQUIRES_STATE_LOCK;
  void StartCompactions(const Look& look) REQUIRES_STATE_LOCK;
  // Sets the threads of each early flush; it gets more while a caller waits for a flush.
  void GrantEarlyFlushThreads() REQUIRES_STATE_LOCK;
  bool NothingDue() const REQUIRES_STATE_LOCK;

  EngineState* const state_;
  WriteGate* const gate_;
  JobSlots* const slots_;
  FlushRunner* const flushes_;
  CompactionRunner* const compactions_;
  // Null until there is a value file.
  ValueCollectionRef collection_ ABSL_GUARDED_BY(database_mutex);
  uint64_t value_changes_ ABSL_GUARDED_BY(database_mutex) = 0;
  // The demand of reads at which a compaction becomes due; kNever if none waits for that.
  std::atomic<uint64_t> demand_due_{ReadWatch::kNever};
  std::atomic<uint64_t> seeks_due_{ReadWatch::kNever};
  // The demand at the last look.
  std::atomic<uint64_t> demand_weighed_{0};
  // The reads counted while a compaction waited.
  alignas(64) std::atomic<uint64_t> heard_{0};
  // The numbers of threads in WaitUntilIdle and in WaitForFlush.
  int waiting_ ABSL_GUARDED_BY(database_mutex) = 0;
  int waiting_for_flush_ ABSL_GUARDED_BY(database_mutex) = 0;
};

}  // namespace sepal

// Holds writers back, as the throttle decides (db/decide/pacing/throttle.h).
//
// Unthrottled, a write pays one relaxed load. Safe for concurrent use.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "db/decide/pacing/throttle.h"
#include "db/engine/core/database_state.h"
#include "db/format/batch_format.h"
#include "db/state/memtable/memtable.h"

namespace sepal {

enum class BackgroundWork : uint8_t { kFlush, kCompaction };

// Laws:
//   - writers stand still only while something is under way that makes room: a job, a pause, a large batch that was let
//     in. Before one is refused, idle memory is given to the system and what memtables hold is flushed: it is refused
//     where pins, iterators and open tables alone hold the limit;
//   - a writer that stands still for memory looks again every few milliseconds: nothing tells it what readers let go
//   of;
//   - large batches are counted from here until they lie in memtables, so that many at a time do not pass a limit that
//     each of them keeps. What counts is what they will take there, which of small entries is several times the batch.
//     They go in in the order in which they came. Where the first does not fit into the limit, memtables are flushed,
//     and until it is in small batches wait too; otherwise it could starve;
//   - with Options::large_batches, one that takes over a quarter of the limit goes in while no other large one is on
//     its way.
class WriteGate {
 public:
  // `flush` switches all memtables that hold anything. It is called by writers, with no lock held.
  WriteGate(EngineState* state, std::function<absl::Status()> flush);

  // One write's way through the gate. What it was let in with is counted until this ends, or goes.
  class Pass {
   public:
    explicit Pass(WriteGate* gate) : gate_(gate) {}
    ~Pass() { End(); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    // Once. Returns when `batch` may be written. InvalidArgument if it is too large (CheckSize). With
    // `no_slowdown`, Unavailable instead of any wait. ResourceExhausted when nothing makes room: there is no space for
    // a flush, or what holds the memory limit cannot be flushed. Call with no lock held.
    absl::Status Enter(std::string_view batch, bool no_slowdown) {
      if (gate_->rate_.load(std::memory_order_relaxed) == ThrottleRate::kUnlimited &&
          MemTable::BytesOfBatch(batch) < gate_->large_bytes_) [[likely]]
        return absl::OkStatus();
      if (BatchCount(batch) == 0) return absl::OkStatus();  // a sync, perhaps, which needs no memory
      return gate_->EnterSlowly({BatchCount(batch), batch.size(), batch.size()}, no_slowdown, &counted_bytes_);
    }
    // The same for values that go to value files, before the batch that refers to them: they take their time at the
    // allowed rate, and next to no memory.
    absl::Status EnterValues(uint64_t value_bytes, bool no_slowdown) {
      if (gate_->rate_.load(std::memory_order_relaxed) == ThrottleRate::kUnlimited) [[likely]]
        return absl::OkStatus();
      return gate_->EnterSlowly({/*entries=*/1, kBatchHeaderBytes, value_bytes}, no_slowdown, &counted_bytes_);
    }

    // What was let in lies in memtables.
    void End() {
      if (counted_bytes_ > 0) gate_->Leave(std::exchange(counted_bytes_, 0));
    }

   private:
    WriteGate* const gate_;
    size_t counted_bytes_ = 0;
  };

  // InvalidArgument: no batch of that size is let in, whatever else there is. Such a one takes over a quarter of the
  // memory limit, unless large batches are allowed, or does not fit into a record of the log.
  absl::Status CheckSize(uint32_t entries, size_t batch_bytes) const;

  // To be called after each small part of a memtable that was filled: writers that outrun a flush are slowed down
  // before they have to stop. Call with the commit mutex at most.
  void LookAtMemory() EXCLUDES_STATE_LOCK;

  // Tells listeners and the info log if the rate is another than they were told last. By one thread at a time, so that
  // the last word is the newest; a thread that comes meanwhile leaves it to that one.
  void TellOfChange() EXCLUDES_STATE_LOCK;

  // Decides anew. To be called whenever what the throttle looks at has changed: the most of all column families
  // (ThrottleInput). `values` may be null.
  void Update(int level0_runs, uint64_t debt_bytes, const ValueCollection* values) REQUIRES_STATE_LOCK;
  const ThrottleRate& current() const REQUIRES_STATE_LOCK { return decided_; }
  // So many more flushes, or compactions, wait for space on the disk; fewer where it is negative.
  void CountWaitingForSpace(BackgroundWork work, int more) REQUIRES_STATE_LOCK;
  bool AnyWaitsForSpace() const REQUIRES_STATE_LOCK { return flushes_without_space_ + compactions_without_space_ > 0; }
  // As of the last decision: too little is left to keep any for later use.
  bool MemoryIsShort() const REQUIRES_STATE_LOCK;

 private:
  struct Load {
    uint32_t entries;
    size_t batch_bytes;
    uint64_t paced_bytes;  // what takes its time where the rate is limited
  };
  // What a writer does next, with no lock held.
  enum class Step : uint8_t { kGoIn, kFlush, kGiveBackMemory };
  // A writer that did not go in at once.
  struct Writer {
    const uint64_t paced_bytes;
    const size_t bytes;  // by MemTable::BytesOfBatch
    const bool no_slowdown;
    // Since when nothing is under way that would make room.
    uint64_t alone_since_micros;
    // Of a large batch: its place in large_waiting_.
    std::optional<uint64_t> turn = {};
    bool looked = false;            // for memory, once at least
    bool gave_back = false;         // idle memory, as its last step
    bool flush_ran = false;         // when it began to give back: what that flush leaves is not given back
    absl::Status flushed = {};      // how its last flush went
    size_t counted_bytes = 0;       // of a large batch that was let in
    uint64_t pacing_micros = 0;     // to be waited once it is let in
    bool throttle_changed = false;  // since listeners were last told
  };

  absl::Status EnterSlowly(const Load& load, bool no_slowdown, size_t* counted_bytes) EXCLUDES_STATE_LOCK;
  // Whether it is let in without a wait. If not, it is in line.
  bool EntersAtOnce(Writer* writer) EXCLUDES_STATE_LOCK;
  // Waits until the writer is let in, is refused, or has something to do first. After the first two it is in line no
  // more.
  absl::StatusOr<Step> Advance(Writer* writer) EXCLUDES_STATE_LOCK;
  absl::StatusOr<Step> AwaitStep(Writer* writer) REQUIRES_STATE_LOCK;
  // As long as nothing changes; where nobody would tell of the change, for a moment.
  void StandStill(const Writer& writer, bool under_way) REQUIRES_STATE_LOCK;
  void LeaveLine(const Writer& writer) REQUIRES_STATE_LOCK;
  // The writer has a time at which it may go in by the rate; Unavailable if that is later and it does not wait.
  absl::Status Pace(Writer* writer) REQUIRES_STATE_LOCK;
  void Count(Writer* writer) REQUIRES_STATE_LOCK;
  void Leave(size_t bytes) EXCLUDES_STATE_LOCK;
  void AwaitPace(const Writer& writer) EXCLUDES_STATE_LOCK;
  // Memtables hold what no flush is taking away.
  bool AnythingToFlush() const REQUIRES_STATE_LOCK;
  bool MemoryFits(size_t bytes) const REQUIRES_STATE_LOCK;
  // Whether a batch is refused without large_batches.
  bool IsOversized(size_t bytes) const;
  // Whether a large batch may join what is there and was let in. `looked`: for memory, just now, with no flush running
  // since before.
  bool HasRoomFor(size_t bytes, bool looked) const REQUIRES_STATE_LOCK;
  // Whether it is this one's turn, and no other is on its way.
  bool IsNext(const Writer& writer) const REQUIRES_STATE_LOCK;
  bool MayGoIn(const Writer& writer, bool looked) const REQUIRES_STATE_LOCK;
  // Whether what memtables hold, or is kept for later, may be what keeps the writer out.
  bool LacksMemory(const Writer& writer) const REQUIRES_STATE_LOCK;
  // Whether the writer looks for memory now.
  bool TakesLook(Writer* writer) REQUIRES_STATE_LOCK;
  // A compaction that waits for space frees no memory.
  bool AnythingUnderWay() const REQUIRES_STATE_LOCK {
    return state_->jobs > compactions_without_space_ || state_->pauses > 0 || let_in_bytes_ > 0;
  }
  // Of databases that share the memory: their jobs, or flushes that they are asked for by this.
  bool AnyOtherMakesRoom() const REQUIRES_STATE_LOCK;
  absl::Status NoSpaceToFlush() const;
  absl::Status Refusal() const REQUIRES_STATE_LOCK;
  // By the memory as it is, and runs and debt as they were at the last Update: those change with jobs.
  ThrottleRate Decide() REQUIRES_STATE_LOCK;
  void DecideAndWake() REQUIRES_STATE_LOCK;
  // What databases have in memtables that share the memory.
  void LookAtGroup() REQUIRES_STATE_LOCK;
  void Adopt(const ThrottleRate& rate) REQUIRES_STATE_LOCK;
  // To writers, which read it without the mutex.
  void PublishRate() REQUIRES_STATE_LOCK;
  // For writers that are slowed: what held them back may be gone long before a job ends. Never to a lower rate: what
  // one writer sees of a moment's memory is no reason to hold back all of them until then.
  void RetryBesideWriter() REQUIRES_STATE_LOCK;

  EngineState* const state_;
  // From here on a batch is large: a small part of a memtable, after which the pipeline looks whether one is full.
  const size_t large_bytes_;
  MemtableGroup* const group_;  // null: memory is not shared
  const std::function<absl::Status()> flush_;
  // Of `decided_`; 0 while a large one goes first.
  std::atomic<uint64_t> rate_{ThrottleRate::kUnlimited};
  ThrottleRate decided_ ABSL_GUARDED_BY(database_mutex);
  // What that was decided by.
  ThrottleLimits limits_ ABSL_GUARDED_BY(database_mutex);
  ThrottleInput input_ ABSL_GUARDED_BY(database_mutex);
  uint64_t looked_at_micros_ ABSL_GUARDED_BY(database_mutex) = 0;
  ThrottleRate told_ ABSL_GUARDED_BY(database_mutex);
  bool telling_ ABSL_GUARDED_BY(database_mutex) = false;
  bool was_stuck_ ABSL_GUARDED_BY(database_mutex) = false;  // by the last look at the group
  int flushes_without_space_ ABSL_GUARDED_BY(database_mutex) = 0;
  int compactions_without_space_ ABSL_GUARDED_BY(database_mutex) = 0;
  // Of large batches that are on their way into memtables.
  size_t let_in_bytes_ ABSL_GUARDED_BY(database_mutex) = 0;
  // The turns of those that wait, first come, first served.
  std::deque<uint64_t> large_waiting_ ABSL_GUARDED_BY(database_mutex);
  uint64_t last_turn_ ABSL_GUARDED_BY(database_mutex) = 0;
  // The first of those lacks memory: small ones wait until it is in, but for a pause, whose end may be theirs to bring.
  bool large_goes_first_ ABSL_GUARDED_BY(database_mutex) = false;
  // Until when the writes that were let in keep the allowed rate busy.
  uint64_t busy_until_nanos_ ABSL_GUARDED_BY(database_mutex) = 0;
};

}  // namespace sepal

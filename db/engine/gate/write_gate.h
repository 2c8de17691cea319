// Slows and stops writers as the throttle decides (db/decide/pacing/throttle.h).
//
// An unthrottled write costs one relaxed load. Safe for concurrent use.
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
//   - writers stop only while something is under way that makes room: a job, a pause, a large batch that was let in.
//     Before a writer is refused, idle memory is returned to the system and memtables are flushed, so it is refused
//     only if pins, iterators and open tables alone fill the limit;
//   - a writer that is stopped for memory looks again every few milliseconds, because nothing signals what readers
//     release;
//   - a large batch is counted from the gate until it lies in memtables, so that several together do not exceed a limit
//     that each of them keeps. The count is the memory that it will take there, which for small entries is several
//     times the batch. Large batches enter in order of arrival. If the first does not fit into the limit, memtables are
//     flushed, and small batches wait until it has entered; otherwise it could starve;
//   - with Options::large_batches, a batch that takes over a quarter of the limit enters while no other large one is on
//     its way.
class WriteGate {
 public:
  // `flush` switches all memtables that are not empty. Writers call it, with no lock held.
  WriteGate(EngineState* state, std::function<absl::Status()> flush);

  // One write's passage through the gate. Its batch is counted until End or the destructor.
  class Pass {
   public:
    explicit Pass(WriteGate* gate) : gate_(gate) {}
    ~Pass() { End(); }
    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    // Called once; returns when `batch` may be written. InvalidArgument if it is too large (CheckSize). With
    // `no_slowdown`, returns Unavailable instead of waiting. ResourceExhausted if nothing will make room: the disk has
    // no space for a flush, or what fills the memory limit cannot be flushed. Call with no lock held.
    absl::Status Enter(std::string_view batch, bool no_slowdown) {
      if (gate_->rate_.load(std::memory_order_relaxed) == ThrottleRate::kUnlimited &&
          MemTable::BytesOfBatch(batch) < gate_->large_bytes_) [[likely]]
        return absl::OkStatus();
      if (BatchCount(batch) == 0) return absl::OkStatus();  // an empty batch, such as a sync, needs no memory
      return gate_->EnterSlowly({BatchCount(batch), batch.size(), batch.size()}, no_slowdown, &counted_bytes_);
    }
    // The same for values that go to value files, before the batch that refers to them. They are paced by the allowed
    // rate, but take almost no memory.
    absl::Status EnterValues(uint64_t value_bytes, bool no_slowdown) {
      if (gate_->rate_.load(std::memory_order_relaxed) == ThrottleRate::kUnlimited) [[likely]]
        return absl::OkStatus();
      return gate_->EnterSlowly({/*entries=*/1, kBatchHeaderBytes, value_bytes}, no_slowdown, &counted_bytes_);
    }

    // Ends the count: the batch lies in memtables.
    void End() {
      if (counted_bytes_ > 0) gate_->Leave(std::exchange(counted_bytes_, 0));
    }

   private:
    WriteGate* const gate_;
    size_t counted_bytes_ = 0;
  };

  // InvalidArgument if no batch of that size is ever let in: it takes over a quarter of the memory limit and large
  // batches are not allowed, or it does not fit into a record of the log.
  absl::Status CheckSize(uint32_t entries, size_t batch_bytes) const;

  // To be called whenever a small part of a memtable was filled, so that writers that outrun a flush are slowed down
  // before they must stop. Call with at most the commit mutex held.
  void LookAtMemory() EXCLUDES_STATE_LOCK;

  // Tells listeners and the info log if the rate differs from what they were last told. One thread at a time reports,
  // so that the last report is the newest; a thread that comes meanwhile leaves its report to that one.
  void TellOfChange() EXCLUDES_STATE_LOCK;

  // Decides again. To be called whenever the throttle's input has changed; each argument is the maximum over all column
  // families (ThrottleInput). `values` may be null.
  void Update(int level0_runs, uint64_t debt_bytes, const ValueCollection* values) REQUIRES_STATE_LOCK;
  const ThrottleRate& current() const REQUIRES_STATE_LOCK { return decided_; }
  // Adds `more`, which may be negative, to the number of flushes or compactions that wait for disk space.
  void CountWaitingForSpace(BackgroundWork work, int more) REQUIRES_STATE_LOCK;
  bool AnyWaitsForSpace() const REQUIRES_STATE_LOCK { return flushes_without_space_ + compactions_without_space_ > 0; }
  // Returns whether, at the last decision, too little memory was left to keep any for later use.
  bool MemoryIsShort() const REQUIRES_STATE_LOCK;

 private:
  struct Load {
    uint32_t entries;
    size_t batch_bytes;
    uint64_t paced_bytes;  // bytes that count against the limited rate
  };
  // What a writer does next, with no lock held.
  enum class Step : uint8_t { kGoIn, kFlush, kGiveBackMemory };
  // A writer that was not let in at once.
  struct Writer {
    const uint64_t paced_bytes;
    const size_t bytes;  // by MemTable::BytesOfBatch
    const bool no_slowdown;
    // The last time at which something was under way that would make room.
    uint64_t alone_since_micros;
    // For a large batch: its place in large_waiting_.
    std::optional<uint64_t> turn = {};
    bool looked = false;            // it has checked the memory at least once
    bool gave_back = false;         // returning idle memory was its last step
    bool flush_ran = false;         // a flush was running when it began to return idle memory
    absl::Status flushed = {};      // the result of its last flush
    size_t counted_bytes = 0;       // of a large batch that was let in
    uint64_t pacing_micros = 0;     // to be waited once it is let in
    bool throttle_changed = false;  // since listeners were last told
  };

  absl::Status EnterSlowly(const Load& load, bool no_slowdown, size_t* counted_bytes) EXCLUDES_STATE_LOCK;
  // Returns whether the writer is let in without waiting; otherwise, a large batch has joined the line.
  bool EntersAtOnce(Writer* writer) EXCLUDES_STATE_LOCK;
  // Waits until the writer is let in or refused, or must do something first. After the first two it is no longer in
  // line.
  absl::StatusOr<Step> Advance(Writer* writer) EXCLUDES_STATE_LOCK;
  absl::StatusOr<Step> AwaitStep(Writer* writer) REQUIRES_STATE_LOCK;
  // Waits for a change; only briefly, where the change may not be signalled.
  void StandStill(const Writer& writer, bool under_way) REQUIRES_STATE_LOCK;
  void LeaveLine(const Writer& writer) REQUIRES_STATE_LOCK;
  // Gives the writer its time by the rate. Unavailable if that is later than now and it does not wait.
  absl::Status Pace(Writer* writer) REQUIRES_STATE_LOCK;
  void Count(Writer* writer) REQUIRES_STATE_LOCK;
  void Leave(size_t bytes) EXCLUDES_STATE_LOCK;
  void AwaitPace(const Writer& writer) EXCLUDES_STATE_LOCK;
  // Returns whether memtables hold entries that no flush is writing.
  bool AnythingToFlush() const REQUIRES_STATE_LOCK;
  bool MemoryFits(size_t bytes) const REQUIRES_STATE_LOCK;
  // Returns whether a batch is refused without large_batches.
  bool IsOversized(size_t bytes) const;
  // Returns whether a large batch fits beside memtables and the large batches already let in. `looked`: the memory was
  // just checked, and no flush had been running since before that.
  bool HasRoomFor(size_t bytes, bool looked) const REQUIRES_STATE_LOCK;
  // Returns whether it is this writer's turn, and no other large batch is on its way.
  bool IsNext(const Writer& writer) const REQUIRES_STATE_LOCK;
  bool MayGoIn(const Writer& writer, bool looked) const REQUIRES_STATE_LOCK;
  // Returns whether memory in memtables, or kept for later use, may be what keeps the writer out.
  bool LacksMemory(const Writer& writer) const REQUIRES_STATE_LOCK;
  // Returns whether the writer must check the memory now, and notes that it did.
  bool TakesLook(Writer* writer) REQUIRES_STATE_LOCK;
  // A compaction that waits for disk space frees no memory, so it does not count.
  bool AnythingUnderWay() const REQUIRES_STATE_LOCK {
    return state_->jobs > compactions_without_space_ || state_->pauses > 0 || let_in_bytes_ > 0;
  }
  // Returns whether other databases that share the memory run jobs, or could be asked for flushes.
  bool AnyOtherMakesRoom() const REQUIRES_STATE_LOCK;
  absl::Status NoSpaceToFlush() const;
  absl::Status Refusal() const REQUIRES_STATE_LOCK;
  // Decides by the current memory, and by runs and debt as of the last Update, as those change only with jobs.
  ThrottleRate Decide() REQUIRES_STATE_LOCK;
  void DecideAndWake() REQUIRES_STATE_LOCK;
  // Takes into account the memtables of databases that share the memory.
  void LookAtGroup() REQUIRES_STATE_LOCK;
  void Adopt(const ThrottleRate& rate) REQUIRES_STATE_LOCK;
  // Publishes the rate to writers, which read it without the mutex.
  void PublishRate() REQUIRES_STATE_LOCK;
  // For slowed writers, as their reason may be gone long before a job ends. Only raises the rate, because what one
  // writer sees of a moment's memory is no reason to slow all of them until then.
  void RetryBesideWriter() REQUIRES_STATE_LOCK;

  EngineState* const state_;
  // The size from which a batch is large: a small part of a memtable, after which the pipeline checks whether one is
  // full.
  const size_t large_bytes_;
  MemtableGroup* const group_;  // null if memory is not shared
  const std::function<absl::Status()> flush_;
  // The rate of `decided_`, or 0 while a large batch goes first.
  std::atomic<uint64_t> rate_{ThrottleRate::kUnlimited};
  ThrottleRate decided_ ABSL_GUARDED_BY(database_mutex);
  // The inputs of that decision.
  ThrottleLimits limits_ ABSL_GUARDED_BY(database_mutex);
  ThrottleInput input_ ABSL_GUARDED_BY(database_mutex);
  uint64_t looked_at_micros_ ABSL_GUARDED_BY(database_mutex) = 0;
  ThrottleRate told_ ABSL_GUARDED_BY(database_mutex);
  bool telling_ ABSL_GUARDED_BY(database_mutex) = false;
  bool was_stuck_ ABSL_GUARDED_BY(database_mutex) = false;  // as of the last look at the group
  int flushes_without_space_ ABSL_GUARDED_BY(database_mutex) = 0;
  int compactions_without_space_ ABSL_GUARDED_BY(database_mutex) = 0;
  // The bytes of large batches that are on their way into memtables.
  size_t let_in_bytes_ ABSL_GUARDED_BY(database_mutex) = 0;
  // The turns of large batches that wait, in order of arrival.
  std::deque<uint64_t> large_waiting_ ABSL_GUARDED_BY(database_mutex);
  uint64_t last_turn_ ABSL_GUARDED_BY(database_mutex) = 0;
  // The first of them lacks memory, so small batches wait until it has entered; except during a pause, as the pause may
  // end only after such a batch.
  bool large_goes_first_ ABSL_GUARDED_BY(database_mutex) = false;
  // The time until which writes that were let in use up the allowed rate.
  uint64_t busy_until_nanos_ ABSL_GUARDED_BY(database_mutex) = 0;
};

}  // namespace sepal

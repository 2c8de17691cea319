// Freeing what lock-free readers may still be looking at: epoch-based reclamation (K. Fraser, "Practical lock-freedom",
// 2004).
//
// A reader enters (one store to memory of its own thread), loads a shared pointer, uses what it points to, and leaves.
// A writer swaps the pointer first and then calls `Retire` for what it took out; it is freed once every reader that
// could have seen it has left. Readers never wait and write nothing that is shared.
//
// | slot value | meaning                                             |
// |------------|-----------------------------------------------------|
// | 0          | the thread is outside                               |
// | e > 0      | inside since the global epoch was e (or just before) |
//
// Threads beyond those that have slots of their own share the last one, under a lock: its value is the epoch of the
// oldest reader among them.
//
// Order: the reader's store of its slot and its load of the shared pointer, and the writer's swap of the pointer and
// its loads of the slots, are all seq_cst: either the writer sees the reader's slot, or the reader sees the new
// pointer. The reader's load of the global epoch acquires what the `Retire` that raised it came after, so that a reader
// inside since a later epoch sees the new pointer too.
//
// A shared reader that finds others inside stores nothing: the first of them did, and the lock puts that store before
// its own load as well. From then on the slot is not 0 until all have left, and never above the epoch of one inside.
//
// Guards may nest. Holding one for long delays frees, nothing else: take a counted reference for that.
//
// A reader that leaves what it held back says so (TellOfLeaving), or else what nobody collects again would stay. It
// looks without a barrier: one that leaves within the nanoseconds in which something is retired may not say it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "util/thread/sync.h"
#include "util/thread/thread_slot.h"

namespace sepal {

class EpochDomain {
 public:
  EpochDomain() = default;
  // Requires that no reader is inside. Frees all that was retired.
  ~EpochDomain();
  EpochDomain(const EpochDomain&) = delete;
  EpochDomain& operator=(const EpochDomain&) = delete;

  class Guard {
   public:
    explicit Guard(EpochDomain* domain) : domain_(domain), slot_(ThreadSlot()), shared_epoch_(domain->Enter(slot_)) {}
    ~Guard() {
      const uint64_t entered = domain_->Leave(slot_, shared_epoch_);
      if (entered != 0 && entered <= domain_->newest_retired_.load(std::memory_order_relaxed)) [[unlikely]]
        domain_->left_();
    }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    EpochDomain* domain_;
    uint32_t slot_;
    uint64_t shared_epoch_;
  };

  // Notes `free`, to be run by a later Collect, once no reader that is inside now can be looking. Call after the
  // pointer was swapped (seq_cst). Runs nothing itself, so that it may be called with a lock held.
  void Defer(std::function<void()> free);
  // Defer and Collect.
  void Retire(std::function<void()> free);
  // Runs what has become safe to run.
  void Collect();
  // Whether anything waits for a reader that is inside, or for a Collect, or is being freed by one.
  bool AnyRetired() const;
  // `left` is called by who leaves what it may have held back, behind its guard, so that somebody calls Collect. It may
  // be called with any lock of a reader held. Call before there are readers.
  void TellOfLeaving(std::function<void()> left) { left_ = std::move(left); }

  // For an owner that frees by itself: call Stamp after the swap (seq_cst); what was swapped out may be freed once
  // OldestReader() is above the stamp.
  uint64_t Stamp() { return global_.fetch_add(1, std::memory_order_seq_cst); }
  // UINT64_MAX when no reader is inside. Looks at every thread's slot.
  uint64_t OldestReader() const;

 private:
  struct alignas(64) Slot {
    std::atomic<uint64_t> epoch{0};
    uint32_t depth = 0;  // of nested guards; the owning thread's alone
  };
  struct Retired {
    uint64_t epoch;
    std::function<void()> free;
  };

  // Returns what Leave is to be told: the epoch, of a reader that shares a slot.
  uint64_t Enter(uint32_t slot) {
    if (slot == kSharedThreadSlot) [[unlikely]]
      return EnterShared();
    Slot& s = slots_[slot];
    if (s.depth++ == 0) s.epoch.store(global_.load(std::memory_order_acquire), std::memory_order_seq_cst);
    return 0;
  }
  // Returns since when the thread was inside; 0 where it still is.
  uint64_t Leave(uint32_t slot, uint64_t shared_epoch) {
    if (slot == kSharedThreadSlot) [[unlikely]] {
      LeaveShared(shared_epoch);
      return shared_epoch;
    }
    Slot& s = slots_[slot];
    if (--s.depth > 0) return 0;
    const uint64_t entered = s.epoch.load(std::memory_order_relaxed);
    s.epoch.store(0, std::memory_order_release);
    return entered;
  }
  uint64_t EnterShared();
  void LeaveShared(uint64_t epoch);

  std::atomic<uint64_t> global_{1};
  // Of what `retired_` has. Not beside `global_`, which changes with each block that is evicted.
  alignas(64) std::atomic<uint64_t> newest_retired_{0};
  std::array<Slot, kThreadSlots> slots_;
  Mutex shared_mutex_;
  // When each guard of the shared slot began; the oldest first.
  std::vector<uint64_t> shared_epochs_ ABSL_GUARDED_BY(shared_mutex_);
  mutable Mutex retired_mutex_;
  std::vector<Retired> retired_ ABSL_GUARDED_BY(retired_mutex_);
  int freeing_ ABSL_GUARDED_BY(retired_mutex_) = 0;  // calls of Collect that run what they took out of it
  std::function<void()> left_ = [] {};
};

}  // namespace sepal

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
// Order: the reader's store of its slot and its load of the shared pointer, and the writer's swap of the pointer and
// its loads of the slots, are all seq_cst: either the writer sees the reader's slot, or the reader sees the new
// pointer. The reader's load of the global epoch acquires what the `Retire` that raised it came after, so that a reader
// inside since a later epoch sees the new pointer too.
//
// Guards may nest. Holding one for long delays frees, nothing else: take a counted reference for that.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

#include "util/sync.h"
#include "util/thread_slot.h"

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
    explicit Guard(EpochDomain* domain) : domain_(domain), slot_(ThreadSlot()) { domain_->Enter(slot_); }
    ~Guard() { domain_->Leave(slot_); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    EpochDomain* domain_;
    uint32_t slot_;
  };

  // Notes `free`, to be run by a later Collect, once no reader that is inside now can be looking. Call after the
  // pointer was swapped (seq_cst). Runs nothing itself, so that it may be called with a lock held.
  void Defer(std::function<void()> free);
  // Defer and Collect.
  void Retire(std::function<void()> free);
  // Runs what has become safe to run.
  void Collect();

  // For an owner that frees by itself: call Stamp after the swap (seq_cst); what was swapped out may be freed once
  // OldestReader() is above the stamp.
  uint64_t Stamp() { return global_.fetch_add(1, std::memory_order_seq_cst); }
  // UINT64_MAX when no reader is inside. Looks at every thread's slot.
  uint64_t OldestReader() const;

 private:
  struct alignas(64) Slot {
    std::atomic<uint64_t> epoch{0};
    // Nesting depth; of the owning thread alone, except in the shared slot, where it counts readers under the mutex.
    uint32_t depth = 0;
  };
  struct Retired {
    uint64_t epoch;
    std::function<void()> free;
  };

  void Enter(uint32_t slot) {
    if (slot == kSharedThreadSlot) [[unlikely]] {
      EnterShared();
      return;
    }
    Slot& s = slots_[slot];
    if (s.depth++ == 0) s.epoch.store(global_.load(std::memory_order_acquire), std::memory_order_seq_cst);
  }
  void Leave(uint32_t slot) {
    if (slot == kSharedThreadSlot) [[unlikely]] {
      LeaveShared();
      return;
    }
    Slot& s = slots_[slot];
    if (--s.depth == 0) s.epoch.store(0, std::memory_order_release);
  }
  void EnterShared();
  void LeaveShared();

  std::atomic<uint64_t> global_{1};
  std::array<Slot, kThreadSlots> slots_;
  Mutex shared_mutex_;
  Mutex retired_mutex_;
  std::vector<Retired> retired_ ABSL_GUARDED_BY(retired_mutex_);
};

}  // namespace sepal

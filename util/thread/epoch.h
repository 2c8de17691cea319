// Frees memory that lock-free readers may still be using: epoch-based reclamation (K. Fraser, "Practical lock-freedom",
// 2004).
//
// A reader enters (one store to its thread's own memory), loads a shared pointer, uses what it points to, and leaves. A
// writer first swaps the pointer and then calls `Retire` for the old object, which is freed once every reader that
// could have seen it has left. Readers never wait, and write nothing that is shared.
//
// | slot value | meaning                                             |
// |------------|-----------------------------------------------------|
// | 0          | the thread is outside                               |
// | e > 0      | inside since the global epoch was e (or just before) |
//
// Threads beyond those with a slot of their own share the last slot, under a lock: its value is the epoch of the oldest
// reader among them.
//
// Order: the reader's store of its slot and its load of the shared pointer, and the writer's swap of the pointer and
// its loads of the slots, are all seq_cst: either the writer sees the reader's slot, or the reader sees the new
// pointer. The reader's load of the global epoch acquires everything before the `Retire` that raised it, so that a
// reader that entered in a later epoch sees the new pointer too.
//
// A reader that shares a slot and finds others inside stores nothing: the first of them stored the slot, and the lock
// orders that store before this reader's load as well. From then on the slot is not 0 until all have left, and never
// above the epoch of a reader inside.
//
// Guards may nest. Holding one for long only delays frees; to keep an object for long, take a counted reference
// instead.
//
// A reader that leaves and may have delayed a free reports it (TellOfLeaving); otherwise retired memory would stay
// until the next call of Collect. It checks this without a barrier: a reader that leaves within nanoseconds of a
// retirement may not report it.
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

class EpochDomain;

// Domains whose readers may use the same memory, beside memory of their own: they share the global epoch.
//
// A domain joins before its first reader enters, under the lock that `OldestReader` takes too: so if `OldestReader`
// misses the domain, its readers enter later, and find only memory that was still shared then.
class EpochGroup {
 public:
  EpochGroup() = default;
  EpochGroup(const EpochGroup&) = delete;
  EpochGroup& operator=(const EpochGroup&) = delete;

  // Like the functions of a domain, for the readers of all domains.
  uint64_t Stamp() { return global_.fetch_add(1, std::memory_order_seq_cst); }
  uint64_t OldestReader() const;

 private:
  friend class EpochDomain;
  void Join(const EpochDomain* domain);
  void Leave(const EpochDomain* domain);

  std::atomic<uint64_t> global_{1};
  mutable Mutex mutex_;
  std::vector<const EpochDomain*> domains_ ABSL_GUARDED_BY(mutex_);
};

class EpochDomain {
 public:
  // `group` must outlive the domain; null: the domain has a group of its own.
  explicit EpochDomain(EpochGroup* group = nullptr)
      : group_(group != nullptr ? group : &own_group_), global_(group_->global_) {
    group_->Join(this);
  }
  // Frees everything that was retired. Requires that no reader is inside.
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

  // Stores `free` for a later Collect to run once every reader that is inside now has left. Call it after the pointer
  // was swapped (seq_cst). It runs nothing itself, so it may be called with a lock held.
  void Defer(std::function<void()> free);
  // Calls Defer and then Collect.
  void Retire(std::function<void()> free);
  // Runs the stored functions that have become safe to run.
  void Collect();
  // Whether any function waits for a reader inside or for a Collect, or is being run by one.
  bool AnyRetired() const;
  // `left` is called by a reader that leaves and may have delayed a free, after its guard has ended, so that its owner
  // calls Collect. It may be called with any lock of a reader held. Set it before there are readers.
  void TellOfLeaving(std::function<void()> left) { left_ = std::move(left); }

  // For an owner that frees memory itself: call Stamp after the swap (seq_cst); the old object may be freed once
  // OldestReader() is above the stamp.
  uint64_t Stamp() { return group_->Stamp(); }
  // The epoch of the oldest reader; UINT64_MAX if no reader is inside. Reads every thread's slot.
  uint64_t OldestReader() const;
  EpochGroup* group() const { return group_; }

 private:
  struct alignas(64) Slot {
    std::atomic<uint64_t> epoch{0};
    uint32_t depth = 0;  // the number of nested guards; only the owning thread uses it
  };
  struct Retired {
    uint64_t epoch;
    std::function<void()> free;
  };

  // Returns the argument for Leave: the epoch, if the reader shares a slot.
  uint64_t Enter(uint32_t slot) {
    if (slot == kSharedThreadSlot) [[unlikely]]
      return EnterShared();
    Slot& s = slots_[slot];
    if (s.depth++ == 0) s.epoch.store(global_.load(std::memory_order_acquire), std::memory_order_seq_cst);
    return 0;
  }
  // Returns the epoch since which the thread was inside, or 0 if it still is.
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

  EpochGroup own_group_;
  EpochGroup* const group_;
  std::atomic<uint64_t>& global_;  // the group's
  // The newest epoch in `retired_`. It has a cache line of its own because `global_` changes with each evicted block.
  alignas(64) std::atomic<uint64_t> newest_retired_{0};
  std::array<Slot, kThreadSlots> slots_;
  Mutex shared_mutex_;
  // The epochs of all guards in the shared slot; the oldest first.
  std::vector<uint64_t> shared_epochs_ ABSL_GUARDED_BY(shared_mutex_);
  mutable Mutex retired_mutex_;
  std::vector<Retired> retired_ ABSL_GUARDED_BY(retired_mutex_);
  int freeing_ ABSL_GUARDED_BY(retired_mutex_) = 0;  // calls of Collect that are running functions
  std::function<void()> left_ = [] {};
};

}  // namespace sepal

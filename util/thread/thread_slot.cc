#include "util/thread/thread_slot.h"

#include <array>
#include <atomic>

namespace sepal::internal {

thread_local constinit uint32_t thread_slot = kNoSlot;

namespace {

std::array<std::atomic<bool>, kExclusiveThreadSlots> slot_taken;

// Releases the slot when the thread ends.
struct SlotOwner {
  uint32_t slot = kSharedThreadSlot;
  ~SlotOwner() {
    thread_slot = kSharedThreadSlot;
    if (slot != kSharedThreadSlot) slot_taken[slot].store(false, std::memory_order_release);
  }
};

}  // namespace

uint32_t AcquireThreadSlot() {
  static thread_local SlotOwner owner;
  for (uint32_t i = 0; i < kExclusiveThreadSlots && owner.slot == kSharedThreadSlot; ++i) {
    if (!slot_taken[i].exchange(true, std::memory_order_acq_rel)) owner.slot = i;
  }
  return thread_slot = owner.slot;
}

}  // namespace sepal::internal

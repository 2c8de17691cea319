// A small number for the calling thread, so that each thread can have memory of its own in an array (statistics, read
// epochs) without a shared counter.
#pragma once

#include <cstdint>

namespace sepal {

// Slots below this belong to one living thread each; threads beyond that many all get kSharedThreadSlot.
inline constexpr uint32_t kExclusiveThreadSlots = 127;
inline constexpr uint32_t kSharedThreadSlot = kExclusiveThreadSlots;
inline constexpr uint32_t kThreadSlots = kExclusiveThreadSlots + 1;

namespace internal {
inline constexpr uint32_t kNoSlot = ~uint32_t{0};
extern thread_local constinit uint32_t thread_slot;
uint32_t AcquireThreadSlot();
}  // namespace internal

// Fixed for the life of the thread, then used again. A few nanoseconds at the most.
inline uint32_t ThreadSlot() {
  const uint32_t slot = internal::thread_slot;
  return slot != internal::kNoSlot ? slot : internal::AcquireThreadSlot();
}

}  // namespace sepal

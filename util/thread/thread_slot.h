// Gives the calling thread a small number, so that each thread can have its own memory in an array (statistics, read
// epochs) without a shared counter.
#pragma once

#include <cstdint>

namespace sepal {

// A slot below this number belongs to one living thread; all further threads share kSharedThreadSlot.
inline constexpr uint32_t kExclusiveThreadSlots = 127;
inline constexpr uint32_t kSharedThreadSlot = kExclusiveThreadSlots;
inline constexpr uint32_t kThreadSlots = kExclusiveThreadSlots + 1;

namespace internal {
inline constexpr uint32_t kNoSlot = ~uint32_t{0};
extern thread_local constinit uint32_t thread_slot;
uint32_t AcquireThreadSlot();
}  // namespace internal

// The number is constant for the life of the thread and reused afterwards. Costs a few nanoseconds at most.
inline uint32_t ThreadSlot() {
  const uint32_t slot = internal::thread_slot;
  return slot != internal::kNoSlot ? slot : internal::AcquireThreadSlot();
}

}  // namespace sepal

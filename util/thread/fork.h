// Whether this process is still the one in which something was made.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace sepal {

namespace fork_internal {
extern std::atomic<uint64_t> generation;
}  // namespace fork_internal

// A number that changes in a child made by `fork`, and only there, once forks are watched. Cost: one load. Safe for
// concurrent use.
inline uint64_t ForkGeneration() { return fork_internal::generation.load(std::memory_order_relaxed); }

// Never lets go of `owner` and what it holds: for a child made by `fork`. A thread of its parent's may have held a lock
// of that, or have been in the midst of changing it, and no such thread is there to end it.
template <typename Owner>
void KeepForGood(Owner owner) {
  (void)new Owner(std::move(owner));
}

// Watches forks from now on; returns ForkGeneration().
uint64_t WatchForks();

}  // namespace sepal

// Tells whether this process is still the one in which an object was made.
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

// Leaks `owner` and what it holds, on purpose. For a child made by `fork`: a thread of the parent may have held one of
// its locks or have been changing it, and that thread does not exist in the child.
template <typename Owner>
void LeakAfterFork(Owner owner) {
  (void)new Owner(std::move(owner));
}

// Starts watching forks; returns ForkGeneration().
uint64_t WatchForks();

}  // namespace sepal

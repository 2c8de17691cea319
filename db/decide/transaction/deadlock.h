// Finds deadlocks: cycles of owners that wait for each other.
//
// A cycle can only arise when a wait begins, and then passes through the owner that begins to wait; so a search from
// there, at that moment, finds every deadlock at once.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace sepal {

// Returns those that `waiter` waits for, none if it does not wait.
using WaitsFor = std::function<std::vector<uint64_t>(uint64_t waiter)>;

// Returns a cycle that begins with `start`, each member waiting for the next and the last one for `start`; empty if
// there is none. Cost: each waiter and each edge once.
std::vector<uint64_t> FindWaitCycle(uint64_t start, const WaitsFor& waits_for);

}  // namespace sepal

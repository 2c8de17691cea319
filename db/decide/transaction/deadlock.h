// Who waits for whom: a deadlock is a cycle of it.
//
// A cycle can only come to be when a wait begins, and then leads through the one that begins to wait; so a search from
// there, at that moment, finds every deadlock at once.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace sepal {

// Those that `waiter` waits for, none if it does not wait.
using WaitsFor = std::function<std::vector<uint64_t>(uint64_t waiter)>;

// A cycle through `start`, beginning with it, each waiting for the next and the last one for `start`; empty if there is
// none. Cost: each waiter and each edge once.
std::vector<uint64_t> FindWaitCycle(uint64_t start, const WaitsFor& waits_for);

}  // namespace sepal

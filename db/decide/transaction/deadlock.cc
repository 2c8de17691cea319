#include "db/decide/transaction/deadlock.h"

#include <utility>

#include "absl/container/flat_hash_set.h"

namespace sepal {

std::vector<uint64_t> FindWaitCycle(uint64_t start, const WaitsFor& waits_for) {
  // Depth first without recursion, because chains of waiters may be long.
  struct Step {
    uint64_t waiter;
    std::vector<uint64_t> ahead;  // still to be followed
  };
  absl::flat_hash_set<uint64_t> seen = {start};
  std::vector<Step> path;
  path.push_back({start, waits_for(start)});
  while (!path.empty()) {
    std::vector<uint64_t>& ahead = path.back().ahead;
    if (ahead.empty()) {
      path.pop_back();
      continue;
    }
    const uint64_t next = ahead.back();
    ahead.pop_back();
    if (next == start) {
      std::vector<uint64_t> cycle;
      for (const Step& step : path) cycle.push_back(step.waiter);
      return cycle;
    }
    if (seen.insert(next).second) path.push_back({next, waits_for(next)});
  }
  return {};
}

}  // namespace sepal

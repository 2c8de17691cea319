#include "db/decide/writing/flush_groups.h"

#include <utility>

namespace sepal {

std::vector<std::vector<size_t>> GroupFlushes(std::span<const FlushCandidate> candidates) {
  std::vector<std::vector<size_t>> groups;
  std::vector<size_t> together;
  for (size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].alone || candidates[i].bytes > kLittleToFlush) {
      groups.push_back({i});
      continue;
    }
    together.push_back(i);
    if (together.size() == kMostFlushedTogether) groups.push_back(std::exchange(together, {}));
  }
  if (!together.empty()) groups.push_back(std::move(together));
  return groups;
}

}  // namespace sepal

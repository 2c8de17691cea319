// Which column families one job flushes together. Pure.
//
// A flush of a few kilobytes takes next to no time beside its syncs, of its table, the directory, the log and the
// manifest. Families that have no more than that are flushed together: their tables are synced side by side, and all
// else once for all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sepal {

struct FlushCandidate {
  uint64_t bytes = 0;
  bool alone = false;  // whatever it has
};

// A family with more has a job of its own.
inline constexpr uint64_t kLittleToFlush = uint64_t{64} << 10;
// Each has a table open until all are written.
inline constexpr size_t kMostFlushedTogether = 64;

// The candidates by their numbers, each in one group, in which they ascend.
std::vector<std::vector<size_t>> GroupFlushes(std::span<const FlushCandidate> candidates);

}  // namespace sepal

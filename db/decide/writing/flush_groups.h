// Decides which column families one job flushes together. Pure.
//
// A flush of a few kilobytes takes almost no time besides its syncs: of its table, the directory, the log and the
// manifest. Families with no more than that are flushed together: their tables are synced in parallel, and everything
// else once for all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sepal {

struct FlushCandidate {
  uint64_t bytes = 0;
  bool alone = false;  // regardless of its size
};

// A family with more has a job of its own.
inline constexpr uint64_t kLittleToFlush = uint64_t{64} << 10;
// The limit of a group, because each family has a table open until all are written.
inline constexpr size_t kMostFlushedTogether = 64;

// Groups the candidates, by their indexes, which ascend within a group.
std::vector<std::vector<size_t>> GroupFlushes(std::span<const FlushCandidate> candidates);

}  // namespace sepal

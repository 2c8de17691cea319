// How much of a disk the log may reserve when a database is opened: for its ring, and in steps for its files. On a disk
// with little free space, flushes lack what the log reserves.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sepal {

struct LogSpace {
  uint64_t ring_bytes = 0;  // 0 for no ring
  uint64_t step_bytes = 0;
  friend bool operator==(const LogSpace&, const LogSpace&) = default;
};

// Ring, current file and the file made ahead take together at most a quarter of the free space; the smallest step is
// `least_step_bytes`. A ring that is smaller than wanted is a multiple of 32 KiB.
inline LogSpace FitLogSpace(const LogSpace& wanted, uint64_t free_bytes, uint64_t least_step_bytes) {
  constexpr uint64_t kRingUnit = uint64_t{32} << 10;
  const uint64_t share = free_bytes / 16;
  return {.ring_bytes = wanted.ring_bytes <= share ? wanted.ring_bytes : share / kRingUnit * kRingUnit,
          .step_bytes = std::min(wanted.step_bytes, std::max(share, least_step_bytes))};
}

}  // namespace sepal

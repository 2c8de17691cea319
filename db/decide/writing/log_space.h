// How much of a disk the log may take for itself when a database is opened: its ring, and the steps in which it
// reserves space. On a disk with little free space, what the log holds is what flushes lack.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sepal {

struct LogSpace {
  uint64_t ring_bytes = 0;  // 0: no ring
  uint64_t step_bytes = 0;
  friend bool operator==(const LogSpace&, const LogSpace&) = default;
};

// Ring, current file and the file that is made ahead take at most a quarter of what is free together; the least step is
// `least_step_bytes`. A ring is made of whole units of 32 KiB where it is smaller than wanted.
inline LogSpace FitLogSpace(const LogSpace& wanted, uint64_t free_bytes, uint64_t least_step_bytes) {
  constexpr uint64_t kRingUnit = uint64_t{32} << 10;
  const uint64_t share = free_bytes / 16;
  return {.ring_bytes = wanted.ring_bytes <= share ? wanted.ring_bytes : share / kRingUnit * kRingUnit,
          .step_bytes = std::min(wanted.step_bytes, std::max(share, least_step_bytes))};
}

}  // namespace sepal

// How fast writers may write. Pure: values and the last rate in, a rate out.
//
// Each source of pressure has a soft point, at which its pressure is 0, and a hard point, at which it is 1; between
// them it grows in a line. The greatest pressure p sets the rate on a logarithmic scale,
//     rate = kMaxRate * (kMinRate / kMaxRate)^p,
// so that there is no cliff: whatever the disk can take, there is a p at which writers write just that, and the tree
// comes to rest there. The new rate is the geometric mean of that and the last one. A full stop comes only from memory:
// when no further byte of memtable may be filled.
#pragma once

#include <cstdint>
#include <string>

#include "db/decide/compaction/compaction_policy.h"

namespace sepal {

struct ThrottleLimits {
  // All memtables together, the active one included, may take less than this: at it writers stop.
  uint64_t memtable_allowance_bytes = 0;
  // Memory that the cache cannot give back may take less than this: at it writers stop.
  uint64_t memory_limit_bytes = 0;
  int soft_level0_runs = 0;
  int hard_level0_runs = 0;
  uint64_t soft_debt_bytes = 0;
  uint64_t hard_debt_bytes = 0;
};

// `memtable_allowance_bytes`: what all memtables may take together.
ThrottleLimits MakeThrottleLimits(const CompactionPolicy& policy, uint64_t memtable_allowance_bytes,
                                  uint64_t memory_limit_bytes);

// Memtables that take no more than this slow no writer down.
uint64_t SoftMemtableBytes(const ThrottleLimits& limits);

// The greatest of each over all column families, and the sum of the bytes.
struct ThrottleInput {
  uint64_t memtable_bytes = 0;  // active and immutable
  uint64_t unreclaimable_memory_bytes = 0;
  // Without those that level 0 may have more while nothing is read.
  int level0_runs = 0;
  uint64_t debt_bytes = 0;
  // Of value files: what they take, and between which figures that is too much (db/decide/compaction/value_collection.h).
  uint64_t value_bytes = 0;
  uint64_t soft_value_bytes = UINT64_MAX;
  uint64_t hard_value_bytes = UINT64_MAX;
};

struct ThrottleRate {
  static constexpr uint64_t kUnlimited = UINT64_MAX;
  // kUnlimited, or what writers are held to; 0: stopped.
  uint64_t bytes_per_second = kUnlimited;
  // "compaction debt 3.1 GiB of 8.0 GiB"; empty while unlimited.
  std::string reason = {};
  // Writers are held back since compactions lag behind, rather than flushes.
  bool compactions_lag = false;
  bool unlimited() const { return bytes_per_second == kUnlimited; }
  bool stopped() const { return bytes_per_second == 0; }
  friend bool operator==(const ThrottleRate&, const ThrottleRate&) = default;
};

inline constexpr uint64_t kMaxThrottledRate = uint64_t{1} << 30;
inline constexpr uint64_t kMinThrottledRate = uint64_t{1} << 20;

// How long a write of `bytes` keeps a rate above 0 busy. A short one takes less than a microsecond.
uint64_t NanosAtRate(uint64_t bytes, uint64_t bytes_per_second);

ThrottleRate NextThrottleRate(const ThrottleLimits& limits, const ThrottleInput& input, const ThrottleRate& last);

}  // namespace sepal

// How fast writers may write. Pure: values and the last rate in, a rate out.
//
// Each source of pressure has a soft limit, at which its pressure is 0, and a hard limit, at which it is 1; in between
// it grows linearly. The greatest pressure p determines the rate on a logarithmic scale,
//     rate = kMaxRate * (kMinRate / kMaxRate)^p,
// so that there is no cliff: whatever the disk can sustain, there is a p at which writers write exactly that, and the
// tree settles there. The new rate is the geometric mean of that and the last one. Only memory causes a full stop: when
// no further byte of a memtable may be filled.
#pragma once

#include <cstdint>
#include <string>

#include "db/decide/compaction/compaction_policy.h"

namespace sepal {

struct ThrottleLimits {
  // All memtables together, including the active one, may take less than this; at this size writers stop.
  uint64_t memtable_allowance_bytes = 0;
  // Memory that the cache cannot give back may take less than this; at this size writers stop.
  uint64_t memory_limit_bytes = 0;
  int soft_level0_runs = 0;
  int hard_level0_runs = 0;
  uint64_t soft_debt_bytes = 0;
  uint64_t hard_debt_bytes = 0;
};

// `memtable_allowance_bytes`: what all memtables may take together.
ThrottleLimits MakeThrottleLimits(const CompactionPolicy& policy, uint64_t memtable_allowance_bytes,
                                  uint64_t memory_limit_bytes);

// The size up to which memtables slow no writer down.
uint64_t SoftMemtableBytes(const ThrottleLimits& limits);

// The maximum of each figure over all column families, but the sum of memtable bytes.
struct ThrottleInput {
  uint64_t memtable_bytes = 0;  // active and immutable
  uint64_t unreclaimable_memory_bytes = 0;
  // Without the runs that level 0 may have in addition while there are no reads.
  int level0_runs = 0;
  uint64_t debt_bytes = 0;
  // The bytes of value files, and the limits between which they are too many (db/decide/compaction/value_collection.h).
  uint64_t value_bytes = 0;
  uint64_t soft_value_bytes = UINT64_MAX;
  uint64_t hard_value_bytes = UINT64_MAX;
};

struct ThrottleRate {
  static constexpr uint64_t kUnlimited = UINT64_MAX;
  // kUnlimited, or the rate of writers; 0: stopped.
  uint64_t bytes_per_second = kUnlimited;
  // "compaction debt 3.1 GiB of 8.0 GiB"; empty while unlimited.
  std::string reason = {};
  // Writers are slowed because compactions, not flushes, lag behind.
  bool compactions_lag = false;
  bool unlimited() const { return bytes_per_second == kUnlimited; }
  bool stopped() const { return bytes_per_second == 0; }
  friend bool operator==(const ThrottleRate&, const ThrottleRate&) = default;
};

inline constexpr uint64_t kMaxThrottledRate = uint64_t{1} << 30;
inline constexpr uint64_t kMinThrottledRate = uint64_t{1} << 20;

// Returns how long a write of `bytes` occupies a rate above 0. A short write occupies it for less than a microsecond.
uint64_t NanosAtRate(uint64_t bytes, uint64_t bytes_per_second);

ThrottleRate NextThrottleRate(const ThrottleLimits& limits, const ThrottleInput& input, const ThrottleRate& last);

}  // namespace sepal

// The core workloads of YCSB (Cooper et al., "Benchmarking cloud serving systems with YCSB", 2010): their mix of
// operations, for db_bench and for the comparison of engines.
#pragma once

#include <cstdint>

namespace sepal::tools {

enum class YcsbOperation : uint8_t { kRead, kUpdate, kReadModifyWrite, kScan, kInsert };

// Shares of operations, in percent; the rest are inserts.
struct YcsbMix {
  uint64_t read = 0, update = 0, read_modify_write = 0, scan = 0;
  bool latest = false;  // the newest entries are read most, rather than keys of a Zipf distribution

  // `drawn`: evenly, from 0 to 99.
  constexpr YcsbOperation OperationOf(uint64_t drawn) const {
    if (drawn < read) return YcsbOperation::kRead;
    if (drawn < read + update) return YcsbOperation::kUpdate;
    if (drawn < read + update + read_modify_write) return YcsbOperation::kReadModifyWrite;
    return drawn < read + update + read_modify_write + scan ? YcsbOperation::kScan : YcsbOperation::kInsert;
  }
};

inline constexpr YcsbMix kYcsbA{.read = 50, .update = 50}, kYcsbB{.read = 95, .update = 5}, kYcsbC{.read = 100},
    kYcsbD{.read = 95, .latest = true}, kYcsbE{.scan = 95}, kYcsbF{.read = 50, .read_modify_write = 50};

// A scan reads 1 to so many entries.
inline constexpr uint64_t kYcsbLongestScan = 100;
// Of the Zipf distribution.
inline constexpr double kYcsbTheta = 0.99;

}  // namespace sepal::tools

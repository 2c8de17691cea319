#include "db/decide/compaction/live_bytes.h"

#include <algorithm>

#include "util/base/hyperloglog.h"

namespace sepal {

uint64_t EstimatedLiveBytes(const Version& version) {
  if (version.runs().empty()) return 0;
  uint64_t tombstones = 0;
  for (const LevelRun& r : version.runs()) tombstones += r.run->tombstones();
  const KeySums sketched = version.Keys();
  const uint64_t oldest = version.runs().back().run->bytes();
  if (sketched.entries == 0) return oldest;
  const double distinct = sketched.keys.Estimate() * (1 - HyperLogLog::kStandardError);
  const double live = std::max(0.0, distinct - static_cast<double>(tombstones));
  const double wasted = std::max(0.0, static_cast<double>(sketched.entries) - live) * sketched.largest_entry_bytes;
  return std::max(oldest, static_cast<uint64_t>(std::max(0.0, static_cast<double>(sketched.bytes) - wasted)));
}

}  // namespace sepal

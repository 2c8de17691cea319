#include "db/decide/compaction/live_bytes.h"

#include <algorithm>

#include "util/base/hyperloglog.h"

namespace sepal {

namespace {

// For the tables whose sketch is known.
double EstimatedLiveEntries(const Version& version, const KeySums& sketched) {
  uint64_t tombstones = 0;
  for (const LevelRun& r : version.runs()) tombstones += r.run->tombstones();
  const double distinct = sketched.keys.Estimate() * (1 - HyperLogLog::kStandardError);
  return std::max(0.0, distinct - static_cast<double>(tombstones));
}

}  // namespace

double EstimatedLiveShare(const Version& version) {
  const KeySums sketched = version.Keys();
  if (sketched.entries == 0) return 1;
  return std::min(1.0, EstimatedLiveEntries(version, sketched) / static_cast<double>(sketched.entries));
}

uint64_t EstimatedLiveBytes(const Version& version) {
  if (version.runs().empty()) return 0;
  const KeySums sketched = version.Keys();
  const uint64_t oldest = version.runs().back().run->bytes();
  if (sketched.entries == 0) return oldest;
  const double live = EstimatedLiveEntries(version, sketched);
  const double wasted = std::max(0.0, static_cast<double>(sketched.entries) - live) * sketched.largest_entry_bytes;
  return std::max(oldest, static_cast<uint64_t>(std::max(0.0, static_cast<double>(sketched.bytes) - wasted)));
}

}  // namespace sepal

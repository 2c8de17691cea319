#include "db/decide/live_bytes.h"

#include <algorithm>

#include "util/hyperloglog.h"

namespace sepal {

uint64_t EstimatedLiveBytes(const Version& version) {
  if (version.runs().empty()) return 0;
  HyperLogLog keys;
  uint64_t sketched_bytes = 0;
  uint64_t sketched_entries = 0;
  uint64_t tombstones = 0;
  double largest_entry = 0;
  for (const LevelRun& r : version.runs()) {
    tombstones += r.run->tombstones();
    for (const TableRef& table : r.run->tables()) {
      const TableMetadata& metadata = table->metadata();
      if (table->key_sketch() == nullptr || metadata.entries == 0) continue;
      keys.Merge(*table->key_sketch());
      sketched_bytes += metadata.size_bytes;
      sketched_entries += metadata.entries;
      largest_entry =
          std::max(largest_entry, static_cast<double>(metadata.size_bytes) / static_cast<double>(metadata.entries));
    }
  }
  const uint64_t oldest = version.runs().back().run->bytes();
  if (sketched_entries == 0) return oldest;
  const double distinct = keys.Estimate() * (1 - HyperLogLog::kStandardError);
  const double live = std::max(0.0, distinct - static_cast<double>(tombstones));
  const double wasted = std::max(0.0, static_cast<double>(sketched_entries) - live) * largest_entry;
  return std::max(oldest, static_cast<uint64_t>(std::max(0.0, static_cast<double>(sketched_bytes) - wasted)));
}

}  // namespace sepal

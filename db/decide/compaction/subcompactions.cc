#include "db/decide/compaction/subcompactions.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace sepal {
namespace {

// Returns the ends of stretches, in order, each once.
std::vector<std::string_view> EndsOf(const std::vector<KeyStretch>& stretches, KeyOrder order) {
  std::vector<std::string_view> keys;
  for (const KeyStretch& stretch : stretches) {
    keys.push_back(stretch.smallest);
    keys.push_back(stretch.largest);
  }
  std::sort(keys.begin(), keys.end(), [order](std::string_view a, std::string_view b) { return order.Less(a, b); });
  const auto equal = [order](std::string_view a, std::string_view b) { return order.Equal(a, b); };
  keys.erase(std::unique(keys.begin(), keys.end(), equal), keys.end());
  return keys;
}

// Returns how many more bytes lie between keys[i] and keys[i + 1] than before keys[i], if each stretch's bytes are
// spread evenly over its keys.
std::vector<double> DensityChanges(const std::vector<KeyStretch>& stretches, const std::vector<std::string_view>& keys,
                                   KeyOrder order) {
  const auto at = [&](std::string_view key) {
    const auto less = [order](std::string_view a, std::string_view b) { return order.Less(a, b); };
    return static_cast<size_t>(std::lower_bound(keys.begin(), keys.end(), key, less) - keys.begin());
  };
  std::vector<double> changes(keys.size() + 1);
  for (const KeyStretch& stretch : stretches) {
    const size_t first = at(stretch.smallest);
    const size_t end = std::max(at(stretch.largest), first + 1);
    const double each = static_cast<double>(stretch.bytes) / static_cast<double>(end - first);
    changes[first] += each;
    changes[end] -= each;
  }
  return changes;
}

}  // namespace

void AppendStretches(std::vector<KeyStretch>* stretches, KeyOrder order, KeyStretch table,
                     const std::vector<std::string>& cuts) {
  const uint64_t each = table.bytes / (cuts.size() + 1);
  for (const std::string& cut : cuts) {
    if (!order.Less(table.smallest, cut) || !order.Less(cut, table.largest)) continue;
    stretches->push_back({std::exchange(table.smallest, cut), cut, each});
    table.bytes -= each;
  }
  stretches->push_back(std::move(table));
}

std::vector<std::string> SubcompactionBoundaries(const std::vector<KeyStretch>& stretches, KeyOrder order,
                                                 int max_parts, uint64_t min_part_bytes) {
  uint64_t bytes = 0;
  for (const KeyStretch& stretch : stretches) bytes += stretch.bytes;
  const uint64_t parts =
      std::min<uint64_t>(static_cast<uint64_t>(std::max(1, max_parts)), bytes / std::max<uint64_t>(1, min_part_bytes));
  if (parts < 2) return {};
  const std::vector<std::string_view> keys = EndsOf(stretches, order);
  const std::vector<double> changes = DensityChanges(stretches, keys, order);
  std::vector<std::string> boundaries;
  constexpr double kNearly = 0.999;  // because these are sums of parts
  const double part_bytes = static_cast<double>(bytes) / static_cast<double>(parts);
  const double least = static_cast<double>(min_part_bytes) * kNearly;
  double density = 0;
  double passed = 0;
  double cut_at = 0;
  // Never cuts at the last key, because almost nothing follows it.
  for (size_t i = 0; i + 2 < keys.size() && boundaries.size() + 1 < parts; ++i) {
    density += changes[i];
    passed += density;
    if (passed < part_bytes * static_cast<double>(boundaries.size() + 1) * kNearly) continue;
    if (passed - cut_at < least) continue;
    boundaries.emplace_back(keys[i + 1]);
    cut_at = passed;
  }
  return boundaries;
}

}  // namespace sepal

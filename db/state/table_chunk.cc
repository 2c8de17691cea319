#include "db/state/table_chunk.h"

#include <algorithm>

#include "db/state/key_prefix.h"
#include "table/short_bytes.h"
#include "util/check.h"
#include "util/strings.h"

namespace sepal {

size_t TableFences::FirstAtOrAfter(const KeyOrder& order, std::string_view user_key) const {
  if (!order.bytewise()) return SearchKeys(order, user_key, 0, tables.size());
  const int c = CompareToPrefix(user_key, common_prefix);
  if (c != 0) return c < 0 ? 0 : tables.size();
  return SearchPrefixes(order, user_key, PrefixAfter(user_key, common_prefix.size()));
}

size_t TableFences::FindIndex(const KeyOrder& order, std::string_view user_key) const {
  size_t i = 0;
  if (order.bytewise()) {
    const size_t shared = common_prefix.size();
    if (user_key.size() < shared || !EqualBytes(user_key.data(), common_prefix.data(), shared)) return tables.size();
    const uint64_t prefix = PrefixAfter(user_key, shared);
    i = SearchPrefixes(order, user_key, prefix);
    if (i == tables.size() || prefix > smallest[i]) return i;
    if (prefix < smallest[i]) return tables.size();
  } else {
    i = SearchKeys(order, user_key, 0, tables.size());
    if (i == tables.size()) return i;
  }
  return order.Less(user_key, tables[i]->metadata().smallest.user_key) ? tables.size() : i;
}

size_t TableFences::SearchPrefixes(const KeyOrder& order, std::string_view user_key, uint64_t prefix) const {
  const size_t first = PrefixLowerBound(largest, tables.size(), prefix);
  // Where the prefixes differ, they decide.
  if (first == tables.size() || largest[first] != prefix) return first;
  size_t end = first + 1;
  while (end < tables.size() && largest[end] == prefix) ++end;
  return SearchKeys(order, user_key, first, end);
}

size_t TableFences::SearchKeys(const KeyOrder& order, std::string_view user_key, size_t low, size_t high) const {
  while (low < high) {
    const size_t middle = (low + high) / 2;
    if (order.Less(tables[middle]->metadata().largest.user_key, user_key)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

void TableSums::Add(const TableSums& other) {
  bytes += other.bytes;
  entries += other.entries;
  tombstones += other.tombstones;
  lowest_sequence = std::min(lowest_sequence, other.lowest_sequence);
  highest_sequence = std::max(highest_sequence, other.highest_sequence);
}

void TableSums::Add(const TableMetadata& table) {
  Add(TableSums{table.size_bytes, table.entries, table.tombstones, table.lowest_sequence, table.highest_sequence});
}

TableChunk::TableChunk(std::vector<TableRef> tables, const KeyOrder& order) : tables_(std::move(tables)) {
  SEPAL_CHECK(!tables_.empty());
  if (order.bytewise()) {
    common_prefix_ = smallest_user_key();
    ShortenToCommonPrefix(&common_prefix_, largest_user_key());
    largest_.reserve(tables_.size());
    smallest_.reserve(tables_.size());
  }
  for (const TableRef& table : tables_) {
    const TableMetadata& m = table->metadata();
    sums_.Add(m);
    if (!order.bytewise()) continue;
    // Keys out of order may lack the common prefix; Check, not this, reports them.
    const auto prefix = [&](std::string_view key) {
      return PrefixAfter(key, std::min(key.size(), common_prefix_.size()));
    };
    largest_.push_back(prefix(m.largest.user_key));
    smallest_.push_back(prefix(m.smallest.user_key));
  }
  fences_.tables = tables_;
  fences_.largest = largest_.data();
  fences_.smallest = smallest_.data();
  fences_.common_prefix = common_prefix_;
}

}  // namespace sepal

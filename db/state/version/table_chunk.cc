#include "db/state/version/table_chunk.h"

#include <algorithm>

#include "util/base/check.h"
#include "util/base/strings.h"

namespace sepal {

// The number of tables that are prefetched ahead, when an opening handles many.
constexpr size_t kTablesAhead = 4;

size_t TableFences::FirstAtOrAfter(const KeyOrder& order, std::string_view user_key) const {
  if (!order.bytewise()) return SearchKeys(order, user_key, 0, tables.size());
  const int c = CompareToPrefix(user_key, common_prefix);
  if (c != 0) return c < 0 ? 0 : tables.size();
  const uint64_t prefix = PrefixAfter(user_key, common_prefix.size());
  return PassTies(order, user_key, prefix, PrefixLowerBound(largest, tables.size(), prefix));
}

size_t TableFences::FindByKeys(const KeyOrder& order, std::string_view user_key) const {
  const size_t i = SearchKeys(order, user_key, 0, tables.size());
  if (i == tables.size()) return i;
  return order.Less(user_key, tables[i]->metadata().smallest.user_key) ? tables.size() : i;
}

size_t TableFences::FindAmongTies(const KeyOrder& order, std::string_view user_key, uint64_t prefix,
                                  size_t first) const {
  const size_t i = PassTies(order, user_key, prefix, first);
  if (i == tables.size() || prefix > smallest[i]) return i;
  if (prefix < smallest[i]) return tables.size();
  return order.Less(user_key, tables[i]->metadata().smallest.user_key) ? tables.size() : i;
}

// If the prefixes differ, they decide.
size_t TableFences::PassTies(const KeyOrder& order, std::string_view user_key, uint64_t prefix, size_t first) const {
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
  totals = totals + other.totals;
  lowest_sequence = std::min(lowest_sequence, other.lowest_sequence);
  highest_sequence = std::max(highest_sequence, other.highest_sequence);
  if (!least_newest.has_value()) {
    least_newest = other.least_newest;
  } else if (other.least_newest.has_value()) {
    least_newest = std::min(*least_newest, *other.least_newest);
  }
  most_tombstones = std::max(most_tombstones, other.most_tombstones);
  most_tombstones_per_entry = std::max(most_tombstones_per_entry, other.most_tombstones_per_entry);
  most_entries_per_key = std::max(most_entries_per_key, other.most_entries_per_key);
}

void TableSums::Add(const TableFile& table) {
  const TableMetadata& m = table.metadata();
  TableSums one;
  one.totals = {m.size_bytes, m.entries, m.tombstones, ValueBytes(m)};
  one.lowest_sequence = m.lowest_sequence;
  one.highest_sequence = m.highest_sequence;
  if (m.highest_sequence > SequenceNumber(0)) one.least_newest = m.highest_sequence;
  one.most_tombstones = m.tombstones;
  one.most_tombstones_per_entry =
      static_cast<double>(m.tombstones) / static_cast<double>(std::max<uint64_t>(m.entries, 1));
  one.most_entries_per_key = table.EntriesPerKey();
  Add(one);
}

TableChunk::TableChunk(std::vector<TableRef> tables, const KeyOrder& order)
    : tables_(std::move(tables)), hashable_(order.hashable()) {
  SEPAL_CHECK(!tables_.empty());
  if (order.bytewise()) {
    common_prefix_ = smallest_user_key();
    ShortenToCommonPrefix(&common_prefix_, largest_user_key());
    largest_.reserve(tables_.size());
    smallest_.reserve(tables_.size());
  }
  totals_.reserve(tables_.size() + 1);
  totals_.emplace_back();
  bool settled = true;
  for (size_t i = 0; i < tables_.size(); ++i) {
    if (i + kTablesAhead < tables_.size()) tables_[i + kTablesAhead]->Prefetch();
    const TableRef& table = tables_[i];
    const TableMetadata& m = table->metadata();
    sums_.Add(*table);
    totals_.push_back(sums_.totals);
    settled = settled && table->settled();
    if (!order.bytewise()) continue;
    // Keys out of order may lack the common prefix; Check reports them, not this function.
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
  // Computed here, rather than later under a lock that the caller may hold.
  if (settled) {
    KeySums ignored;
    AddKeys(&ignored);
  }
}

// Tables whose keys are not hashed have no sketches.
bool TableChunk::AddKeys(KeySums* sums) const { return !hashable_ || keys_.Add(tables_, sums); }

}  // namespace sepal

// Consecutive tables of a run, shared by the runs of many versions, and the search among them.
//
// Thread-safety: immutable after construction, except for the kept sums of its keys (key_sums.h), which are safe for
// concurrent use.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/state/version/key_prefix.h"
#include "db/state/version/key_sums.h"
#include "db/state/version/table_file.h"
#include "table/key/compare_bytes.h"
#include "table/key/internal_key.h"

namespace sepal {

// The data that a search reads. It is borrowed from a TableChunk; a run with a single chunk holds a copy, so that
// reaching the chunk costs no step.
struct TableFences {
  std::span<const TableRef> tables;
  // For a bytewise order, by table: the prefixes of its largest and its smallest user key after `common_prefix`.
  const uint64_t* largest = nullptr;
  const uint64_t* smallest = nullptr;
  std::string_view common_prefix;

  // Returns the only table that may hold `user_key`; tables.size() if there is none. Cost: a branch-free search in an
  // array of 8-byte prefixes; keys are compared only if prefixes tie.
  size_t FindIndex(const KeyOrder& order, std::string_view user_key) const {
    if (!order.bytewise()) [[unlikely]]
      return FindByKeys(order, user_key);
    const size_t shared = common_prefix.size();
    if (user_key.size() < shared || !EqualBytes(user_key.data(), common_prefix.data(), shared)) return tables.size();
    const uint64_t prefix = PrefixAfter(user_key, shared);
    const size_t i = PrefixLowerBound(largest, tables.size(), prefix);
    if (i == tables.size() || (smallest[i] < prefix && prefix < largest[i])) [[likely]]
      return i;
    return FindAmongTies(order, user_key, prefix, i);
  }
  // Returns the first table whose largest user key is at or after `user_key`.
  size_t FirstAtOrAfter(const KeyOrder& order, std::string_view user_key) const;

 private:
  size_t FindByKeys(const KeyOrder& order, std::string_view user_key) const;
  // FindIndex, where `first` is the first table whose largest prefix is not before the key's.
  size_t FindAmongTies(const KeyOrder& order, std::string_view user_key, uint64_t prefix, size_t first) const;
  // Returns the first table whose largest key is not before `user_key`; `prefix` is that of the key after the common
  // prefix, and `first` is as above.
  size_t PassTies(const KeyOrder& order, std::string_view user_key, uint64_t prefix, size_t first) const;
  // The same by whole keys, among the tables from `low` up to and including `high`.
  size_t SearchKeys(const KeyOrder& order, std::string_view user_key, size_t low, size_t high) const;
};

struct TableTotals {
  uint64_t bytes = 0;
  uint64_t entries = 0;
  uint64_t tombstones = 0;
  uint64_t value_bytes = 0;  // of values in value files

  friend TableTotals operator+(const TableTotals& a, const TableTotals& b) {
    return {a.bytes + b.bytes, a.entries + b.entries, a.tombstones + b.tombstones, a.value_bytes + b.value_bytes};
  }
  friend TableTotals operator-(const TableTotals& a, const TableTotals& b) {
    return {a.bytes - b.bytes, a.entries - b.entries, a.tombstones - b.tombstones, a.value_bytes - b.value_bytes};
  }
  friend bool operator==(const TableTotals&, const TableTotals&) = default;
};

// Sums over tables, and bounds that show when none of them needs a closer look.
struct TableSums {
  TableTotals totals;
  SequenceNumber lowest_sequence = kMaxSequenceNumber;
  SequenceNumber highest_sequence;
  // The smallest of the tables' highest sequence numbers that is not 0; unset if all are 0.
  std::optional<SequenceNumber> least_newest = {};
  // The maximum over single tables: of tombstones, and of tombstones per entry.
  uint64_t most_tombstones = 0;
  double most_tombstones_per_entry = 0;
  // The maximum of TableFile::EntriesPerKey, as far as it was known when this was computed.
  double most_entries_per_key = 1;

  void Add(const TableSums& other);
  void Add(const TableFile& table);
  friend bool operator==(const TableSums&, const TableSums&) = default;
};

class TableChunk {
 public:
  using Item = TableRef;
  // Requires at least one table, in order and disjoint under `order`.
  TableChunk(std::vector<TableRef> tables, const KeyOrder& order);
  TableChunk(const TableChunk&) = delete;
  TableChunk& operator=(const TableChunk&) = delete;

  std::span<const TableRef> items() const { return tables_; }
  const TableFences& fences() const { return fences_; }
  const TableSums& sums() const { return sums_; }
  // The totals of the first `count` tables.
  const TableTotals& TotalsOfFirst(size_t count) const { return totals_[count]; }
  // Adds what sketches say about the tables. Returns whether that is settled (key_sums.h). Cost: one addition, once it
  // is settled.
  bool AddKeys(KeySums* sums) const;
  // Null until it is known to be settled.
  const KeySums* kept_keys() const { return keys_.Get(); }
  const std::string& smallest_user_key() const { return tables_.front()->metadata().smallest.user_key; }
  const std::string& largest_user_key() const { return tables_.back()->metadata().largest.user_key; }

 private:
  const std::vector<TableRef> tables_;
  std::string common_prefix_;
  std::vector<uint64_t> largest_;
  std::vector<uint64_t> smallest_;
  TableFences fences_;
  const bool hashable_;
  TableSums sums_;
  std::vector<TableTotals> totals_;  // of the first 0, 1, ... tables
  KeptKeySums keys_;
};

using TableChunkRef = std::shared_ptr<const TableChunk>;

}  // namespace sepal

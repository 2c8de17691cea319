// A sorted run: tables in key order that are disjoint in user keys (version.h has the laws).
//
// The tables are in chunks (chunks.h), which a run shares with the run that it was made from. A search first finds the
// chunk, in an array of the chunks' largest keys, and then searches in the chunk; a run of one chunk needs no first
// step.
//
// Thread-safety: immutable after construction, except for the kept sums of its keys (key_sums.h), which are safe for
// concurrent use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/state/version/chunks.h"
#include "db/state/version/table_chunk.h"

namespace sepal {

// A range of user keys, both ends inclusive; an unset end is unbounded.
struct KeyRange {
  std::optional<std::string_view> begin = {};
  std::optional<std::string_view> end = {};
};

class Run;

// Consecutive tables of a run, which must outlive this object.
class TableRange {
 public:
  // Only iterators of one range may be compared.
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = TableRef;
    using difference_type = ptrdiff_t;
    using pointer = const TableRef*;
    using reference = const TableRef&;

    Iterator() = default;
    reference operator*() const { return *at_; }
    pointer operator->() const { return at_; }
    Iterator& operator++() {
      --left_;
      if (++at_ == end_ && left_ > 0) EnterChunk(chunk_ + 1);
      return *this;
    }
    Iterator operator++(int) {
      Iterator before = *this;
      ++*this;
      return before;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.left_ == b.left_; }

   private:
    friend class TableRange;
    void EnterChunk(const TableChunkRef* chunk) {
      chunk_ = chunk;
      at_ = (*chunk)->items().data();
      end_ = at_ + (*chunk)->items().size();
    }
    const TableChunkRef* chunk_ = nullptr;
    const TableRef* at_ = nullptr;
    const TableRef* end_ = nullptr;  // of the chunk
    size_t left_ = 0;                // in the range
  };
  using value_type = TableRef;

  TableRange(const Run* run, size_t first, size_t size) : run_(run), first_(first), size_(size) {}

  Iterator begin() const;
  Iterator end() const { return {}; }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  // The index in the run of its first table.
  size_t first() const { return first_; }
  const TableRef& operator[](size_t i) const;
  const TableRef& front() const { return (*this)[0]; }
  const TableRef& back() const { return (*this)[size_ - 1]; }
  std::vector<TableRef> ToVector() const { return {begin(), end()}; }
  // Cost: two searches among the chunks.
  TableTotals Totals() const;

 private:
  const Run* run_;
  size_t first_;
  size_t size_;
};

class Run {
 public:
  // Requires at least one table, in order and disjoint under `order`.
  Run(RunNumber number, std::vector<TableRef> tables, KeyOrder order);
  // Requires at least one chunk, in order and disjoint under `order`.
  Run(RunNumber number, std::vector<TableChunkRef> chunks, KeyOrder order);
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  RunNumber number() const { return number_; }
  TableRange tables() const { return {this, 0, size_}; }
  size_t size() const { return size_; }
  // Cost: a search among the chunks.
  const TableRef& table(size_t i) const;
  std::span<const TableChunkRef> chunks() const { return chunks_; }

  uint64_t bytes() const { return sums_.totals.bytes; }
  uint64_t entries() const { return sums_.totals.entries; }
  uint64_t tombstones() const { return sums_.totals.tombstones; }
  SequenceNumber lowest_sequence() const { return sums_.lowest_sequence; }
  SequenceNumber highest_sequence() const { return sums_.highest_sequence; }
  const TableSums& sums() const { return sums_; }
  // Adds what sketches say about the tables. Returns whether that is settled (key_sums.h). Cost: one addition, once it
  // is settled.
  bool AddKeys(KeySums* sums) const {
    return chunks_.size() == 1 ? chunks_.front()->AddKeys(sums) : keys_.Add(chunks_, sums);
  }
  // Null until it is known to be settled.
  const KeySums* kept_keys() const { return chunks_.size() == 1 ? chunks_.front()->kept_keys() : keys_.Get(); }

  // Returns the only table that may hold `user_key`, or null. Cost: one or two calls of TableFences::FindIndex.
  const TableFile* Find(std::string_view user_key) const {
    const TableFences* const fences = only_.tables.empty() ? FencesAt(user_key) : &only_;
    if (fences == nullptr) return nullptr;
    const size_t i = fences->FindIndex(order_, user_key);
    return i < fences->tables.size() ? fences->tables[i].get() : nullptr;
  }
  // Returns the first table whose largest user key is at or after `user_key`, where an iterator's Seek begins; size()
  // if there is none.
  size_t FirstAtOrAfter(std::string_view user_key) const;
  // Returns the tables that overlap `range`.
  TableRange Overlapping(const KeyRange& range) const;
  // Returns a shared reference to `table`; null if the table is not in the run.
  TableRef Share(const TableFile& table) const;

  // Returns the table's metadata with the number of this run.
  TableMetadata MetadataOf(const TableFile& table) const;

 private:
  friend class TableRange;

  // Returns the first chunk whose largest user key is at or after `user_key`; chunks_.size() if there is none.
  size_t ChunkAtOrAfter(std::string_view user_key) const;
  // The same by the key's prefix after the common one, and by whole keys among the chunks from `low` up to and
  // including `high`.
  size_t SearchPrefixes(std::string_view user_key, uint64_t prefix) const;
  size_t SearchChunks(std::string_view user_key, size_t low, size_t high) const;
  // Returns the fences of the only chunk that may have a table for `user_key`; null if there is none.
  const TableFences* FencesAt(std::string_view user_key) const;
  // Returns the chunk of the table with this index.
  size_t ChunkOf(size_t table) const;
  // Returns the totals of the first `count` tables.
  TableTotals TotalsOfFirst(size_t count) const;

  RunNumber number_;
  KeyOrder order_;
  TableFences only_;  // of the only chunk; without tables if there are several chunks
  std::vector<TableChunkRef> chunks_;
  // By chunk: the index of its first table, the totals of all tables before it, and the prefix of its largest user key
  // after `common_prefix_`.
  std::vector<size_t> starts_;
  std::vector<TableTotals> totals_before_;
  std::string common_prefix_;
  std::vector<uint64_t> largest_;
  size_t size_ = 0;
  TableSums sums_;
  KeptKeySums keys_;  // a kibibyte; only for several chunks
};

using RunRef = std::shared_ptr<const Run>;

// Puts `tables`, in key order, into chunks.
ChunkList<TableChunk> PackTables(std::vector<TableRef> tables, const KeyOrder& order);
// Returns a run's chunks without `removed`, which must be in them, and with `added`; both in key order.
ChunkList<TableChunk> EditTables(std::span<const TableChunkRef> base, std::span<const TableRef> removed,
                                 std::span<const TableRef> added, const KeyOrder& order);

// Cuts `*prefix` to its longest common prefix with all user keys from the first one of `first` to the last one of
// `last`; if it is unset, sets it to these keys' longest common prefix.
void NarrowToCommonPrefix(const TableFile& first, const TableFile& last, std::optional<std::string>* prefix);

}  // namespace sepal

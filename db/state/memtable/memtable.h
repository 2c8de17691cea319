// The newest entries of one column family, in memory, until they are flushed to a table file.
//
// One writer at a time (the caller's lock); any number of readers beside it, without locks. Readers see every entry
// whose sequence number was published (the caller's release store of the last visible sequence) before they began, and
// may see newer ones, which they skip by sequence number. Entries are never changed or removed.
//
// Two ways in: a hash index by user key for point lookups (newest first), and a B+-tree with inline 8-byte key prefixes
// for order. Both point to the entries, which lie in an arena.
//
// Memory: charged to MemoryPart::kMemtables as it grows, released on destruction. Shared ownership: readers hold a
// shared_ptr (a read view does).
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "db/format/batch_format.h"
#include "db/state/memtable/insert_hint.h"
#include "table/iterate/iterator.h"
#include "table/key/internal_key.h"
#include "util/memory/chunk_pool.h"
#include "util/memory/cleared_memory.h"
#include "util/memory/memory_budget.h"

namespace sepal {

class MemTable : public std::enable_shared_from_this<MemTable> {
 public:
  // Where a memtable's memory comes from. What is not null must outlive it.
  struct Memory {
    MemoryBudget* budget = nullptr;
    ChunkPool* chunks = nullptr;
    ClearedMemory* indexes = nullptr;  // pieces of IndexBytes(expected_bytes)
  };
  // `hash_seed` is the database's. For `expected_bytes` of entries the hash index is made when the first one comes;
  // more make lookups somewhat slower. Without the index, lookups go through the ordered tree.
  MemTable(KeyOrder order, uint64_t hash_seed, size_t expected_bytes, const Memory& memory, bool indexed = true);
  static size_t IndexBytes(size_t expected_bytes);
  // About what a batch takes in memtables. Beside key and value an entry has 57 to 65 bytes there
  // (docs/internals/decisions/0003) and 4 or more in the batch.
  static size_t BytesOfBatch(std::string_view batch) { return BytesOfBatch(BatchCount(batch), batch.size()); }
  static size_t BytesOfBatch(uint32_t entries, size_t batch_bytes) {
    constexpr size_t kMoreForEach = 60;
    return batch_bytes + entries * kMoreForEach;
  }
  ~MemTable();
  MemTable(const MemTable&) = delete;
  MemTable& operator=(const MemTable&) = delete;

  // Requires: no other Add at the same time; a sequence number above those of all Adds before. Key and value are
  // copied. `hash` is HashKey(user_key, hash_seed) (ignored where the order is not hashable).
  // `hint` is what PrefetchAdd said of this key, or empty.
  void Add(SequenceNumber sequence, ValueKind kind, std::string_view user_key, std::string_view value, uint64_t hash,
           const InsertHint& hint = {});
  // Starts to fetch what Add will touch. The writer's.
  InsertHint PrefetchAdd(std::string_view user_key, uint64_t hash) const;

  // As Add, but neither iterators nor lookups see the entry before Arrange, which sorts all at once rather than finding
  // the place of each. Only for a memtable without index. No Add in between.
  void Collect(SequenceNumber sequence, ValueKind kind, std::string_view user_key, std::string_view value);
  // Takes 16 bytes of memory for each collected entry, for the moment.
  void Arrange();

  struct Found {
    Trailer trailer;
    std::string_view value;  // lives as long as the memtable
  };
  // The newest entry for `user_key` with a sequence number at or below `visible`, tombstones included; nullopt if there
  // is none.
  std::optional<Found> Lookup(std::string_view user_key, uint64_t hash, SequenceNumber visible) const;
  // Starts to fetch what Lookup will touch first.
  void PrefetchLookup(uint64_t hash) const;

  // The memtable must outlive the iterator. Keys and values that it returns live as long as the memtable.
  std::unique_ptr<InternalIterator> NewIterator() const;

  // Readable from any thread; exact when no Add is under way.
  size_t MemoryBytes() const;  // all that it takes
  size_t DataBytes() const;    // of keys and values
  uint64_t EntryCount() const;
  uint64_t TombstoneCount() const;
  bool empty() const { return EntryCount() == 0; }
  // Whether what was added came in order. The writer's.
  bool InOrder() const;
  // The lowest and highest sequence number added; meaningless while empty.
  SequenceNumber FirstSequence() const;
  SequenceNumber LastSequence() const;
  // About how many bytes of keys and values lie in [begin, end).
  uint64_t ApproximateBytes(std::string_view begin, std::string_view end) const;

  // At most `parts` - 1 user keys, ascending, that cut the entries into parts of about equal numbers: each begins one.
  // Only while nothing is added.
  std::vector<std::string> CutKeys(size_t parts) const;

  // Verifies order, links and counts of the whole structure. Only while nothing is added.
  absl::Status Check() const;

  uint64_t hash_seed() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sepal

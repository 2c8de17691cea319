// The memtable's hash index: from a user key to its updates, newest first.
//
// It consists of buckets of chains. A bucket is one word: the address of the newest entry in the low 48 bits and, above
// it, a 16-bit Bloom filter over the hashes in the chain, so that most lookups of absent keys touch only the bucket.
//
// The first entry creates buckets for the expected number of entries. If their chains become long, more buckets are
// created for the entries that follow, and the old ones stay as they are: a lookup searches the newest buckets first,
// which hold most entries. So an empty index takes no memory, and an index that was created for few entries can hold
// any number.
//
// One writer, any number of lock-free readers: the writer links the new entry to the chain and stores the bucket
// (release); a reader loads the bucket (acquire) and walks a chain that never changes again. A new entry always goes to
// the front and sequence numbers ascend, so a chain descends by sequence number, and newer buckets hold newer entries.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "db/state/memtable/memtable_entry.h"
#include "util/base/numbers.h"
#include "util/memory/mapped_memory.h"
#include "util/memory/memory_budget.h"
#include "util/memory/ready_pages.h"

namespace sepal {

class MemTableIndex {
 public:
  // Begins with the next lower power of two of `foreseen_buckets`, within bounds. These buckets come from `pool` and
  // return to it. The index's memory is charged to `budget` while it is in use. Both may be null; otherwise they must
  // outlive the index.
  explicit MemTableIndex(size_t foreseen_buckets, ReadyPages* pool = nullptr, MemoryBudget* budget = nullptr);
  ~MemTableIndex();
  MemTableIndex(const MemTableIndex&) = delete;
  MemTableIndex& operator=(const MemTableIndex&) = delete;
  // The memory of an index that begins with this many buckets, until it has to grow.
  static size_t MemoryBytes(size_t foreseen_buckets);

  // The part of a key's 64-bit hash that the index keeps.
  static uint32_t ShortHash(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

  // Requires a sequence number above all others in the index.
  void Insert(MemTableEntry* entry);
  // Returns the newest update of `user_key` at or below `visible`, or null.
  const MemTableEntry* Find(std::string_view user_key, uint32_t hash, SequenceNumber visible) const;
  void Prefetch(uint32_t hash) const {
    const size_t count = table_count_.load(std::memory_order_acquire);
    if (count > 0) [[likely]]
      __builtin_prefetch(&tables_[count - 1].bucket(hash));
  }

  // May be read from any thread.
  size_t memory_bytes() const;
  // Verifies every chain against `seed`, the seed of the keys' hashes, and computes a count and a fingerprint of the
  // entries.
  absl::Status Check(uint64_t seed, uint64_t* entries, uint64_t* fingerprint) const;

 private:
  using Bucket = std::atomic<uint64_t>;
  struct Table {
    Bucket& bucket(uint32_t hash) const { return buckets[hash >> shift]; }
    size_t bucket_count() const { return size_t{1} << (32 - shift); }

    Bucket* buckets = nullptr;
    int shift = 0;  // reduces a hash to its highest bits, the bucket's number
    LargeBuffer memory;
  };
  // The number of entries per bucket at which a new bucket array is added, and how many times as many buckets it has.
  static constexpr size_t kMostEntriesPerBucket = 4;
  static constexpr size_t kGrowth = 4;
  static constexpr size_t kMostTables = 14;

  static const MemTableEntry* Newest(uint64_t bucket) {
    return reinterpret_cast<const MemTableEntry*>(bucket & ((uint64_t{1} << 48) - 1));
  }
  static uint64_t FilterBit(uint32_t hash) { return uint64_t{1} << (48 + (hash & 15)); }
  static const MemTableEntry* FindIn(const Table& table, std::string_view user_key, uint32_t hash,
                                     SequenceNumber visible);

  void AddTable();

  const size_t foreseen_buckets_;
  ReadyPages* const pool_;
  MemoryBudget* const budget_;
  uint64_t room_ = 0;  // the number of entries until a table must be added
  std::atomic<size_t> table_count_{0};
  std::array<Table, kMostTables> tables_;
};

}  // namespace sepal

// The memtable's hash index: from a user key to its newest update, which links to the ones before it.
//
// It consists of buckets of chains of keys. A bucket is one word: the address of the first key's newest entry in the
// low 48 bits and, above it, a 16-bit Bloom filter over the hashes in the chain, so that most lookups of absent keys
// touch only the bucket.
//
// The first entry creates buckets for the expected number of keys. If their chains become long, more buckets are
// created for the keys that follow, and those of the old ones stay there: a lookup searches the newest buckets first,
// which hold most keys. So an empty index takes no memory, and an index that was created for few keys can hold any
// number.
//
// One writer, any number of lock-free readers, which load a bucket and follow its chain (acquire). A new key goes to
// the front of its chain. A key's next update takes the place of the one before: it first gets the same link to what
// follows, and then whatever led to the old one leads to it (release). A reader that stands at the old one meanwhile
// goes on from there to the same keys.
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

  // Requires that the index does not hold the entry's key.
  void Insert(const MemTableEntry* entry);
  // `entry` is the next update of the key of `before`, which is in the index.
  void Replace(const MemTableEntry* before, const MemTableEntry* entry);
  // Returns the newest update of `user_key`, or null.
  const MemTableEntry* Find(std::string_view user_key, uint32_t hash) const;
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
  // The number of keys per bucket at which a new bucket array is added, and how many times as many buckets it has.
  static constexpr size_t kMostKeysPerBucket = 4;
  static constexpr size_t kGrowth = 4;
  static constexpr size_t kMostTables = 14;

  static const MemTableEntry* First(uint64_t bucket) {
    return reinterpret_cast<const MemTableEntry*>(bucket & ((uint64_t{1} << 48) - 1));
  }
  static uint64_t FilterBit(uint32_t hash) { return uint64_t{1} << (48 + (hash & 15)); }
  static uint64_t WithFirst(uint64_t bucket, const MemTableEntry* entry);
  static const MemTableEntry* FindIn(const Table& table, std::string_view user_key, uint32_t hash);
  static bool ReplaceIn(const Table& table, const MemTableEntry* before, const MemTableEntry* entry);
  struct CheckState;
  static absl::Status CheckBucket(const Table& table, size_t i, uint64_t seed, CheckState* state);

  void AddTable();

  const size_t foreseen_buckets_;
  ReadyPages* const pool_;
  MemoryBudget* const budget_;
  uint64_t room_ = 0;  // the number of keys until a table must be added
  std::atomic<size_t> table_count_{0};
  std::array<Table, kMostTables> tables_;
};

}  // namespace sepal

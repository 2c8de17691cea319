// The memtable's hash index: from a user key to its updates, newest first.
//
// Buckets of chains. A bucket is one word: the address of the newest entry in the low 48 bits and, above it, a Bloom
// filter of 16 bits over the hashes in the chain, so that most lookups of absent keys touch nothing but the bucket.
//
// The buckets are made for the entries that are foreseen, when the first one comes. Should their chains become long,
// more buckets are made for the entries that follow, and those of before stay as they are: a lookup asks the newest
// buckets first, which hold most of the entries. So an index that holds nothing takes nothing, and one that was made
// for few entries may come to hold any number.
//
// One writer, any number of lock-free readers: the writer links the new entry to the chain and stores the bucket
// (release); a reader loads the bucket (acquire) and walks what never changes again. A new entry always goes in front,
// and sequence numbers ascend, so a chain descends by sequence number, and what is in newer buckets is newer.
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
  // Begins with the next lower power of two of `foreseen_buckets`, within bounds. Those come from `pool`, and go
  // back to it. What the index takes is charged to `budget` for as long. Either may be null, else it must outlive the
  // index.
  explicit MemTableIndex(size_t foreseen_buckets, ReadyPages* pool = nullptr, MemoryBudget* budget = nullptr);
  ~MemTableIndex();
  MemTableIndex(const MemTableIndex&) = delete;
  MemTableIndex& operator=(const MemTableIndex&) = delete;
  // What an index takes that begins with so many buckets, until it has to grow.
  static size_t MemoryBytes(size_t foreseen_buckets);

  // What the index keeps of a key's 64-bit hash.
  static uint32_t ShortHash(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

  // Requires a sequence number above all others here.
  void Insert(MemTableEntry* entry);
  // The newest update of `user_key` at or below `visible`, or null.
  const MemTableEntry* Find(std::string_view user_key, uint32_t hash, SequenceNumber visible) const;
  void Prefetch(uint32_t hash) const {
    const size_t count = table_count_.load(std::memory_order_acquire);
    if (count > 0) [[likely]]
      __builtin_prefetch(&tables_[count - 1].bucket(hash));
  }

  // Readable from any thread.
  size_t memory_bytes() const;
  // Verifies every chain against `seed`, the seed of the keys' hashes, and sums up what is in them.
  absl::Status Check(uint64_t seed, uint64_t* entries, uint64_t* fingerprint) const;

 private:
  using Bucket = std::atomic<uint64_t>;
  struct Table {
    Bucket& bucket(uint32_t hash) const { return buckets[hash >> shift]; }
    size_t bucket_count() const { return size_t{1} << (32 - shift); }

    Bucket* buckets = nullptr;
    int shift = 0;  // leaves the hash's highest bits as the bucket's number
    LargeBuffer memory;
  };
  // Entries a bucket at which newer ones get buckets of their own, and how many times as many.
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
  uint64_t room_ = 0;  // for entries, until a table has to be added
  std::atomic<size_t> table_count_{0};
  std::array<Table, kMostTables> tables_;
};

}  // namespace sepal

// The memtable's hash index: from a user key to its updates, newest first.
//
// Buckets of chains, sized once; more entries than foreseen make the chains longer. A bucket is one word: the address
// of the newest entry in the low 48 bits and, above it, a Bloom filter of 16 bits over the hashes in the chain, so that
// most lookups of absent keys touch nothing but the bucket.
//
// One writer, any number of lock-free readers: the writer links the new entry to the chain and stores the bucket
// (release); a reader loads the bucket (acquire) and walks what never changes again. A new entry always goes in front,
// and sequence numbers ascend, so a chain descends by sequence number.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "db/state/memtable_entry.h"
#include "util/cleared_memory.h"
#include "util/mapped_memory.h"
#include "util/numbers.h"

namespace sepal {

class MemTableIndex {
 public:
  // Has the next lower power of two of buckets, within bounds. Its memory comes from `memory` if that has pieces of
  // this size, and goes back there; may be null, else it must outlive the index.
  explicit MemTableIndex(size_t most_buckets, ClearedMemory* memory = nullptr);
  ~MemTableIndex();
  MemTableIndex(const MemTableIndex&) = delete;
  MemTableIndex& operator=(const MemTableIndex&) = delete;
  // Of an index of so many buckets.
  static size_t MemoryBytes(size_t most_buckets);

  // What the index keeps of a key's 64-bit hash.
  static uint32_t ShortHash(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

  // Requires a sequence number above all others here.
  void Insert(MemTableEntry* entry);
  // The newest update of `user_key` at or below `visible`, or null.
  const MemTableEntry* Find(std::string_view user_key, uint32_t hash, SequenceNumber visible) const;
  void Prefetch(uint32_t hash) const { __builtin_prefetch(&buckets_[hash >> shift_]); }

  size_t memory_bytes() const { return bucket_count_ * sizeof(Bucket); }
  // Verifies every chain against `seed`, the seed of the keys' hashes, and sums up what is in them.
  absl::Status Check(uint64_t seed, uint64_t* entries, uint64_t* fingerprint) const;

 private:
  using Bucket = std::atomic<uint64_t>;
  static const MemTableEntry* Newest(uint64_t bucket) {
    return reinterpret_cast<const MemTableEntry*>(bucket & ((uint64_t{1} << 48) - 1));
  }
  static uint64_t FilterBit(uint32_t hash) { return uint64_t{1} << (48 + (hash & 15)); }

  const size_t bucket_count_;    // a power of two, above 1
  const int shift_;              // leaves the hash's highest bits as the bucket's number
  ClearedMemory* const source_;  // null: the system
  MappedMemory memory_;
  Bucket* const buckets_;
};

}  // namespace sepal

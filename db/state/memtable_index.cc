#include "db/state/memtable_index.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_format.h"
#include "util/check.h"
#include "util/hash.h"

namespace sepal {

static size_t BucketCount(size_t most_buckets) {
  return std::bit_floor(std::clamp<size_t>(most_buckets, 16, size_t{1} << 28));
}

size_t MemTableIndex::MemoryBytes(size_t most_buckets) { return BucketCount(most_buckets) * sizeof(Bucket); }

MemTableIndex::MemTableIndex(size_t most_buckets, ClearedMemory* memory)
    : bucket_count_(BucketCount(most_buckets)),
      shift_(32 - std::countr_zero(bucket_count_)),
      source_(memory != nullptr && memory->bytes() == memory_bytes() ? memory : nullptr),
      memory_(source_ != nullptr ? source_->Take() : MappedMemory(memory_bytes())),
      buckets_(reinterpret_cast<Bucket*>(memory_.data())) {
  static_assert(sizeof(Bucket) == sizeof(uint64_t) && Bucket::is_always_lock_free);  // zero bytes are an empty bucket
}

MemTableIndex::~MemTableIndex() {
  if (source_ != nullptr) source_->Give(std::move(memory_));
}

void MemTableIndex::Insert(MemTableEntry* entry) {
  const auto address = reinterpret_cast<uint64_t>(entry);
  SEPAL_CHECK(address >> 48 == 0);
  Bucket& bucket = buckets_[entry->hash() >> shift_];
  const uint64_t before = bucket.load(std::memory_order_relaxed);
  entry->set_older(Newest(before));
  const uint64_t filter = before >> 48 << 48 | FilterBit(entry->hash());
  bucket.store(filter | address, std::memory_order_release);
}

const MemTableEntry* MemTableIndex::Find(std::string_view user_key, uint32_t hash, SequenceNumber visible) const {
  const uint64_t bucket = buckets_[hash >> shift_].load(std::memory_order_acquire);
  if ((bucket & FilterBit(hash)) == 0) return nullptr;
  const MemTableEntry* entry = Newest(bucket);
  entry->PrefetchRest();
  for (; entry != nullptr; entry = entry->older()) {
    if (entry->hash() == hash && TrailerSequence(entry->trailer()) <= visible && entry->user_key() == user_key) {
      return entry;
    }
  }
  return nullptr;
}

absl::Status MemTableIndex::Check(uint64_t seed, uint64_t* entries, uint64_t* fingerprint) const {
  *entries = 0;
  *fingerprint = 0;
  for (size_t i = 0; i < bucket_count_; ++i) {
    const uint64_t bucket = buckets_[i].load(std::memory_order_acquire);
    Trailer newer = kFirstTrailer;
    for (const MemTableEntry* entry = Newest(bucket); entry != nullptr; entry = entry->older()) {
      const uint32_t hash = ShortHash(HashKey(entry->user_key(), seed));
      if (entry->hash() != hash || hash >> shift_ != i || (bucket & FilterBit(hash)) == 0) {
        return absl::InternalError(
            absl::StrFormat("memtable index: %s is in the wrong bucket", ToString(entry->key())));
      }
      if (entry->trailer() >= newer) {
        return absl::InternalError(
            absl::StrFormat("memtable index: %s is behind an older update", ToString(entry->key())));
      }
      newer = entry->trailer();
      ++*entries;
      *fingerprint += Mix64(reinterpret_cast<uint64_t>(entry));
    }
  }
  return absl::OkStatus();
}

}  // namespace sepal

#include "db/state/memtable/memtable_index.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_format.h"
#include "util/base/check.h"
#include "util/base/hash.h"

namespace sepal {

namespace {

constexpr size_t kFewestBuckets = 16;
constexpr size_t kMostBuckets = size_t{1} << 28;

size_t BucketCount(size_t wanted) { return std::bit_floor(std::clamp(wanted, kFewestBuckets, kMostBuckets)); }

}  // namespace

size_t MemTableIndex::MemoryBytes(size_t foreseen_buckets) { return BucketCount(foreseen_buckets) * sizeof(Bucket); }

MemTableIndex::MemTableIndex(size_t foreseen_buckets, ReadyPages* pool, MemoryBudget* budget)
    : foreseen_buckets_(foreseen_buckets), pool_(pool), budget_(budget) {
  static_assert(sizeof(Bucket) == sizeof(uint64_t) && Bucket::is_always_lock_free);  // zero bytes are an empty bucket
}

MemTableIndex::~MemTableIndex() {
  if (budget_ != nullptr) budget_->Release(MemoryPart::kMemtables, memory_bytes());
  if (pool_ != nullptr) pool_->Give(std::move(tables_[0].memory));
}

size_t MemTableIndex::memory_bytes() const {
  size_t bytes = 0;
  for (size_t i = table_count_.load(std::memory_order_acquire); i-- > 0;) {
    bytes += tables_[i].bucket_count() * sizeof(Bucket);
  }
  return bytes;
}

void MemTableIndex::AddTable() {
  const size_t count = table_count_.load(std::memory_order_relaxed);
  const size_t wanted = count == 0 ? foreseen_buckets_ : tables_[count - 1].bucket_count() * kGrowth;
  const size_t buckets = BucketCount(wanted);
  const size_t bytes = buckets * sizeof(Bucket);
  Table& table = tables_[count];
  table.memory =
      pool_ != nullptr && count == 0 ? pool_->Take(bytes, ReadyPages::Content::kZero) : LargeBuffer::Zeroed(bytes);
  table.buckets = reinterpret_cast<Bucket*>(table.memory.data());
  table.shift = 32 - std::countr_zero(buckets);
  if (budget_ != nullptr) budget_->Charge(MemoryPart::kMemtables, bytes);
  const bool last = count + 1 == kMostTables || buckets == kMostBuckets;
  room_ = last ? UINT64_MAX : buckets * kMostEntriesPerBucket;
  table_count_.store(count + 1, std::memory_order_release);
}

void MemTableIndex::Insert(MemTableEntry* entry) {
  const auto address = reinterpret_cast<uint64_t>(entry);
  SEPAL_CHECK(address >> 48 == 0);
  if (room_ == 0) [[unlikely]]
    AddTable();
  --room_;
  Bucket& bucket = tables_[table_count_.load(std::memory_order_relaxed) - 1].bucket(entry->hash());
  const uint64_t before = bucket.load(std::memory_order_relaxed);
  entry->set_older(Newest(before));
  const uint64_t filter = before >> 48 << 48 | FilterBit(entry->hash());
  bucket.store(filter | address, std::memory_order_release);
}

const MemTableEntry* MemTableIndex::FindIn(const Table& table, std::string_view user_key, uint32_t hash,
                                           SequenceNumber visible) {
  const uint64_t bucket = table.bucket(hash).load(std::memory_order_acquire);
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

const MemTableEntry* MemTableIndex::Find(std::string_view user_key, uint32_t hash, SequenceNumber visible) const {
  for (size_t i = table_count_.load(std::memory_order_acquire); i-- > 0;) {
    const MemTableEntry* const entry = FindIn(tables_[i], user_key, hash, visible);
    if (entry != nullptr) return entry;
  }
  return nullptr;
}

absl::Status MemTableIndex::Check(uint64_t seed, uint64_t* entries, uint64_t* fingerprint) const {
  *entries = 0;
  *fingerprint = 0;
  // The highest sequence number in older bucket arrays, and in this one.
  uint64_t highest_before = 0;
  uint64_t highest = 0;
  for (size_t t = 0; t < table_count_.load(std::memory_order_acquire); ++t) {
    const Table& table = tables_[t];
    highest_before = highest;
    for (size_t i = 0; i < table.bucket_count(); ++i) {
      const uint64_t bucket = table.buckets[i].load(std::memory_order_acquire);
      Trailer newer = kFirstTrailer;
      for (const MemTableEntry* entry = Newest(bucket); entry != nullptr; entry = entry->older()) {
        const uint32_t hash = ShortHash(HashKey(entry->user_key(), seed));
        if (entry->hash() != hash || hash >> table.shift != i || (bucket & FilterBit(hash)) == 0) {
          return absl::InternalError(
              absl::StrFormat("memtable index: %s is in the wrong bucket", ToString(entry->key())));
        }
        const uint64_t sequence = TrailerSequence(entry->trailer()).value();
        if (entry->trailer() >= newer || sequence <= highest_before) {
          return absl::InternalError(
              absl::StrFormat("memtable index: %s is behind an older update", ToString(entry->key())));
        }
        newer = entry->trailer();
        highest = std::max(highest, sequence);
        ++*entries;
        *fingerprint += Mix64(reinterpret_cast<uint64_t>(entry));
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace sepal

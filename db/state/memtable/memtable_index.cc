#include "db/state/memtable/memtable_index.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "absl/strings/str_format.h"
#include "util/base/check.h"
#include "util/base/hash.h"
#include "util/base/status.h"

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
  room_ = last ? UINT64_MAX : buckets * kMostKeysPerBucket;
  table_count_.store(count + 1, std::memory_order_release);
}

uint64_t MemTableIndex::WithFirst(uint64_t bucket, const MemTableEntry* entry) {
  const auto address = reinterpret_cast<uint64_t>(entry);
  SEPAL_CHECK(address >> 48 == 0);
  return (bucket >> 48 << 48) | FilterBit(entry->hash()) | address;
}

void MemTableIndex::Insert(const MemTableEntry* entry) {
  if (room_ == 0) [[unlikely]]
    AddTable();
  --room_;
  Bucket& bucket = tables_[table_count_.load(std::memory_order_relaxed) - 1].bucket(entry->hash());
  const uint64_t before = bucket.load(std::memory_order_relaxed);
  entry->set_next_in_bucket(First(before));
  bucket.store(WithFirst(before, entry), std::memory_order_release);
}

bool MemTableIndex::ReplaceIn(const Table& table, const MemTableEntry* before, const MemTableEntry* entry) {
  Bucket& bucket = table.bucket(entry->hash());
  const uint64_t word = bucket.load(std::memory_order_relaxed);
  if ((word & FilterBit(entry->hash())) == 0) return false;
  const MemTableEntry* at = First(word);
  if (at == before) {
    bucket.store(WithFirst(word, entry), std::memory_order_release);
    return true;
  }
  while (at != nullptr && at->next_in_bucket() != before) at = at->next_in_bucket();
  if (at != nullptr) at->set_next_in_bucket(entry);
  return at != nullptr;
}

void MemTableIndex::Replace(const MemTableEntry* before, const MemTableEntry* entry) {
  entry->set_next_in_bucket(before->next_in_bucket());
  size_t i = table_count_.load(std::memory_order_relaxed);
  bool replaced = false;
  while (!replaced && i > 0) replaced = ReplaceIn(tables_[--i], before, entry);
  SEPAL_CHECK(replaced);
}

const MemTableEntry* MemTableIndex::FindIn(const Table& table, std::string_view user_key, uint32_t hash) {
  const uint64_t bucket = table.bucket(hash).load(std::memory_order_acquire);
  if ((bucket & FilterBit(hash)) == 0) return nullptr;
  const MemTableEntry* entry = First(bucket);
  entry->PrefetchRest();
  for (; entry != nullptr; entry = entry->next_in_bucket()) {
    if (entry->hash() == hash && entry->user_key() == user_key) return entry;
  }
  return nullptr;
}

const MemTableEntry* MemTableIndex::Find(std::string_view user_key, uint32_t hash) const {
  for (size_t i = table_count_.load(std::memory_order_acquire); i-- > 0;) {
    const MemTableEntry* const entry = FindIn(tables_[i], user_key, hash);
    if (entry != nullptr) return entry;
  }
  return nullptr;
}

struct MemTableIndex::CheckState {
  uint64_t entries = 0;
  uint64_t fingerprint = 0;
};

absl::Status MemTableIndex::CheckBucket(const Table& table, size_t i, uint64_t seed, CheckState* state) {
  const uint64_t bucket = table.buckets[i].load(std::memory_order_acquire);
  for (const MemTableEntry* key = First(bucket); key != nullptr; key = key->next_in_bucket()) {
    const uint32_t hash = ShortHash(HashKey(key->user_key(), seed));
    if (key->hash() != hash || hash >> table.shift != i || (bucket & FilterBit(hash)) == 0) {
      return absl::InternalError(absl::StrFormat("memtable index: %s is in the wrong bucket", ToString(key->key())));
    }
    for (const MemTableEntry* entry = key; entry != nullptr; entry = entry->previous()) {
      ++state->entries;
      state->fingerprint += Mix64(reinterpret_cast<uint64_t>(entry));
    }
  }
  return absl::OkStatus();
}

absl::Status MemTableIndex::Check(uint64_t seed, uint64_t* entries, uint64_t* fingerprint) const {
  CheckState state;
  for (size_t t = 0; t < table_count_.load(std::memory_order_acquire); ++t) {
    for (size_t i = 0; i < tables_[t].bucket_count(); ++i) {
      RETURN_IF_ERROR(CheckBucket(tables_[t], i, seed, &state));
    }
  }
  *entries = state.entries;
  *fingerprint = state.fingerprint;
  return absl::OkStatus();
}

}  // namespace sepal

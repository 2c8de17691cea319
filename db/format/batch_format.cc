#include "db/format/batch_format.h"

#include <limits>

#include "absl/strings/str_format.h"
#include "db/format/expiring_value.h"
#include "db/format/range_end.h"
#include "db/format/system_row.h"
#include "db/format/value_reference.h"
#include "util/base/check.h"

namespace sepal {

BatchReader::BatchReader(std::string_view bytes) : total_bytes_(bytes.size()), decoder_(bytes) {
  count_ = decoder_.Fixed32();
  if (!decoder_.ok()) problem_ = "shorter than its header";
}

namespace {
// Of a value that its kind says something about; null: it is right.
const char* ProblemOf(const BatchEntry& entry) {
  if (IsRangeDelete(entry.kind) && !DecodeRangeEnd(entry.value).has_value()) return "a range delete without an end";
  if (Expires(entry.kind) && entry.value.size() < kExpiryBytes) return "an expiring put without its expiry";
  if (IsReference(entry.kind) && !ReferenceOf(entry.kind, entry.value).has_value()) return "no reference";
  return nullptr;
}
}  // namespace

bool BatchReader::Next(BatchEntry* entry) {
  if (problem_ != nullptr) return false;
  if (read_ == count_) {
    if (!decoder_.empty()) problem_ = "bytes after the last entry";
    return false;
  }
  const uint8_t kind = decoder_.Byte();
  const bool put = kind == static_cast<uint8_t>(ValueKind::kPut);
  if (!put && !IsKindOnDisk(kind)) {
    problem_ = "unknown kind of entry";
    return false;
  }
  entry->kind = static_cast<ValueKind>(kind);
  entry->family = ColumnFamilyId(decoder_.Varint32());
  entry->key = decoder_.LengthPrefixed();
  entry->value = put || HasValue(entry->kind) ? decoder_.LengthPrefixed() : std::string_view();
  if (!decoder_.ok()) {
    problem_ = "an entry is truncated";
    return false;
  }
  if (!put) problem_ = ProblemOf(*entry);
  if (problem_ != nullptr) [[unlikely]]
    return false;
  ++read_;
  return true;
}

absl::Status BatchReader::status() const {
  if (problem_ == nullptr) return absl::OkStatus();
  return absl::DataLossError(absl::StrFormat("write batch of %u bytes: offset %u: %s (entry %u of %u)", total_bytes_,
                                             total_bytes_ - decoder_.remaining(), problem_, read_, count_));
}

std::optional<uint64_t> TakeExpiry(ValueKind kind, std::string_view* value) {
  if (!Expires(kind)) return std::nullopt;
  const ExpiringValue expiring = ParseExpiringValue(*value);
  *value = expiring.value;
  return expiring.expiry_millis;
}

absl::Status CheckBatch(std::string_view bytes, bool* expires, bool* own) {
  *expires = *own = false;
  BatchReader reader(bytes);
  BatchEntry entry;
  while (reader.Next(&entry)) {
    *expires |= Expires(entry.kind);
    *own |= IsReference(entry.kind) || entry.family == kSystemFamilyId;
  }
  return reader.status();
}

absl::Status EntryTooLarge(size_t key_bytes, size_t value_bytes) {
  return absl::InvalidArgumentError(
      absl::StrFormat("key of %u or value of %u bytes: keys take at most %u bytes and values %u", key_bytes,
                      value_bytes, kMaxKeyBytes, kMaxValueBytes));
}

namespace {

void AppendKey(std::string* batch, ValueKind kind, ColumnFamilyId family, std::string_view key) {
  const uint32_t count = BatchCount(*batch);
  SEPAL_CHECK(count < std::numeric_limits<uint32_t>::max());
  EncodeFixed32(batch->data(), count + 1);
  batch->push_back(static_cast<char>(kind));
  PutVarint(batch, family.value());
  PutLengthPrefixed(batch, key);
}

}  // namespace

void AppendBatchEntry(std::string* batch, ValueKind kind, ColumnFamilyId family, std::string_view key,
                      std::string_view value) {
  AppendKey(batch, kind, family, key);
  if (HasValue(kind)) PutLengthPrefixed(batch, value);
}

namespace {

void AppendExpiring(std::string* batch, ValueKind kind, ColumnFamilyId family, std::string_view key,
                    uint64_t expiry_millis, std::string_view value) {
  AppendKey(batch, kind, family, key);
  PutVarint(batch, kExpiryBytes + value.size());
  AppendExpiry(batch, expiry_millis);
  batch->append(value);
}

}  // namespace

void AppendExpiringPut(std::string* batch, ColumnFamilyId family, std::string_view key, uint64_t expiry_millis,
                       std::string_view value) {
  AppendExpiring(batch, ValueKind::kExpiringPut, family, key, expiry_millis, value);
}

void AppendReferringPut(std::string* batch, ColumnFamilyId family, std::string_view key, uint64_t expiry_millis,
                        std::string_view reference) {
  if (expiry_millis == 0) return AppendBatchEntry(batch, ValueKind::kReference, family, key, reference);
  AppendExpiring(batch, ValueKind::kExpiringReference, family, key, expiry_millis, reference);
}

}  // namespace sepal

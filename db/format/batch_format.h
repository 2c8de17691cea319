// A write batch as bytes, in the log and in memory:
//
// | offset | size   | meaning                                                                        |
// |--------|--------|--------------------------------------------------------------------------------|
// | 0      | 4      | number of entries                                                              |
// | 4      |        | the entries, without gaps:                                                     |
// |        | 1      | ValueKind: delete, put, single delete, merge, range delete, reference,         |
// |        |        | expiring put or expiring reference                                             |
// |        | 1 to 5 | column family id, varint32                                                     |
// |        |        | key: length as varint, bytes                                                   |
// |        |        | put, merge: value or operand: length as varint, bytes                          |
// |        |        | range delete: its end: length as varint, bytes (range_end.h)                   |
// |        |        | reference: length as varint, place of the value (value_reference.h)            |
// |        |        | expiring put: length as varint, expiry and value (expiring_value.h)            |
// |        |        | expiring reference: length as varint, expiry, place of the value               |
//
// Entry i of a batch with sequence number s has sequence number s + i. Bytes are a valid batch if exactly the stated
// number of entries fills them. References, and rows of the system family (system_row.h), are of a database's own log
// alone: WriteBatch::FromBytes refuses them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "sepal/db.h"
#include "table/key/internal_key.h"
#include "util/base/coding.h"
#include "util/base/numbers.h"

namespace sepal {

inline constexpr size_t kBatchHeaderBytes = 4;

// Whether an entry of that kind has a value behind its key.
inline constexpr bool HasValue(ValueKind kind) {
  return kind == ValueKind::kPut || kind == ValueKind::kMerge || kind == ValueKind::kRangeDelete || IsReference(kind) ||
         Expires(kind);
}
inline constexpr bool IsRangeDelete(ValueKind kind) { return kind == ValueKind::kRangeDelete; }
// Of one that expires, its time; `*value` becomes what is behind that. nullopt: it does not.
std::optional<uint64_t> TakeExpiry(ValueKind kind, std::string_view* value);
// Whether its value may be written to a value file instead.
inline constexpr bool MayBeSeparated(ValueKind kind) {
  return kind == ValueKind::kPut || kind == ValueKind::kExpiringPut;
}
// Whether it is a put that a family's time to live makes expire.
inline constexpr bool TakesTimeToLive(ValueKind kind) { return kind == ValueKind::kPut; }
// Whether it may only be written to a family that has a merge operator.
inline constexpr bool NeedsMergeOperator(ValueKind kind) { return kind == ValueKind::kMerge; }

struct BatchEntry {
  ValueKind kind = ValueKind::kPut;
  ColumnFamilyId family;
  std::string_view key;
  std::string_view value;  // or operand, or end of a range (range_end.h); empty for other deletions
};

// Reads the entries of a batch that may be hostile. Allocates nothing unless it fails. The entries point into `bytes`.
//
//   BatchReader reader(bytes);
//   BatchEntry entry;
//   while (reader.Next(&entry)) ...
//   RETURN_IF_ERROR(reader.status());
class BatchReader {
 public:
  explicit BatchReader(std::string_view bytes);

  // The number of entries that the batch states; not to be trusted before all of them were read without an error.
  uint32_t count() const { return count_; }
  // Returns false at the end and at the first damage; `status` tells which.
  bool Next(BatchEntry* entry);
  // `DataLoss` for bytes that are not a batch.
  absl::Status status() const;

 private:
  size_t total_bytes_;
  Decoder decoder_;
  uint32_t count_ = 0;
  uint32_t read_ = 0;
  const char* problem_ = nullptr;
};

// Reads the whole batch; ok if it is valid. `*expires`: whether any entry does; `*own`: whether any may be in a
// database's own log alone.
absl::Status CheckBatch(std::string_view bytes, bool* expires, bool* own);
inline absl::Status CheckBatch(std::string_view bytes, bool* expires) {
  bool own;
  return CheckBatch(bytes, expires, &own);
}
inline absl::Status CheckBatch(std::string_view bytes) {
  bool expires;
  return CheckBatch(bytes, &expires);
}

// The number of entries that `bytes`, at least kBatchHeaderBytes of them, state.
inline uint32_t BatchCount(std::string_view bytes) { return DecodeFixed32(bytes.data()); }

// InvalidArgument: a key or a value is longer than allowed (sepal/db.h).
absl::Status EntryTooLarge(size_t key_bytes, size_t value_bytes);
inline absl::Status CheckEntrySize(size_t key_bytes, size_t value_bytes) {
  if (key_bytes <= kMaxKeyBytes && value_bytes <= kMaxValueBytes) [[likely]]
    return absl::OkStatus();
  return EntryTooLarge(key_bytes, value_bytes);
}

// Adds an entry to `batch`, which must be a valid batch, and counts it. `value` is for puts and merges only; an
// expiring put's is as expiring_value.h says.
void AppendBatchEntry(std::string* batch, ValueKind kind, ColumnFamilyId family, std::string_view key,
                      std::string_view value);
// The same of an expiring put. An expiry beyond what the format has becomes kNoExpiryMillis.
void AppendExpiringPut(std::string* batch, ColumnFamilyId family, std::string_view key, uint64_t expiry_millis,
                       std::string_view value);
// Adds an update with a reference. It does not expire if `expiry_millis` is 0.
void AppendReferringPut(std::string* batch, ColumnFamilyId family, std::string_view key, uint64_t expiry_millis,
                        std::string_view reference);

}  // namespace sepal

#include "db/format/prepared_transaction.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"
#include "db/format/batch_format.h"
#include "db/format/range_end.h"
#include "util/base/check.h"
#include "util/base/coding.h"
#include "util/base/status.h"

namespace sepal {

namespace {

constexpr uint8_t kVersion = 1;
constexpr uint8_t kExpiringVersion = 2;  // the newest

constexpr uint8_t kExclusive = 1;
constexpr uint8_t kRange = 2;
constexpr uint8_t kHasBegin = 4;
constexpr uint8_t kHasEnd = 8;
constexpr uint8_t kEndInclusive = 16;
constexpr uint8_t kAllFlags = 31;

void PutLock(std::string* out, const HeldLock& lock) {
  PutVarint(out, lock.family.value());
  uint8_t flags = lock.exclusive ? kExclusive : 0;
  if (lock.range) {
    flags |= kRange | (lock.begin.has_value() ? kHasBegin : 0) | (lock.end.has_value() ? kHasEnd : 0) |
             (lock.end_inclusive ? kEndInclusive : 0);
  }
  out->push_back(static_cast<char>(flags));
  if (lock.begin.has_value()) PutLengthPrefixed(out, *lock.begin);
  if (lock.end.has_value()) PutLengthPrefixed(out, *lock.end);
}

HeldLock TakeLock(Decoder* in) {
  HeldLock lock{.family = ColumnFamilyId(in->Varint32())};
  const uint8_t flags = in->Byte();
  lock.exclusive = (flags & kExclusive) != 0;
  lock.range = (flags & kRange) != 0;
  lock.end_inclusive = (flags & kEndInclusive) != 0;
  const bool fits = lock.range ? !lock.end_inclusive || (flags & kHasEnd) != 0 : flags <= kExclusive;
  if ((flags & ~kAllFlags) != 0 || !fits) in->Fail();
  if (!lock.range || (flags & kHasBegin) != 0) lock.begin = in->LengthPrefixed();
  if (lock.range && (flags & kHasEnd) != 0) lock.end = in->LengthPrefixed();
  return lock;
}

}  // namespace

std::string PreparedRow::Encode() const {
  bool expires = false;
  const absl::Status valid = CheckBatch(batch, &expires);
  SEPAL_DCHECK(valid.ok());
  std::string bytes(1, static_cast<char>(expires ? kExpiringVersion : kVersion));
  PutVarint(&bytes, prepared_millis);
  PutVarint(&bytes, locks.size());
  for (const HeldLock& lock : locks) PutLock(&bytes, lock);
  return bytes.append(batch);
}

absl::StatusOr<PreparedRow> PreparedRow::Decode(std::string_view bytes) {
  Decoder in(bytes);
  const uint8_t version = in.Byte();
  if (version > kExpiringVersion) {
    return absl::FailedPreconditionError(
        absl::StrFormat("it was prepared by a newer version of the library (row of version %u, known is %u)", version,
                        kExpiringVersion));
  }
  if (version < kVersion) in.Fail();
  PreparedRow row{.prepared_millis = in.Varint()};
  const uint64_t locks = in.Varint();
  for (uint64_t i = 0; i < locks && in.ok(); ++i) row.locks.push_back(TakeLock(&in));
  if (!in.ok()) {
    return absl::DataLossError(absl::StrFormat("its row of %u bytes is damaged: offset %u: no lock, or no header",
                                               bytes.size(), bytes.size() - in.remaining()));
  }
  row.batch = in.rest();
  bool expires = false, own = false;
  RETURN_IF_ERROR(CheckBatch(row.batch, &expires, &own));
  if (own || expires != (version == kExpiringVersion)) {
    return absl::DataLossError(
        absl::StrFormat("its row of version %u has an update that no transaction of that version can have", version));
  }
  return row;
}

std::vector<HeldLock> LocksOfWrites(std::string_view batch) {
  std::vector<HeldLock> locks;
  BatchReader reader(batch);
  for (BatchEntry entry; reader.Next(&entry);) {
    HeldLock& lock = locks.emplace_back(HeldLock{.family = entry.family, .begin = std::string(entry.key)});
    if (!IsRangeDelete(entry.kind)) continue;
    lock.range = true;
    const std::optional<std::string_view> end = DecodeRangeEnd(entry.value).value_or(RangeEnd{}).key;
    if (end.has_value()) lock.end = std::string(*end);
  }
  std::sort(locks.begin(), locks.end());
  locks.erase(std::unique(locks.begin(), locks.end()), locks.end());
  return locks;
}

}  // namespace sepal

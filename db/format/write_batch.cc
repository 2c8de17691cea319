#include "sepal/write_batch.h"

#include <limits>

#include "absl/strings/str_format.h"
#include "db/format/batch_format.h"
#include "db/format/expiring_value.h"
#include "db/format/owned_family.h"
#include "db/format/range_end.h"
#include "util/base/check.h"
#include "util/base/status.h"
#include "util/base/unix_time.h"

namespace sepal {

namespace {

constexpr ColumnFamilyId kDefaultFamily(0);

using TimePoint = std::chrono::system_clock::time_point;

}  // namespace

WriteBatch::WriteBatch() : bytes_(kBatchHeaderBytes, '\0') {}

void WriteBatch::Put(std::string_view key, std::string_view value) {
  AppendBatchEntry(&bytes_, ValueKind::kPut, kDefaultFamily, key, value);
}

void WriteBatch::Delete(std::string_view key) {
  AppendBatchEntry(&bytes_, ValueKind::kDelete, kDefaultFamily, key, {});
}

void WriteBatch::SingleDelete(std::string_view key) {
  AppendBatchEntry(&bytes_, ValueKind::kSingleDelete, kDefaultFamily, key, {});
}

void WriteBatch::Put(const ColumnFamily& family, std::string_view key, std::string_view value) {
  AppendBatchEntry(&bytes_, ValueKind::kPut, BatchOrigin::Note(family, this), key, value);
}

void WriteBatch::Delete(const ColumnFamily& family, std::string_view key) {
  AppendBatchEntry(&bytes_, ValueKind::kDelete, BatchOrigin::Note(family, this), key, {});
}

void WriteBatch::SingleDelete(const ColumnFamily& family, std::string_view key) {
  AppendBatchEntry(&bytes_, ValueKind::kSingleDelete, BatchOrigin::Note(family, this), key, {});
}

void WriteBatch::Merge(std::string_view key, std::string_view operand) {
  AppendBatchEntry(&bytes_, ValueKind::kMerge, kDefaultFamily, key, operand);
}

void WriteBatch::Merge(const ColumnFamily& family, std::string_view key, std::string_view operand) {
  AppendBatchEntry(&bytes_, ValueKind::kMerge, BatchOrigin::Note(family, this), key, operand);
}

void WriteBatch::DeleteRange(std::string_view begin, std::optional<std::string_view> end) {
  AppendBatchEntry(&bytes_, ValueKind::kRangeDelete, kDefaultFamily, begin, EncodeRangeEnd(end));
}

void WriteBatch::DeleteRange(const ColumnFamily& family, std::string_view begin, std::optional<std::string_view> end) {
  AppendBatchEntry(&bytes_, ValueKind::kRangeDelete, BatchOrigin::Note(family, this), begin, EncodeRangeEnd(end));
}

absl::Status WriteBatch::Handler::DeleteRange(uint32_t, std::string_view, std::optional<std::string_view>) {
  return absl::UnimplementedError("the batch deletes a range, and its handler does not take any");
}

absl::Status WriteBatch::Handler::Merge(uint32_t, std::string_view, std::string_view) {
  return absl::UnimplementedError("the batch has a merge, and its handler does not take any");
}

void WriteBatch::Put(std::string_view key, std::string_view value, TimePoint expires_at) {
  AppendExpiringPut(&bytes_, kDefaultFamily, key, MillisOf(expires_at), value);
  expires_ = expiry_unchecked_ = true;
}

void WriteBatch::Put(const ColumnFamily& family, std::string_view key, std::string_view value, TimePoint expires_at) {
  AppendExpiringPut(&bytes_, BatchOrigin::Note(family, this), key, MillisOf(expires_at), value);
  expires_ = expiry_unchecked_ = true;
}

absl::Status WriteBatch::Handler::PutExpiring(uint32_t, std::string_view, std::string_view, TimePoint) {
  return absl::UnimplementedError("the batch has a put that expires, and its handler does not take any");
}

void WriteBatch::Append(const WriteBatch& other) {
  const uint64_t count = uint64_t{Count()} + other.Count();
  SEPAL_CHECK(count <= std::numeric_limits<uint32_t>::max());
  BatchOrigin::NoteAll(other, this);
  expires_ |= other.expires_;
  expiry_unchecked_ |= other.expiry_unchecked_;
  // Appends by position, so that a batch may be appended to itself.
  bytes_.append(other.bytes_, kBatchHeaderBytes);
  EncodeFixed32(bytes_.data(), static_cast<uint32_t>(count));
}

void WriteBatch::Clear() {
  bytes_.assign(kBatchHeaderBytes, '\0');
  expires_ = expiry_unchecked_ = false;
  BatchOrigin::Clear(this);
}

uint32_t WriteBatch::Count() const { return BatchCount(bytes_); }

absl::Status WriteBatch::Iterate(Handler& handler) const {
  BatchReader reader(bytes_);
  BatchEntry entry;
  while (reader.Next(&entry)) {
    const uint32_t family = entry.family.value();
    switch (entry.kind) {
      case ValueKind::kPut:
        RETURN_IF_ERROR(handler.Put(family, entry.key, entry.value));
        break;
      case ValueKind::kDelete:
        RETURN_IF_ERROR(handler.Delete(family, entry.key));
        break;
      case ValueKind::kSingleDelete:
        RETURN_IF_ERROR(handler.SingleDelete(family, entry.key));
        break;
      case ValueKind::kMerge:
        RETURN_IF_ERROR(handler.Merge(family, entry.key, entry.value));
        break;
      case ValueKind::kRangeDelete:
        RETURN_IF_ERROR(handler.DeleteRange(family, entry.key, DecodeRangeEnd(entry.value)->key));
        break;
      case ValueKind::kExpiringPut: {
        const ExpiringValue expiring = ParseExpiringValue(entry.value);
        RETURN_IF_ERROR(handler.PutExpiring(family, entry.key, expiring.value, TimeOfMillis(expiring.expiry_millis)));
        break;
      }
      case ValueKind::kReference:
      case ValueKind::kExpiringReference:
        return absl::InternalError("a user's batch cannot have a reference");
      case ValueKind::kFoldedMerge:
        return absl::InternalError("a batch cannot have a folded merge");
    }
  }
  return reader.status();
}

absl::StatusOr<WriteBatch> WriteBatch::FromBytes(std::string_view bytes) {
  WriteBatch batch;
  bool own = false;
  RETURN_IF_ERROR(CheckBatch(bytes, &batch.expires_, &own));
  if (own) {
    return absl::DataLossError(
        absl::StrFormat("write batch of %u bytes: an entry refers to a value elsewhere, or is a row of the database "
                        "itself, which only a database's own log may have",
                        bytes.size()));
  }
  batch.bytes_ = bytes;
  batch.expiry_unchecked_ = batch.expires_;
  return batch;
}

ColumnFamilyId BatchOrigin::Note(const ColumnFamily& family, WriteBatch* batch) {
  const auto& owned = static_cast<const OwnedFamily&>(family);
  Note(owned.database_id(), owned.directory(), batch);
  return ColumnFamilyId(owned.id());
}

void BatchOrigin::NoteAll(const WriteBatch& other, WriteBatch* batch) {
  if (other.database_id_ != 0) Note(other.database_id_, other.directory_, batch);
  if (batch->second_directory_.empty()) batch->second_directory_ = other.second_directory_;
}

void BatchOrigin::Note(uint64_t database_id, std::string_view directory, WriteBatch* batch) {
  if (batch->database_id_ == database_id && batch->directory_ == directory) [[likely]]
    return;
  if (batch->database_id_ == 0) {
    batch->database_id_ = database_id;
    batch->directory_ = directory;
  } else if (batch->second_directory_.empty()) {
    batch->second_directory_ = directory;
  }
}

void BatchOrigin::Clear(WriteBatch* batch) {
  batch->database_id_ = 0;  // `directory_` keeps its memory for the next one
  batch->second_directory_.clear();
}

absl::Status BatchOrigin::Check(const WriteBatch& batch, uint64_t database_id, std::string_view directory) {
  const bool own = batch.database_id_ == 0 || (batch.database_id_ == database_id && batch.directory_ == directory);
  if (own && batch.second_directory_.empty()) [[likely]]
    return absl::OkStatus();
  if (!batch.second_directory_.empty()) {
    return absl::InvalidArgumentError(absl::StrFormat("the batch names column families of two databases, in %s and %s",
                                                      batch.directory_, batch.second_directory_));
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("the batch names a column family of another database, in %s: it cannot be written to the one in "
                      "%s",
                      batch.directory_, directory));
}

}  // namespace sepal

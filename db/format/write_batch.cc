#include "sepal/write_batch.h"

#include <limits>

#include "db/format/batch_format.h"
#include "util/base/check.h"
#include "util/base/status.h"

namespace sepal {
namespace {

ColumnFamilyId IdOf(const ColumnFamily* family) { return ColumnFamilyId(family == nullptr ? 0 : family->id()); }

}  // namespace

WriteBatch::WriteBatch() : bytes_(kBatchHeaderBytes, '\0') {}

void WriteBatch::Put(const ColumnFamily* family, std::string_view key, std::string_view value) {
  AppendBatchEntry(&bytes_, ValueKind::kPut, IdOf(family), key, value);
}

void WriteBatch::Delete(const ColumnFamily* family, std::string_view key) {
  AppendBatchEntry(&bytes_, ValueKind::kDelete, IdOf(family), key, {});
}

void WriteBatch::SingleDelete(const ColumnFamily* family, std::string_view key) {
  AppendBatchEntry(&bytes_, ValueKind::kSingleDelete, IdOf(family), key, {});
}

void WriteBatch::Append(const WriteBatch& other) {
  const uint64_t count = uint64_t{Count()} + other.Count();
  SEPAL_CHECK(count <= std::numeric_limits<uint32_t>::max());
  // Appends by position, so that a batch may be appended to itself.
  bytes_.append(other.bytes_, kBatchHeaderBytes);
  EncodeFixed32(bytes_.data(), static_cast<uint32_t>(count));
}

void WriteBatch::Clear() { bytes_.assign(kBatchHeaderBytes, '\0'); }

uint32_t WriteBatch::Count() const { return BatchCount(bytes_); }

absl::Status WriteBatch::Iterate(Handler* handler) const {
  BatchReader reader(bytes_);
  BatchEntry entry;
  while (reader.Next(&entry)) {
    const uint32_t family = entry.family.value();
    switch (entry.kind) {
      case ValueKind::kPut:
        RETURN_IF_ERROR(handler->Put(family, entry.key, entry.value));
        break;
      case ValueKind::kDelete:
        RETURN_IF_ERROR(handler->Delete(family, entry.key));
        break;
      case ValueKind::kSingleDelete:
        RETURN_IF_ERROR(handler->SingleDelete(family, entry.key));
        break;
    }
  }
  return reader.status();
}

absl::Status WriteBatch::FromBytes(std::string_view bytes, WriteBatch* batch) {
  RETURN_IF_ERROR(CheckBatch(bytes));
  batch->bytes_ = bytes;
  return absl::OkStatus();
}

}  // namespace sepal

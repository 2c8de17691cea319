#include "compat/leveldb/write_batch.h"

#include "compat/leveldb/convert.h"
#include "db/format/batch_format.h"
#include "util/base/coding.h"

namespace leveldb {

namespace {

using sepal::compat::View;

constexpr sepal::ColumnFamilyId kFamily{0};
// In front of LevelDB's entries: a sequence number and a count.
constexpr size_t kHeaderBytes = 12;

}  // namespace

WriteBatch::WriteBatch() { Clear(); }
WriteBatch::~WriteBatch() = default;

void WriteBatch::Clear() { rep_.assign(sepal::kBatchHeaderBytes, '\0'); }

void WriteBatch::Put(const Slice& key, const Slice& value) {
  sepal::AppendBatchEntry(&rep_, sepal::ValueKind::kPut, kFamily, View(key), View(value));
}

void WriteBatch::Delete(const Slice& key) {
  sepal::AppendBatchEntry(&rep_, sepal::ValueKind::kDelete, kFamily, View(key), {});
}

void WriteBatch::Append(const WriteBatch& source) {
  const uint32_t count = sepal::BatchCount(rep_) + sepal::BatchCount(source.rep_);
  rep_.append(source.rep_, sepal::kBatchHeaderBytes);
  sepal::EncodeFixed32(rep_.data(), count);
}

// The size that LevelDB's own bytes would have: each of its entries has one byte less, as it names no family.
size_t WriteBatch::ApproximateSize() const {
  return kHeaderBytes + rep_.size() - sepal::kBatchHeaderBytes - sepal::BatchCount(rep_);
}

Status WriteBatch::Iterate(Handler* handler) const {
  sepal::BatchReader reader(rep_);
  for (sepal::BatchEntry entry; reader.Next(&entry);) {
    if (sepal::HasValue(entry.kind)) {
      handler->Put(sepal::compat::ToSlice(entry.key), sepal::compat::ToSlice(entry.value));
    } else {
      handler->Delete(sepal::compat::ToSlice(entry.key));
    }
  }
  return sepal::compat::ToStatus(reader.status());
}

}  // namespace leveldb

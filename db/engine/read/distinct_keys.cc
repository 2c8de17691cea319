#include "db/engine/read/distinct_keys.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_format.h"
#include "table/file/table_reader.h"
#include "table/iterate/iterator.h"
#include "util/base/hash.h"
#include "util/base/status.h"

namespace sepal {

absl::Status DistinctKeys::Add(const ReadView& view, TableOpener* opener) {
  AddMemTable(*view.active);
  for (const auto& memtable : view.immutables) AddMemTable(*memtable);
  for (const LevelRun& level_run : view.version->runs()) {
    if (!range_.has_value()) {
      for (const TableRef& table : level_run.run->tables()) RETURN_IF_ERROR(AddTable(*table, opener));
      continue;
    }
    for (const TableRef& table : level_run.run->Overlapping({range_->begin, range_->end})) {
      RETURN_IF_ERROR(AddTable(*table, opener));
    }
  }
  return absl::OkStatus();
}

double DistinctKeys::Estimate() const {
  const double whole = whole_.Estimate();
  if (entries_ == 0) return whole;
  HyperLogLog all = whole_;
  all.Merge(partly_);
  return whole + std::max(all.Estimate() - whole, 0.0) * entries_in_range_ / entries_;
}

void DistinctKeys::AddMemTable(const MemTable& memtable) {
  const std::unique_ptr<InternalIterator> entries = memtable.NewIterator(kMaxSequenceNumber);
  range_.has_value() ? entries->Seek({range_->begin, kFirstTrailer}) : entries->SeekToFirst();
  for (; entries->Valid(); entries->Next()) {
    const std::string_view key = entries->key().user_key;
    if (range_.has_value() && !order_.Less(key, range_->end)) return;
    whole_.Add(HashKey(key, hash_seed_));
  }
}

absl::Status DistinctKeys::AddTable(const TableFile& table, TableOpener* opener) {
  ASSIGN_OR_RETURN(const double part, PartInRange(table, opener));
  if (part <= 0) return absl::OkStatus();
  RETURN_IF_ERROR(table.LearnSketch(opener));
  const HyperLogLog* const sketch = table.key_sketch();
  if (sketch == nullptr) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "table %u has no sketch of its keys; compact the column family and ask again", table.number().value()));
  }
  (part >= 1 ? whole_ : partly_).Merge(*sketch);
  if (part >= 1) return absl::OkStatus();
  entries_ += static_cast<double>(table.metadata().entries);
  entries_in_range_ += part * static_cast<double>(table.metadata().entries);
  return absl::OkStatus();
}

absl::StatusOr<double> DistinctKeys::PartInRange(const TableFile& table, TableOpener* opener) const {
  if (!range_.has_value()) return 1;
  const bool from_start = !order_.Less(table.metadata().smallest.user_key, range_->begin);
  const bool to_end = order_.Less(table.metadata().largest.user_key, range_->end);
  if (from_start && to_end) return 1;
  ASSIGN_OR_RETURN(const TableReader* reader, table.OpenReader(opener));
  ASSIGN_OR_RETURN(const uint64_t first, reader->ApproximateOffset(range_->begin));
  ASSIGN_OR_RETURN(const uint64_t last, reader->ApproximateOffset(range_->end));
  if (last <= first) return 0;
  return static_cast<double>(last - first) /
         static_cast<double>(std::max<uint64_t>(reader->properties().data_bytes, 1));
}

}  // namespace sepal

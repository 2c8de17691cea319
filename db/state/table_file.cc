#include "db/state/table_file.h"

#include "util/status.h"

namespace sepal {

TableFile::TableFile(TableMetadata metadata, std::shared_ptr<ObsoleteTableSink> sink)
    : metadata_(std::move(metadata)), sink_(std::move(sink)), sketch_(metadata_.key_sketch.get()) {}

TableFile::~TableFile() {
  {
    MutexLock lock(&open_mutex_);
    owned_reader_.reset();  // closed before the file may be deleted
  }
  if (sink_ != nullptr && obsolete()) sink_->OnLastRelease(metadata_.number);
}

absl::StatusOr<std::shared_ptr<const TableReader>> TableFile::ShareReader(TableOpener* opener) const {
  MutexLock lock(&open_mutex_);
  if (owned_reader_ == nullptr) {
    ASSIGN_OR_RETURN(owned_reader_, opener->OpenTable(metadata_));
    reader_.store(owned_reader_.get(), std::memory_order_release);
  }
  return owned_reader_;
}

absl::StatusOr<const TableReader*> TableFile::OpenReader(TableOpener* opener) const {
  if (const TableReader* open = reader()) return open;
  ASSIGN_OR_RETURN(const std::shared_ptr<const TableReader> opened, ShareReader(opener));
  return opened.get();
}

std::optional<double> TableFile::EstimatedKeys() const {
  const double known = estimated_keys_.load(std::memory_order_relaxed);
  if (known >= 0) return known;
  const HyperLogLog* const sketch = key_sketch();
  if (sketch == nullptr) return std::nullopt;
  const double estimate = sketch->Estimate();
  estimated_keys_.store(estimate, std::memory_order_relaxed);
  return estimate;
}

absl::Status TableFile::LearnSketch(TableOpener* opener) const {
  if (key_sketch() != nullptr) return absl::OkStatus();
  std::shared_ptr<const TableReader> passing;
  const TableReader* table = reader();
  if (table == nullptr) {
    ASSIGN_OR_RETURN(passing, opener->OpenTable(metadata_));
    table = passing.get();
  }
  const std::optional<HyperLogLog> sketch = HyperLogLog::FromBytes(table->properties().key_sketch);
  if (!sketch.has_value()) return absl::OkStatus();
  MutexLock lock(&open_mutex_);
  if (learned_sketch_.has_value()) return absl::OkStatus();
  learned_sketch_ = sketch;
  sketch_.store(&*learned_sketch_, std::memory_order_release);
  return absl::OkStatus();
}

}  // namespace sepal

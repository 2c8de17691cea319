#include "db/state/version/table_file.h"

#include <algorithm>

#include "util/base/status.h"

namespace sepal {

TableFile::TableFile(TableMetadata metadata, std::shared_ptr<ObsoleteTableSink> sink)
    : metadata_(std::move(metadata)),
      sink_(std::move(sink)),
      sketch_(metadata_.key_sketch.get()),
      settled_(metadata_.key_sketch != nullptr),
      range_tombstones_(metadata_.range_tombstones) {}

TableFile::~TableFile() {
  {
    MutexLock lock(&open_mutex_);
    owned_reader_.reset();  // closes it before the file may be deleted
    asked_.reset();
  }
  if (sink_ != nullptr && obsolete()) sink_->OnLastRelease(metadata_.number);
}

absl::StatusOr<std::shared_ptr<const TableReader>> TableFile::ShareReader(TableOpener* opener) const {
  MutexLock lock(&open_mutex_);
  if (owned_reader_ == nullptr) {
    ASSIGN_OR_RETURN(owned_reader_, asked_ != nullptr ? opener->OpenAsked(metadata_, std::move(asked_))
                                                      : opener->OpenTable(metadata_));
    reader_.store(owned_reader_.get(), std::memory_order_release);
  }
  return owned_reader_;
}

bool TableFile::Ask(TableOpener* opener) const {
  // If the lock is held, another thread is opening it.
  if (reader() != nullptr || !opener->IsFar() || !open_mutex_.TryLock()) return false;
  const bool asks = owned_reader_ == nullptr && asked_ == nullptr;
  if (asks) asked_ = opener->Ask(metadata_);
  const bool asked = asked_ != nullptr;
  open_mutex_.Unlock();
  return asks && asked;
}

absl::StatusOr<const TableReader*> TableFile::OpenReader(TableOpener* opener) const {
  if (const TableReader* open = reader()) return open;
  ASSIGN_OR_RETURN(const std::shared_ptr<const TableReader> opened, ShareReader(opener));
  return opened.get();
}

double TableFile::EntriesPerKey() const {
  if (metadata_.needs_all_versions) return 1;
  const double known = entries_per_key_.load(std::memory_order_relaxed);
  if (known > 0) return known;
  const HyperLogLog* const sketch = key_sketch();
  if (sketch == nullptr) return 1;
  const double most_keys = sketch->Estimate() * (1 + 3 * HyperLogLog::kStandardError);
  const double entries_per_key = static_cast<double>(metadata_.entries) / std::max(most_keys, 1.0);
  entries_per_key_.store(entries_per_key, std::memory_order_relaxed);
  return entries_per_key;
}

bool TableFile::AddKeys(KeySums* sums) const {
  const bool settled = this->settled();
  const HyperLogLog* const sketch = key_sketch();
  if (sketch == nullptr || metadata_.entries == 0) return settled;
  sums->keys.Merge(*sketch);
  sums->bytes += metadata_.size_bytes;
  sums->entries += metadata_.entries;
  const double entry_bytes = static_cast<double>(metadata_.size_bytes) / static_cast<double>(metadata_.entries);
  sums->largest_entry_bytes = std::max(sums->largest_entry_bytes, entry_bytes);
  sums->most_entries_per_key = std::max(sums->most_entries_per_key, EntriesPerKey());
  return settled;
}

absl::Status TableFile::LearnSketch(TableOpener* opener) const {
  if (settled()) return absl::OkStatus();
  absl::StatusOr<std::optional<HyperLogLog>> sketch = ReadSketch(opener);
  MutexLock lock(&open_mutex_);
  if (settled()) return absl::OkStatus();
  if (sketch.ok() && sketch->has_value()) {
    learned_sketch_ = std::make_unique<const HyperLogLog>(**sketch);
    sketch_.store(learned_sketch_.get(), std::memory_order_release);
  }
  settled_.store(true, std::memory_order_release);
  return sketch.status();
}

absl::StatusOr<std::optional<HyperLogLog>> TableFile::ReadSketch(TableOpener* opener) const {
  std::shared_ptr<const TableReader> passing;
  const TableReader* table = reader();
  if (table == nullptr) {
    ASSIGN_OR_RETURN(passing, opener->OpenTable(metadata_));
    table = passing.get();
  }
  return HyperLogLog::FromBytes(table->properties().key_sketch);
}

}  // namespace sepal

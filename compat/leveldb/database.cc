#include "compat/leveldb/database.h"

#include <leveldb/iterator.h>

#include <charconv>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "compat/leveldb/convert.h"
#include "compat/leveldb/write_batch.h"
#include "db/format/owned_family.h"

namespace sepal::compat {

namespace {

using leveldb::Slice;
using leveldb::Status;

constexpr size_t kReleasedSnapshots = 1000;
// LevelDB's levels; Sepal may have one more, which counts as part of the last.
constexpr int kLevels = 7;

class IteratorOf final : public leveldb::Iterator {
 public:
  explicit IteratorOf(std::unique_ptr<sepal::Iterator> iterator) : iterator_(std::move(iterator)) {}

  bool Valid() const override { return iterator_->Valid(); }
  void SeekToFirst() override { iterator_->SeekToFirst(); }
  void SeekToLast() override { iterator_->SeekToLast(); }
  void Seek(const Slice& target) override { iterator_->Seek(View(target)); }
  void Next() override { iterator_->Next(); }
  void Prev() override { iterator_->Prev(); }
  Slice key() const override { return ToSlice(iterator_->key()); }
  Slice value() const override { return ToSlice(iterator_->value()); }
  Status status() const override { return ToStatus(iterator_->status()); }

 private:
  const std::unique_ptr<sepal::Iterator> iterator_;
};

// Lends a batch's bytes to Sepal for one write.
class LentBatch {
 public:
  explicit LentBatch(leveldb::WriteBatch* owner) : bytes_(leveldb::WriteBatchInternal::Bytes(owner)) {
    BatchOrigin::SwapBytes(&batch_, bytes_);
  }
  ~LentBatch() { BatchOrigin::SwapBytes(&batch_, bytes_); }
  LentBatch(const LentBatch&) = delete;
  LentBatch& operator=(const LentBatch&) = delete;

  const sepal::WriteBatch& batch() const { return batch_; }

 private:
  std::string* const bytes_;
  sepal::WriteBatch batch_;
};

}  // namespace

class Database::SnapshotOf final : public leveldb::Snapshot {
 public:
  explicit SnapshotOf(std::shared_ptr<const sepal::Snapshot> snapshot) : snapshot_(std::move(snapshot)) {}
  ~SnapshotOf() override = default;

  void Release() { snapshot_.reset(); }
  static ReadOptions Options(const leveldb::ReadOptions& options) {
    const auto* const snapshot = static_cast<const SnapshotOf*>(options.snapshot);
    return {.snapshot = snapshot == nullptr ? nullptr : snapshot->snapshot_.get(), .fill_cache = options.fill_cache};
  }

 private:
  std::shared_ptr<const sepal::Snapshot> snapshot_;  // null: it was released
};

Database::Database(std::unique_ptr<sepal::DB> db, std::unique_ptr<const ComparatorOfProgram> comparator)
    : comparator_(std::move(comparator)), db_(std::move(db)) {}

Database::~Database() { db_->Close().IgnoreError(); }

Status Database::Put(const leveldb::WriteOptions& options, const Slice& key, const Slice& value) {
  return ToStatus(db_->Put(View(key), View(value), {.sync = options.sync}));
}

Status Database::Delete(const leveldb::WriteOptions& options, const Slice& key) {
  return ToStatus(db_->Delete(View(key), {.sync = options.sync}));
}

Status Database::Write(const leveldb::WriteOptions& options, leveldb::WriteBatch* updates) {
  if (updates == nullptr) return options.sync ? ToStatus(db_->Sync()) : Status();
  const LentBatch lent(updates);
  return ToStatus(db_->Write(lent.batch(), {.sync = options.sync}));
}

Status Database::Get(const leveldb::ReadOptions& options, const Slice& key, std::string* value) {
  PinnedValue pinned;
  const bool plain = options.snapshot == nullptr && options.fill_cache;
  const absl::Status status =
      plain ? db_->Get(View(key), pinned) : db_->Get(View(key), pinned, SnapshotOf::Options(options));
  if (absl::IsNotFound(status)) return Status::NotFound(Slice());
  if (status.ok()) value->assign(pinned.value());
  return ToStatus(status);
}

leveldb::Iterator* Database::NewIterator(const leveldb::ReadOptions& options) {
  return new IteratorOf(db_->NewIterator(SnapshotOf::Options(options)));
}

const leveldb::Snapshot* Database::GetSnapshot() { return new SnapshotOf(db_->GetSnapshot()); }

void Database::ReleaseSnapshot(const leveldb::Snapshot* snapshot) {
  std::unique_ptr<SnapshotOf> released(const_cast<SnapshotOf*>(static_cast<const SnapshotOf*>(snapshot)));
  released->Release();
  MutexLock lock(&mutex_);
  released_.push_back(std::move(released));
  if (released_.size() > kReleasedSnapshots) released_.pop_front();
}

uint64_t Database::Number(std::string_view property) {
  uint64_t number = 0;
  const std::string text = db_->GetProperty(property).value_or("0");
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

bool Database::FilesAtLevel(std::string_view digits, std::string* value) {
  int level = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), level);
  if (error != std::errc() || end != digits.data() + digits.size() || level < 0 || level >= kLevels) return false;
  uint64_t files = Number(absl::StrCat("sepal.num-files-at-level", level));
  if (level == kLevels - 1) files += Number(absl::StrCat("sepal.num-files-at-level", kLevels));
  *value = absl::StrCat(files);
  return true;
}

bool Database::GetProperty(const Slice& property, std::string* value) {
  constexpr std::string_view kPrefix = "leveldb.";
  constexpr std::string_view kFilesAtLevel = "num-files-at-level";
  value->clear();
  std::string_view name = View(property);
  if (!name.starts_with(kPrefix)) return false;
  name.remove_prefix(kPrefix.size());
  if (name.starts_with(kFilesAtLevel)) return FilesAtLevel(name.substr(kFilesAtLevel.size()), value);
  if (name == "stats") {
    *value = db_->GetProperty("sepal.stats").value_or("");
  } else if (name == "approximate-memory-usage") {
    *value = absl::StrCat(Number("sepal.memtable-bytes") + Number("sepal.block-cache-bytes"));
  } else if (name == "sstables") {
    // The headings that programs look for, followed by Sepal's statistics.
    for (int level = 0; level < kLevels; ++level) absl::StrAppend(value, "--- level ", level, " ---\n");
    value->append(db_->GetProperty("sepal.sstables").value_or(""));
  } else {
    return false;
  }
  return true;
}

void Database::GetApproximateSizes(const leveldb::Range* range, int count, uint64_t* sizes) {
  std::vector<sepal::Range> ranges;
  for (int i = 0; i < count; ++i) ranges.push_back({View(range[i].start), View(range[i].limit)});
  const auto found = db_->GetApproximateSizes(ranges);
  for (size_t i = 0; i < ranges.size(); ++i) sizes[i] = found.ok() ? (*found)[i] : 0;
}

void Database::CompactRange(const Slice* begin, const Slice* end) {
  CompactRangeOptions options;
  if (begin != nullptr) options.begin = begin->ToString();
  if (end != nullptr) options.end = end->ToString();
  db_->CompactRange(options).IgnoreError();  // LevelDB's has no result either
}

}  // namespace sepal::compat

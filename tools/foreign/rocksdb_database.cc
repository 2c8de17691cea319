#include <rocksdb/db.h>
#include <rocksdb/env.h>

#include "tools/foreign/foreign_database.h"

namespace sepal::tools {
namespace {

std::string_view View(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }
rocksdb::Slice RockSlice(std::string_view view) { return {view.data(), view.size()}; }

absl::Status FromRocksDb(const rocksdb::Status& status) {
  if (status.ok()) return absl::OkStatus();
  if (status.IsCorruption()) return absl::DataLossError("RocksDB says: " + status.ToString());
  return absl::InternalError("RocksDB says: " + status.ToString());
}

// Else RocksDB begins a LOG in the source.
class SilentLogger final : public rocksdb::Logger {
 public:
  using rocksdb::Logger::Logv;
  void Logv(const char*, va_list) override {}
};

class RocksDbCursor final : public ForeignCursor {
 public:
  explicit RocksDbCursor(rocksdb::Iterator* iterator) : iterator_(iterator) { iterator_->SeekToFirst(); }
  bool Valid() const override { return iterator_->Valid(); }
  void Next() override { iterator_->Next(); }
  std::string_view key() const override { return View(iterator_->key()); }
  std::string_view value() const override { return View(iterator_->value()); }
  absl::Status status() const override { return FromRocksDb(iterator_->status()); }

 private:
  const std::unique_ptr<rocksdb::Iterator> iterator_;
};

class RocksDb final : public ForeignDatabase {
 public:
  ~RocksDb() override {
    for (rocksdb::ColumnFamilyHandle* handle : handles_) db_->DestroyColumnFamilyHandle(handle).PermitUncheckedError();
  }

  absl::Status Open(const std::string& path) {
    rocksdb::DBOptions options;
    options.info_log = std::make_shared<SilentLogger>();
    // More than a merge of all files wants at a time; RocksDB opens the others anew.
    options.max_open_files = 512;
    rocksdb::Status status = rocksdb::DB::ListColumnFamilies(options, path, &families_);
    if (!status.ok()) return FromRocksDb(status);
    std::vector<rocksdb::ColumnFamilyDescriptor> descriptors;
    for (const std::string& name : families_) descriptors.emplace_back(name, rocksdb::ColumnFamilyOptions());
    rocksdb::DB* opened = nullptr;
    status = rocksdb::DB::OpenForReadOnly(options, path, descriptors, &handles_, &opened);
    db_.reset(opened);
    return FromRocksDb(status);
  }

  const std::vector<std::string>& column_families() const override { return families_; }
  std::unique_ptr<ForeignCursor> NewCursor(size_t family) override {
    rocksdb::ReadOptions options;
    options.verify_checksums = true;
    options.fill_cache = false;
    options.total_order_seek = true;
    return std::make_unique<RocksDbCursor>(db_->NewIterator(options, handles_[family]));
  }
  uint64_t BytesBefore(size_t family, std::string_view key) override {
    const rocksdb::Range range("", RockSlice(key));
    uint64_t bytes = 0;
    db_->GetApproximateSizes(handles_[family], &range, 1, &bytes);
    return bytes;
  }
  uint64_t BytesInAll(size_t family) override {
    rocksdb::ReadOptions options;
    options.total_order_seek = true;
    const std::unique_ptr<rocksdb::Iterator> it(db_->NewIterator(options, handles_[family]));
    it->SeekToLast();
    return it->Valid() ? BytesBefore(family, std::string(View(it->key())) + '\xff') : 0;
  }

 private:
  std::vector<std::string> families_;
  std::vector<rocksdb::ColumnFamilyHandle*> handles_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ForeignDatabase>> OpenRocksDb(const std::string& path) {
  auto database = std::make_unique<RocksDb>();
  if (absl::Status opened = database->Open(path); !opened.ok()) return opened;
  return database;
}

}  // namespace sepal::tools

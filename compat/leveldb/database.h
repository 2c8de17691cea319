// leveldb::DB over sepal::DB: the default column family.
#pragma once

#include <leveldb/db.h>

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "compat/leveldb/comparator.h"
#include "sepal/db.h"
#include "util/thread/sync.h"

namespace sepal::compat {

class Database final : public leveldb::DB {
 public:
  // `comparator`: the program's own, if it has one.
  Database(std::unique_ptr<sepal::DB> db, std::unique_ptr<const ComparatorOfProgram> comparator);
  ~Database() override;

  leveldb::Status Put(const leveldb::WriteOptions& options, const leveldb::Slice& key,
                      const leveldb::Slice& value) override;
  leveldb::Status Delete(const leveldb::WriteOptions& options, const leveldb::Slice& key) override;
  leveldb::Status Write(const leveldb::WriteOptions& options, leveldb::WriteBatch* updates) override;
  leveldb::Status Get(const leveldb::ReadOptions& options, const leveldb::Slice& key, std::string* value) override;
  leveldb::Iterator* NewIterator(const leveldb::ReadOptions& options) override;
  const leveldb::Snapshot* GetSnapshot() override;
  void ReleaseSnapshot(const leveldb::Snapshot* snapshot) override;
  bool GetProperty(const leveldb::Slice& property, std::string* value) override;
  void GetApproximateSizes(const leveldb::Range* range, int count, uint64_t* sizes) override;
  void CompactRange(const leveldb::Slice* begin, const leveldb::Slice* end) override;

 private:
  class SnapshotOf;

  uint64_t Number(std::string_view property);
  bool FilesAtLevel(std::string_view digits, std::string* value);

  const std::unique_ptr<const ComparatorOfProgram> comparator_;
  const std::unique_ptr<sepal::DB> db_;
  // Some programs use a released snapshot, which works with LevelDB: the last ones are kept as empty objects that read
  // the newest state.
  Mutex mutex_;
  std::deque<std::unique_ptr<SnapshotOf>> released_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace sepal::compat

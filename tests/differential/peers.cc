// Sepal beside LevelDB and RocksDB: the harness of the program `reliability_peers`.
#include <leveldb/db.h>
#include <leveldb/write_batch.h>
#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/str_format.h"
#include "tests/differential/operations.h"
#include "tests/reliability/harness.h"
#include "util/base/check.h"
#include "util/base/hash.h"

namespace sepal::reliability {

namespace {

// What differs between the two.
struct LevelDb {
  using Db = leveldb::DB;
  using Snapshot = leveldb::Snapshot;
  using Batch = leveldb::WriteBatch;
  using ReadOptions = leveldb::ReadOptions;
  using WriteOptions = leveldb::WriteOptions;
  static constexpr const char* kName = "leveldb";
  static leveldb::Status Open(const std::string& path, Db** db) {
    leveldb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = 64 << 10;
    return Db::Open(options, path, db);
  }
  static leveldb::Status Flush(Db*) { return leveldb::Status::OK(); }
  static void Compact(Db* db, const leveldb::Slice& begin, const leveldb::Slice& end) {
    db->CompactRange(&begin, &end);
  }
};

struct RocksDb {
  using Db = rocksdb::DB;
  using Snapshot = rocksdb::Snapshot;
  using Batch = rocksdb::WriteBatch;
  using ReadOptions = rocksdb::ReadOptions;
  using WriteOptions = rocksdb::WriteOptions;
  static constexpr const char* kName = "rocksdb";
  static rocksdb::Status Open(const std::string& path, Db** db) {
    rocksdb::Options options;
    options.create_if_missing = true;
    options.write_buffer_size = 64 << 10;
    return Db::Open(options, path, db);
  }
  static rocksdb::Status Flush(Db* db) { return db->Flush(rocksdb::FlushOptions()); }
  static void Compact(Db* db, const rocksdb::Slice& begin, const rocksdb::Slice& end) {
    (void)db->CompactRange(rocksdb::CompactRangeOptions(), &begin, &end);
  }
};

std::string MakeDirectory() {
  std::string path = std::filesystem::exists("/dev/shm") ? "/dev/shm/sepal_peer_XXXXXX" : "/tmp/sepal_peer_XXXXXX";
  SEPAL_CHECK(::mkdtemp(path.data()) != nullptr);
  return path;
}

template <typename Kind>
class PeerSubject final : public Subject {
 public:
  PeerSubject() { Open(); }
  ~PeerSubject() override {
    LetSnapshotsGo();
    db_.reset();
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  void Write(const std::vector<Update>& batch, bool) override {
    typename Kind::Batch updates;
    for (const Update& update : batch) {
      if (update.value.has_value()) {
        (void)updates.Put(update.key, *update.value);
      } else {
        (void)updates.Delete(update.key);
      }
    }
    Note(db_->Write(typename Kind::WriteOptions(), &updates));
  }
  std::optional<std::string> Get(const std::string& key, int snapshot) override {
    std::string value;
    const auto status = db_->Get(At(snapshot), key, &value);
    if (status.IsNotFound()) return std::nullopt;
    Note(status);
    return value;
  }
  Entries Scan(const std::string& begin, const std::string& end, bool backwards, size_t limit, int snapshot) override {
    Entries entries;
    const auto it = Own(db_->NewIterator(At(snapshot)));
    if (!backwards) {
      for (it->Seek(begin); it->Valid() && it->key().compare(end) < 0 && entries.size() < limit; it->Next()) {
        entries.emplace_back(it->key().ToString(), it->value().ToString());
      }
      return entries;
    }
    it->Seek(end);
    it->Valid() ? it->Prev() : it->SeekToLast();
    for (; it->Valid() && it->key().compare(begin) >= 0 && entries.size() < limit; it->Prev()) {
      entries.emplace_back(it->key().ToString(), it->value().ToString());
    }
    Note(it->status());
    return entries;
  }
  void TakeSnapshot() override { snapshots_.push_back(db_->GetSnapshot()); }
  void LetSnapshotsGo() override {
    for (const auto* snapshot : snapshots_) db_->ReleaseSnapshot(snapshot);
    snapshots_.clear();
  }
  void Flush() override { Note(Kind::Flush(db_.get())); }
  void Compact(const std::string& begin, const std::string& end) override { Kind::Compact(db_.get(), begin, end); }
  void Reopen() override {
    db_.reset();
    Open();
  }

 private:
  void Open() {
    typename Kind::Db* opened = nullptr;
    Note(Kind::Open(path_, &opened));
    db_.reset(opened);
  }
  template <typename T>
  static std::unique_ptr<T> Own(T* made) {
    return std::unique_ptr<T>(made);
  }
  typename Kind::ReadOptions At(int snapshot) const {
    typename Kind::ReadOptions options;
    if (snapshot != kNow) options.snapshot = snapshots_[static_cast<size_t>(snapshot)];
    return options;
  }
  template <typename Status>
  void Note(const Status& status) {
    if (!status.ok() && error.empty()) error = absl::StrFormat("%s: %s", Kind::kName, status.ToString());
  }

  const std::string path_ = MakeDirectory();
  std::unique_ptr<typename Kind::Db> db_;
  std::vector<const typename Kind::Snapshot*> snapshots_;
};

void SearchDifferences(Search* search) {
  constexpr int kOperations = 600;
  ForEachSeed(search, [search](uint64_t seed) {
    const std::unique_ptr<Subject> sepal = MakeSepalSubject(seed, /*wander=*/true);
    const std::vector<uint64_t> got = RunOperations(seed, kOperations, sepal.get());
    if (!sepal->error.empty()) search->Fail(sepal->error);
    PeerSubject<LevelDb> leveldb;
    const std::string unlike_leveldb = Compare(RunOperations(seed, kOperations, &leveldb), got, leveldb);
    if (!unlike_leveldb.empty()) search->Fail("beside LevelDB: " + unlike_leveldb);
    PeerSubject<RocksDb> rocksdb;
    const std::string unlike_rocksdb = Compare(RunOperations(seed, kOperations, &rocksdb), got, rocksdb);
    if (!unlike_rocksdb.empty()) search->Fail("beside RocksDB: " + unlike_rocksdb);
    search->Count(Mix64(seed));
    search->Add("operations", kOperations);
  });
}

}  // namespace

std::vector<Harness> AllHarnesses() {
  return {{"differential", "the same operations on Sepal, LevelDB and RocksDB", SearchDifferences}};
}

}  // namespace sepal::reliability

// A program that uses LevelDB's C++ interface at random, and prints what it got: with LevelDB and with Sepal's
// libleveldb it must print the same. LevelDB's repair brings overwritten values back now and then, so that there is
// none here.
//   transcript SEED DIRECTORY
#include <leveldb/cache.h>
#include <leveldb/comparator.h>
#include <leveldb/db.h>
#include <leveldb/env.h>
#include <leveldb/filter_policy.h>
#include <leveldb/helpers/memenv.h>
#include <leveldb/write_batch.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace {

using leveldb::DB;
using leveldb::Iterator;
using leveldb::Options;
using leveldb::ReadOptions;
using leveldb::Slice;
using leveldb::Snapshot;
using leveldb::Status;
using leveldb::WriteBatch;
using leveldb::WriteOptions;

// From the last byte to the first, so that neighbours of the bytewise order are none here.
class BackwardOrder final : public leveldb::Comparator {
 public:
  int Compare(const Slice& a, const Slice& b) const override {
    const std::string left(a.data(), a.size()), right(b.data(), b.size());
    return std::string(left.rbegin(), left.rend()).compare(std::string(right.rbegin(), right.rend()));
  }
  const char* Name() const override { return "test.BackwardOrder"; }
  void FindShortestSeparator(std::string*, const Slice&) const override {}
  void FindShortSuccessor(std::string*) const override {}
};

class PrintingHandler final : public WriteBatch::Handler {
 public:
  void Put(const Slice& key, const Slice& value) override {
    std::printf("  put %s %zu\n", key.ToString().c_str(), value.size());
  }
  void Delete(const Slice& key) override { std::printf("  delete %s\n", key.ToString().c_str()); }
};

// What is logged differs; that something can be is the point.
class CountingLogger final : public leveldb::Logger {
 public:
  void Logv(const char*, std::va_list) override { ++lines; }
  int lines = 0;
};

class Session {
 public:
  Session(uint64_t seed, std::string directory)
      : random_(seed), directory_(std::move(directory)), cache_(leveldb::NewLRUCache(size_t{1} << 20)) {
    options_.create_if_missing = true;
    options_.write_buffer_size = 64 << 10;
    options_.block_cache = cache_.get();
    if (OneIn(2)) bloom_.reset(leveldb::NewBloomFilterPolicy(10));
    options_.filter_policy = bloom_.get();
    if (OneIn(3)) options_.comparator = &backward_;
    if (OneIn(3)) options_.info_log = &logger_;
    if (OneIn(4)) options_.compression = leveldb::kNoCompression;
    if (OneIn(5))
      options_.env = (memory_ = std::unique_ptr<leveldb::Env>(leveldb::NewMemEnv(leveldb::Env::Default()))).get();
  }
  ~Session() { Close(); }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void Run(int steps) {
    Open();
    for (step_ = 0; step_ < steps && db_ != nullptr; ++step_) Step();
    Everything(ReadOptions());
  }

 private:
  using Action = void (Session::*)();

  bool OneIn(uint64_t n) { return random_() % n == 0; }
  std::string Key() { return "key" + std::to_string(random_() % 200); }
  std::string Value() {
    const size_t sizes[] = {0, 1, 20, 300, 5000};
    return std::string(sizes[random_() % 5], static_cast<char>('a' + random_() % 26));
  }
  void Say(const char* what, const Status& status) {
    std::printf("%d %s: %s\n", step_, what, status.ToString().c_str());
  }

  void Open() {
    DB* db = nullptr;
    Say("open", DB::Open(options_, directory_, &db));
    db_.reset(db);
  }
  void Close() {
    for (const Snapshot* const snapshot : snapshots_) db_->ReleaseSnapshot(snapshot);
    snapshots_.clear();
    db_.reset();
  }
  ReadOptions Read() {
    ReadOptions options;
    options.verify_checksums = OneIn(2);
    options.fill_cache = OneIn(2);
    if (!snapshots_.empty() && OneIn(2)) options.snapshot = snapshots_[random_() % snapshots_.size()];
    return options;
  }

  void Step() {
    static constexpr Action kActions[] = {
        &Session::Put,          &Session::Put,          &Session::Put,        &Session::Delete, &Session::Batch,
        &Session::Batch,        &Session::Get,          &Session::Get,        &Session::Walk,   &Session::Walk,
        &Session::TakeSnapshot, &Session::DropSnapshot, &Session::Properties, &Session::Rarely};
    (this->*kActions[random_() % std::size(kActions)])();
  }
  void Put() {
    WriteOptions options;
    options.sync = OneIn(20);
    const std::string key = Key();
    Say(key.c_str(), db_->Put(options, key, Value()));
  }
  void Delete() { Say("delete", db_->Delete(WriteOptions(), Key())); }
  void Batch() {
    WriteBatch batch;
    Fill(&batch);
    if (OneIn(3)) {
      WriteBatch more;
      Fill(&more);
      batch.Append(more);
    }
    if (OneIn(8)) batch.Clear();
    const WriteBatch copy = batch;
    std::printf("%d batch of %zu\n", step_, copy.ApproximateSize());
    PrintingHandler handler;
    Say("iterate", copy.Iterate(&handler));
    Say("write", db_->Write(WriteOptions(), &batch));
    if (OneIn(3)) Say("again", db_->Write(WriteOptions(), &batch));
  }
  void Fill(WriteBatch* batch) {
    for (uint64_t i = random_() % 20; i > 0; --i) {
      if (OneIn(3)) {
        batch->Delete(Key());
      } else {
        const std::string key = Key();
        batch->Put(key, Value());
      }
    }
  }
  void Get() {
    std::string value = "as it was";
    const ReadOptions options = Read();
    const Status status = db_->Get(options, Key(), &value);
    std::printf("%d get: %s, %zu of %s\n", step_, status.ToString().c_str(), value.size(), value.substr(0, 9).c_str());
  }
  static void Entry(const Iterator& it) {
    std::printf("  %s %zu %.1s\n", it.key().ToString().c_str(), it.value().size(), it.value().ToString().c_str());
  }
  void Walk() {
    const ReadOptions options = Read();
    const std::unique_ptr<Iterator> it(db_->NewIterator(options));
    std::printf("%d walk\n", step_);
    const uint64_t begin = random_() % 3;
    if (begin == 0) it->SeekToFirst();
    if (begin == 1) it->SeekToLast();
    if (begin == 2) it->Seek(Key());
    for (uint64_t i = random_() % 30; i > 0 && it->Valid(); --i) {
      Entry(*it);
      OneIn(2) ? it->Next() : it->Prev();
    }
    std::printf("  ends %s: %s\n", it->Valid() ? "at an entry" : "nowhere", it->status().ToString().c_str());
  }
  void Everything(const ReadOptions& options) {
    if (db_ == nullptr) return;
    const std::unique_ptr<Iterator> it(db_->NewIterator(options));
    std::printf("everything\n");
    for (it->SeekToFirst(); it->Valid(); it->Next()) Entry(*it);
    Say("end", it->status());
    for (it->SeekToLast(); it->Valid(); it->Prev()) Entry(*it);
  }
  void TakeSnapshot() {
    if (snapshots_.size() < 5) snapshots_.push_back(db_->GetSnapshot());
  }
  void DropSnapshot() {
    if (snapshots_.empty()) return;
    db_->ReleaseSnapshot(snapshots_.back());
    snapshots_.pop_back();
  }
  void Properties() {
    for (const char* const name :
         {"leveldb.stats", "leveldb.sstables", "leveldb.num-files-at-level0", "leveldb.num-files-at-level6",
          "leveldb.num-files-at-level7", "leveldb.num-files-at-level", "leveldb.num-files-at-level01",
          "leveldb.num-files-at-level1 ", "leveldb.approximate-memory-usage", "leveldb.nothing", "stats", ""}) {
      std::string value = "as it was";
      const bool known = db_->GetProperty(name, &value);
      std::printf("%s: %d %d\n", name, known, value.empty());
    }
  }
  void Rarely() {
    switch (random_() % 12) {
      case 0:
        db_->CompactRange(nullptr, nullptr);
        return Everything(Read());
      case 1: {
        const std::string begin = Key(), end = Key();
        const Slice from(begin), to(end);
        db_->CompactRange(&from, &to);
        return;
      }
      case 2: {
        const leveldb::Range ranges[] = {{"", "zzz"}, {"a", "b"}};
        uint64_t sizes[] = {1, 1};
        db_->GetApproximateSizes(ranges, 2, sizes);
        return;
      }
      case 3:
      case 4:
        Close();
        Open();
        return Everything(ReadOptions());
      case 5:
        if (!OneIn(4)) return;
        Close();
        Say("destroy", leveldb::DestroyDB(directory_, options_));
        return Open();
      default:
        return Everything(Read());
    }
  }

  std::mt19937_64 random_;
  const std::string directory_;
  const BackwardOrder backward_;
  CountingLogger logger_;
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<const leveldb::FilterPolicy> bloom_;
  std::unique_ptr<leveldb::Env> memory_;
  Options options_;
  int step_ = 0;
  std::unique_ptr<DB> db_;
  std::vector<const Snapshot*> snapshots_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  Session(std::strtoull(argv[1], nullptr, 10), argv[2]).Run(/*steps=*/400);
}

// LevelDB 1.23. It has no call that waits for background work, and only an implicit flush: `CompactRange` over a range
// without keys writes the memtable; then the process is watched until its CPU time has not changed for half a second.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/compare/engine.h"
#include "leveldb/cache.h"
#include "leveldb/db.h"
#include "leveldb/env.h"
#include "leveldb/filter_policy.h"
#include "leveldb/write_batch.h"
#include "tools/db_bench/process_metrics.h"
#include "tools/terminal/latency.h"
#include "util/base/strings.h"

namespace sepal::compare {
namespace {

leveldb::Slice ToSlice(std::string_view s) { return leveldb::Slice(s.data(), s.size()); }
std::string_view ToView(const leveldb::Slice& s) { return std::string_view(s.data(), s.size()); }

leveldb::ReadOptions VerifyingReads() {
  leveldb::ReadOptions options;
  options.verify_checksums = true;
  return options;
}

class LevelDbCursor final : public Cursor {
 public:
  explicit LevelDbCursor(leveldb::DB* db) : it_(db->NewIterator(VerifyingReads())) {}
  void SeekToFirst() override { it_->SeekToFirst(); }
  void SeekToLast() override { it_->SeekToLast(); }
  void Seek(std::string_view target) override { it_->Seek(ToSlice(target)); }
  void Next() override { it_->Next(); }
  void Prev() override { it_->Prev(); }
  bool Valid() override {
    if (it_->Valid()) [[likely]]
      return true;
    Require(it_->status(), "leveldb iterator");
    return false;
  }
  std::string_view key() override { return ToView(it_->key()); }
  std::string_view value() override { return ToView(it_->value()); }

 private:
  std::unique_ptr<leveldb::Iterator> it_;
};

class LevelDbSession final : public Session {
 public:
  explicit LevelDbSession(leveldb::DB* db) : db_(db), read_options_(VerifyingReads()) {}

  void Put(std::string_view key, std::string_view value, bool sync) override {
    leveldb::WriteOptions options;
    options.sync = sync;
    Require(db_->Put(options, ToSlice(key), ToSlice(value)), "leveldb Put");
  }
  void PutBatch(std::span<const Entry> entries) override {
    batch_.Clear();
    for (const Entry& entry : entries) batch_.Put(ToSlice(entry.key), ToSlice(entry.value));
    Require(db_->Write({}, &batch_), "leveldb Write");
  }
  void Delete(std::string_view key) override { Require(db_->Delete({}, ToSlice(key)), "leveldb Delete"); }
  bool Get(std::string_view key, std::string_view* value) override {
    const leveldb::Status status = db_->Get(read_options_, ToSlice(key), &value_);
    if (status.ok()) {
      *value = value_;
      return true;
    }
    if (!status.IsNotFound()) Fail("leveldb Get", status.ToString());
    return false;
  }
  size_t MultiGet(std::span<const std::string_view> keys, std::span<std::string_view> values) override {
    if (values_.size() < keys.size()) values_.resize(keys.size());
    size_t found = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      const leveldb::Status status = db_->Get(read_options_, ToSlice(keys[i]), &values_[i]);
      if (!status.ok() && !status.IsNotFound()) Fail("leveldb Get", status.ToString());
      values[i] = status.ok() ? std::string_view(values_[i]) : std::string_view();
      found += status.ok() ? 1 : 0;
    }
    return found;
  }
  std::unique_ptr<Cursor> NewCursor() override { return std::make_unique<LevelDbCursor>(db_); }

 private:
  leveldb::DB* const db_;
  const leveldb::ReadOptions read_options_;
  leveldb::WriteBatch batch_;
  std::string value_;
  std::vector<std::string> values_;
};

// A full memtable becomes immutable, and stays where it is; the next one has room for as much.
class IdleEnv final : public leveldb::EnvWrapper {
 public:
  IdleEnv() : EnvWrapper(leveldb::Env::Default()) {}
  void Schedule(void (*)(void*), void*) override {}
};

// Of the property leveldb.stats, a line for each level: level, files, MB, seconds, MB read, MB written.
uint64_t WrittenBytes(const std::string& stats) {
  uint64_t mebibytes = 0;
  std::istringstream lines(stats);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    double level = 0, files = 0, size = 0, seconds = 0, read = 0;
    uint64_t written = 0;
    if (fields >> level >> files >> size >> seconds >> read >> written) mebibytes += written;
  }
  return mebibytes << 20;
}

class LevelDbEngine final : public Engine {
 public:
  explicit LevelDbEngine(const EngineSettings& settings)
      : cache_bytes_(settings.memory_bytes),
        filter_bits_per_key_(static_cast<int>(std::lround(settings.filter_bits_per_key))),
        cache_(leveldb::NewLRUCache(settings.memory_bytes)),
        filter_(filter_bits_per_key_ > 0 ? leveldb::NewBloomFilterPolicy(filter_bits_per_key_) : nullptr) {
    options_.create_if_missing = true;
    options_.write_buffer_size = std::min(settings.memtable_bytes, kMostMemtableBytes);
    options_.block_cache = cache_.get();
    options_.filter_policy = filter_.get();
    options_.compression = settings.compress ? leveldb::kSnappyCompression : leveldb::kNoCompression;
    options_.max_file_size = size_t{32} << 20;
    if (settings.keep_in_log) options_.env = &idle_env_;
    leveldb::DB* db = nullptr;
    Require(leveldb::DB::Open(options_, settings.path, &db), "leveldb Open");
    db_.reset(db);
  }

  std::string DescribeSettings() const override {
    return absl::StrFormat(
        "leveldb %d.%d: write_buffer_size %s, block_cache %s (all of the memory; its memtables, indexes and filters "
        "come on top, in its favour), %s, block_size %d, max_file_size %s, "
        "verify_checksums on reads (as the others always do)",
        leveldb::kMajorVersion, leveldb::kMinorVersion, HumanBytes(options_.write_buffer_size),
        HumanBytes(cache_bytes_), DescribeTables(filter_bits_per_key_, options_.compression != leveldb::kNoCompression),
        options_.block_size, HumanBytes(options_.max_file_size));
  }
  std::unique_ptr<Session> NewSession() override { return std::make_unique<LevelDbSession>(db_.get()); }
  uint64_t FinishBackgroundWork() override {
    const leveldb::Slice beyond_all_keys("\xff\xff\xff\xff");
    db_->CompactRange(&beyond_all_keys, &beyond_all_keys);
    uint64_t last_activity = tools::NowNanos();
    uint64_t cpu = tools::ProcessCpuNanos();
    while (tools::NowNanos() - last_activity < kQuietNanos) {
      usleep(10'000);
      const uint64_t cpu_now = tools::ProcessCpuNanos();
      // The watching itself takes some microseconds.
      if (cpu_now - cpu > 500'000) last_activity = tools::NowNanos();
      cpu = cpu_now;
    }
    return last_activity;
  }
  bool CompactAll() override {
    db_->CompactRange(nullptr, nullptr);
    return true;
  }
  // It does not count bytes written to the log.
  EngineCounters Counters() override {
    uint64_t runs = FilesAtLevel(0);
    for (int level = 1; level < kLevels; ++level) runs += FilesAtLevel(level) > 0 ? 1 : 0;
    return {.table_bytes = WrittenBytes(Property("leveldb.stats")), .log_bytes = std::nullopt, .runs = runs};
  }

 private:
  static constexpr uint64_t kQuietNanos = 500'000'000;
  // Its own bound; but it takes 2 GiB and more for a negative number, and makes them 64 KiB.
  static constexpr size_t kMostMemtableBytes = size_t{1} << 30;
  static constexpr int kLevels = 7;  // config::kNumLevels

  std::string Property(const std::string& name) {
    std::string text;
    if (!db_->GetProperty(name, &text)) Fail("leveldb has no property", name);
    return text;
  }
  uint64_t FilesAtLevel(int level) {
    return std::stoull(Property(absl::StrFormat("leveldb.num-files-at-level%d", level)));
  }

  const size_t cache_bytes_;
  const int filter_bits_per_key_;  // whole ones only
  std::unique_ptr<leveldb::Cache> cache_;
  std::unique_ptr<const leveldb::FilterPolicy> filter_;
  IdleEnv idle_env_;
  leveldb::Options options_;
  std::unique_ptr<leveldb::DB> db_;
};

}  // namespace

std::unique_ptr<Engine> OpenLevelDb(const EngineSettings& settings) {
  return std::make_unique<LevelDbEngine>(settings);
}

}  // namespace sepal::compare

// RocksDB. Debian's 7.8 has no WaitForCompact: after a flush its counters are polled each millisecond.
#include <unistd.h>

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/str_format.h"
#include "bench/compare/engine.h"
#include "rocksdb/cache.h"
#include "rocksdb/db.h"
#include "rocksdb/filter_policy.h"
#include "rocksdb/merge_operator.h"
#include "rocksdb/table.h"
#include "rocksdb/version.h"
#include "rocksdb/write_batch.h"
#include "rocksdb/write_buffer_manager.h"
#include "tools/terminal/latency.h"
#include "util/base/coding.h"
#include "util/base/strings.h"
#include "util/thread/sync.h"

namespace sepal::compare {
namespace {

rocksdb::Slice ToSlice(std::string_view s) { return rocksdb::Slice(s.data(), s.size()); }
std::string_view ToView(const rocksdb::Slice& s) { return std::string_view(s.data(), s.size()); }

// As RocksDB's own "uint64add", which its public headers leave out.
class AddCounters final : public rocksdb::AssociativeMergeOperator {
 public:
  const char* Name() const override { return "AddCounters"; }
  bool Merge(const rocksdb::Slice&, const rocksdb::Slice* existing, const rocksdb::Slice& operand, std::string* result,
             rocksdb::Logger*) const override {
    result->clear();
    PutFixed64(result, (existing != nullptr ? DecodeFixed64(existing->data()) : 0) + DecodeFixed64(operand.data()));
    return true;
  }
};

class RocksDbCursor final : public Cursor {
 public:
  explicit RocksDbCursor(rocksdb::DB* db) : it_(db->NewIterator({})) {}
  void SeekToFirst() override { it_->SeekToFirst(); }
  void SeekToLast() override { it_->SeekToLast(); }
  void Seek(std::string_view target) override { it_->Seek(ToSlice(target)); }
  void Next() override { it_->Next(); }
  void Prev() override { it_->Prev(); }
  bool Valid() override {
    if (it_->Valid()) [[likely]]
      return true;
    Require(it_->status(), "rocksdb iterator");
    return false;
  }
  std::string_view key() override { return ToView(it_->key()); }
  std::string_view value() override { return ToView(it_->value()); }

 private:
  std::unique_ptr<rocksdb::Iterator> it_;
};

class RocksDbSession final : public Session {
 public:
  explicit RocksDbSession(rocksdb::DB* db) : db_(db), family_(db->DefaultColumnFamily()) {}

  void Put(std::string_view key, std::string_view value, bool sync) override {
    rocksdb::WriteOptions options;
    options.sync = sync;
    Require(db_->Put(options, family_, ToSlice(key), ToSlice(value)), "rocksdb Put");
  }
  void PutBatch(std::span<const Entry> entries) override {
    batch_.Clear();
    for (const Entry& entry : entries) batch_.Put(family_, ToSlice(entry.key), ToSlice(entry.value));
    Require(db_->Write({}, &batch_), "rocksdb Write");
  }
  void Delete(std::string_view key) override { Require(db_->Delete({}, family_, ToSlice(key)), "rocksdb Delete"); }
  void Increment(std::string_view key, uint64_t by) override {
    char operand[8];
    EncodeFixed64(operand, by);
    Require(db_->Merge({}, family_, ToSlice(key), rocksdb::Slice(operand, sizeof operand)), "rocksdb Merge");
  }
  void DeleteRange(std::string_view begin, std::string_view end) override {
    Require(db_->DeleteRange({}, family_, ToSlice(begin), ToSlice(end)), "rocksdb DeleteRange");
  }
  bool Get(std::string_view key, std::string_view* value) override {
    pinned_.Reset();
    const rocksdb::Status status = db_->Get(read_options_, family_, ToSlice(key), &pinned_);
    if (status.ok()) {
      *value = ToView(pinned_);
      return true;
    }
    if (!status.IsNotFound()) Fail("rocksdb Get", status.ToString());
    return false;
  }
  size_t MultiGet(std::span<const std::string_view> keys, std::span<std::string_view> values) override {
    if (pins_.size() < keys.size()) {
      slices_.resize(keys.size());
      pins_ = std::vector<rocksdb::PinnableSlice>(keys.size());
      statuses_.resize(keys.size());
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      slices_[i] = ToSlice(keys[i]);
      pins_[i].Reset();
    }
    db_->MultiGet(read_options_, family_, keys.size(), slices_.data(), pins_.data(), statuses_.data());
    size_t found = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (!statuses_[i].ok() && !statuses_[i].IsNotFound()) Fail("rocksdb MultiGet", statuses_[i].ToString());
      values[i] = statuses_[i].ok() ? ToView(pins_[i]) : std::string_view();
      found += statuses_[i].ok() ? 1 : 0;
    }
    return found;
  }
  std::unique_ptr<Cursor> NewCursor() override { return std::make_unique<RocksDbCursor>(db_); }

 private:
  rocksdb::DB* const db_;
  rocksdb::ColumnFamilyHandle* const family_;
  const rocksdb::ReadOptions read_options_;
  rocksdb::WriteBatch batch_;
  rocksdb::PinnableSlice pinned_;
  std::vector<rocksdb::Slice> slices_;
  std::vector<rocksdb::PinnableSlice> pins_;
  std::vector<rocksdb::Status> statuses_;
};

class RocksDbEngine final : public Engine {
 public:
  explicit RocksDbEngine(const EngineSettings& settings)
      : cache_bytes_(settings.memory_bytes), filter_bits_per_key_(settings.filter_bits_per_key) {
    std::shared_ptr<rocksdb::Cache> cache = rocksdb::NewLRUCache(settings.memory_bytes);
    rocksdb::BlockBasedTableOptions table;
    table.block_cache = cache;
    table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(settings.filter_bits_per_key));
    table.format_version = 5;
    table.data_block_index_type = rocksdb::BlockBasedTableOptions::kDataBlockBinaryAndHash;
    table.data_block_hash_table_util_ratio = 0.75;

    options_.create_if_missing = true;
    options_.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));
    options_.write_buffer_size = settings.memtable_bytes;
    // Memtables are charged to the block cache, so that what they do not use caches blocks.
    options_.write_buffer_manager = std::make_shared<rocksdb::WriteBufferManager>(settings.memory_bytes, cache);
    options_.compression = settings.compress ? rocksdb::kSnappyCompression : rocksdb::kNoCompression;
    options_.use_direct_reads = settings.direct_reads;
    if (settings.counters) options_.merge_operator = std::make_shared<AddCounters>();
    if (settings.separate_from > 0) {
      options_.enable_blob_files = true;
      options_.min_blob_size = settings.separate_from;
      options_.enable_blob_garbage_collection = true;
      options_.blob_cache = cache;
    }
    // A quarter of the jobs are flushes, the others compactions: at least as many as cores, as Sepal's are.
    const int cores = std::max(1, Thread::HardwareConcurrency());
    options_.max_background_jobs = 2 * cores;
    options_.max_subcompactions = static_cast<uint32_t>(cores);
    options_.level_compaction_dynamic_level_bytes = true;
    options_.max_open_files = -1;
    options_.stats_dump_period_sec = 0;
    options_.stats_persist_period_sec = 0;
    rocksdb::DB* db = nullptr;
    Require(rocksdb::DB::Open(options_, settings.path, &db), "rocksdb Open");
    db_.reset(db);
  }
  ~RocksDbEngine() override { Require(db_->Close(), "rocksdb Close"); }

  std::string DescribeSettings() const override {
    return absl::StrFormat(
        "rocksdb %d.%d.%d: LRU block_cache %s with the memtables charged to it (write_buffer_manager), so that cache "
        "and memtables share the memory; indexes and filters on the heap beside it, in its favour; write_buffer_size "
        "%s x %d, %s, format_version 5, hash index in data blocks, max_background_jobs %d, max_subcompactions %d, "
        "level_compaction_dynamic_level_bytes, max_open_files -1, no statistics%s",
        ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH, HumanBytes(cache_bytes_), HumanBytes(options_.write_buffer_size),
        options_.max_write_buffer_number,
        DescribeTables(filter_bits_per_key_, options_.compression != rocksdb::kNoCompression),
        options_.max_background_jobs, options_.max_subcompactions,
        options_.enable_blob_files
            ? absl::StrFormat(", values of %u bytes and more in blob files, uncompressed, with garbage collection",
                              options_.min_blob_size)
            : "");
  }
  std::unique_ptr<Session> NewSession() override { return std::make_unique<RocksDbSession>(db_.get()); }
  uint64_t FinishBackgroundWork() override {
    Require(db_->Flush({}), "rocksdb Flush");
    uint64_t last_activity = tools::NowNanos();
    while (tools::NowNanos() - last_activity < kQuietNanos) {
      if (Busy()) last_activity = tools::NowNanos();
      usleep(1000);
    }
    return last_activity;
  }
  bool CompactAll() override {
    Require(db_->CompactRange({}, nullptr, nullptr), "rocksdb CompactRange");
    return true;
  }
  // Without a Statistics object, which would cost it time.
  EngineCounters Counters() override {
    const double table_gibibytes = std::stod(Property("rocksdb.cfstats", "compaction.Sum.WriteGB"));
    uint64_t runs = IntProperty("rocksdb.num-files-at-level0");
    for (int level = 1; level < db_->NumberLevels(); ++level) {
      runs += IntProperty(absl::StrFormat("rocksdb.num-files-at-level%d", level)) > 0 ? 1 : 0;
    }
    return {.table_bytes = static_cast<uint64_t>(table_gibibytes * (1 << 30)),
            .log_bytes = std::stoull(Property("rocksdb.dbstats", "db.wal_bytes_written")),
            .runs = runs};
  }

 private:
  static constexpr uint64_t kQuietNanos = 50'000'000;

  std::string Property(const std::string& map, const std::string& name) {
    std::map<std::string, std::string> properties;
    if (!db_->GetMapProperty(map, &properties) || !properties.contains(name)) Fail("rocksdb has no property", name);
    return properties[name];
  }
  uint64_t IntProperty(const std::string& name) {
    std::string text;
    if (!db_->GetProperty(name, &text)) Fail("rocksdb has no property", name);
    return std::stoull(text);
  }

  bool Busy() {
    for (const char* property : {"rocksdb.mem-table-flush-pending", "rocksdb.num-running-flushes",
                                 "rocksdb.compaction-pending", "rocksdb.num-running-compactions"}) {
      uint64_t number = 0;
      if (db_->GetIntProperty(property, &number) && number > 0) return true;
    }
    return false;
  }

  const size_t cache_bytes_;
  const double filter_bits_per_key_;
  rocksdb::Options options_;
  std::unique_ptr<rocksdb::DB> db_;
};

}  // namespace

std::unique_ptr<Engine> OpenRocksDb(const EngineSettings& settings) {
  EngineSettings all_inline = settings;
  all_inline.separate_from = 0;
  return std::make_unique<RocksDbEngine>(all_inline);
}
std::unique_ptr<Engine> OpenBlobDb(const EngineSettings& settings) { return std::make_unique<RocksDbEngine>(settings); }

}  // namespace sepal::compare

#include <vector>

#include "absl/strings/str_format.h"
#include "bench/compare/engine.h"
#include "sepal/db.h"
#include "sepal/merge_operator.h"
#include "tools/terminal/latency.h"
#include "util/base/coding.h"
#include "util/base/strings.h"

namespace sepal::compare {
namespace {

class SepalCursor final : public Cursor {
 public:
  explicit SepalCursor(DB* db) : it_(db->NewIterator()) {}
  void SeekToFirst() override { it_->SeekToFirst(); }
  void SeekToLast() override { it_->SeekToLast(); }
  void Seek(std::string_view target) override { it_->Seek(target); }
  void Next() override { it_->Next(); }
  void Prev() override { it_->Prev(); }
  bool Valid() override {
    if (it_->Valid()) [[likely]]
      return true;
    Require(it_->status(), "sepal iterator");
    return false;
  }
  std::string_view key() override { return it_->key(); }
  std::string_view value() override { return it_->value(); }

 private:
  std::unique_ptr<Iterator> it_;
};

class SepalSession final : public Session {
 public:
  explicit SepalSession(DB* db) : db_(db) {}

  void Put(std::string_view key, std::string_view value, bool sync) override {
    Require(db_->Put(key, value, {.sync = sync}), "sepal Put");
  }
  void PutBatch(std::span<const Entry> entries) override {
    batch_.Clear();
    for (const Entry& entry : entries) batch_.Put(entry.key, entry.value);
    Require(db_->Write(batch_), "sepal Write");
  }
  void Delete(std::string_view key) override { Require(db_->Delete(key), "sepal Delete"); }
  void Increment(std::string_view key, uint64_t by) override {
    char operand[8];
    EncodeFixed64(operand, by);
    Require(db_->Merge(key, {operand, sizeof operand}), "sepal Merge");
  }
  void DeleteRange(std::string_view begin, std::string_view end) override {
    Require(db_->DeleteRange(begin, end), "sepal DeleteRange");
  }
  bool Get(std::string_view key, std::string_view* value) override {
    const absl::Status status = db_->Get(key, pinned_);
    if (status.ok()) {
      *value = pinned_.value();
      return true;
    }
    if (!absl::IsNotFound(status)) Fail("sepal Get", status.ToString());
    return false;
  }
  size_t MultiGet(std::span<const std::string_view> keys, std::span<std::string_view> values) override {
    if (pins_.size() < keys.size()) {
      pins_.resize(keys.size());
      statuses_.resize(keys.size());
    }
    db_->MultiGet(keys, std::span(pins_).first(keys.size()), std::span(statuses_).first(keys.size())).IgnoreError();
    size_t found = 0;
    for (size_t i = 0; i < keys.size(); ++i) {
      if (statuses_[i].ok()) {
        ++found;
        values[i] = pins_[i].value();
      } else {
        if (!absl::IsNotFound(statuses_[i])) Fail("sepal MultiGet", statuses_[i].ToString());
        values[i] = {};
      }
    }
    return found;
  }
  std::unique_ptr<Cursor> NewCursor() override { return std::make_unique<SepalCursor>(db_); }

 private:
  DB* const db_;
  WriteBatch batch_;
  PinnedValue pinned_;
  std::vector<PinnedValue> pins_;
  std::vector<absl::Status> statuses_;
};

class SepalEngine final : public Engine {
 public:
  explicit SepalEngine(const EngineSettings& settings) {
    options_.create_if_missing = true;
    options_.memory_limit = settings.memory_bytes;
    options_.memtable_bytes = settings.memtable_bytes;
    options_.family.filter_policy = FilterPolicy::FromBitsPerKey(settings.filter_bits_per_key);
    options_.family.compression = settings.compress ? CompressionKind::kSnappy : CompressionKind::kNone;
    options_.family.separate_from = settings.separate_from;
    options_.direct_reads = settings.direct_reads;
    if (settings.counters) options_.family.merge_operator = MergeOperators::Add64();
    absl::StatusOr<std::unique_ptr<DB>> db = DB::Open(options_, settings.path);
    Require(db.status(), "sepal Open");
    db_ = std::move(*db);
  }
  ~SepalEngine() override { Require(db_->Close(), "sepal Close"); }

  std::string DescribeSettings() const override {
    const FilterPolicy& filter = options_.family.filter_policy;
    return absl::StrFormat(
        "sepal: memory_limit %s for everything (block cache = the limit less memtables, buffers and open tables), "
        "memtable_bytes %s, filters %.1f bits a key (lane %.1f + guard %.1f), %s, %d-byte blocks, lazy leveling, "
        "background threads = cores, %s; every read verifies checksums",
        HumanBytes(options_.memory_limit), HumanBytes(options_.memtable_bytes),
        filter.lane_bits_per_key + filter.guard_bits_per_key, filter.lane_bits_per_key, filter.guard_bits_per_key,
        options_.family.compression == CompressionKind::kNone ? "no compression" : "Snappy",
        options_.family.block_bytes,
        options_.family.separate_from == 0
            ? "values beside their keys"
            : absl::StrFormat("values of %u bytes and more in value files, each compressed by itself",
                              options_.family.separate_from));
  }
  std::unique_ptr<Session> NewSession() override { return std::make_unique<SepalSession>(db_.get()); }
  uint64_t FinishBackgroundWork() override {
    Require(db_->Flush(), "sepal Flush");
    Require(db_->WaitForBackgroundWork(), "sepal WaitForBackgroundWork");
    return tools::NowNanos();
  }
  bool CompactAll() override {
    Require(db_->Flush(), "sepal Flush");
    Require(db_->CompactRange(), "sepal CompactRange");
    return true;
  }
  EngineCounters Counters() override {
    const Statistics& statistics = db_->statistics();
    return {.table_bytes = statistics.Get(Ticker::kFlushBytes) + statistics.Get(Ticker::kCompactionWriteBytes) +
                           statistics.Get(Ticker::kValueBytes) + statistics.Get(Ticker::kValueBytesMoved),
            .log_bytes = statistics.Get(Ticker::kLogBytes),
            .runs = std::stoull(db_->GetProperty("sepal.num-runs").value())};
  }

 private:
  Options options_;
  std::unique_ptr<DB> db_;
};

}  // namespace

std::unique_ptr<Engine> OpenSepal(const EngineSettings& settings) { return std::make_unique<SepalEngine>(settings); }
std::unique_ptr<Engine> OpenSepalInline(const EngineSettings& settings) {
  EngineSettings all_inline = settings;
  all_inline.separate_from = 0;
  return OpenSepal(all_inline);
}

}  // namespace sepal::compare

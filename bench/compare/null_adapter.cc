// An engine that does nothing, to measure the driver's own cost.
#include "absl/strings/str_format.h"
#include "bench/compare/engine.h"
#include "tools/db_bench/workload.h"
#include "tools/terminal/latency.h"

namespace sepal::compare {
namespace {

class NullCursor final : public Cursor {
 public:
  explicit NullCursor(uint64_t entries) : entries_(entries) {}
  void SeekToFirst() override { position_ = 0; }
  void SeekToLast() override { position_ = entries_ - 1; }
  void Seek(std::string_view target) override { position_ = target.empty() ? 0 : entries_ / 2; }
  void Next() override { position_ = position_ + 1 < entries_ ? position_ + 1 : 0; }
  void Prev() override { position_ = position_ > 0 ? position_ - 1 : entries_ - 1; }
  bool Valid() override { return true; }
  std::string_view key() override { return "0000000000000000"; }
  std::string_view value() override { return "value"; }

 private:
  const uint64_t entries_;
  uint64_t position_ = 0;
};

class NullSession final : public Session {
 public:
  explicit NullSession(uint64_t entries) : entries_(entries) {}
  void Put(std::string_view, std::string_view, bool) override {}
  void PutBatch(std::span<const Entry>) override {}
  void Delete(std::string_view) override {}
  void Increment(std::string_view, uint64_t) override {}
  void DeleteRange(std::string_view, std::string_view) override {}
  bool Get(std::string_view key, std::string_view* value) override {
    *value = "value";
    return key.back() != '.';  // the driver's missing keys end so
  }
  size_t MultiGet(std::span<const std::string_view> keys, std::span<std::string_view> values) override {
    for (size_t i = 0; i < keys.size(); ++i) values[i] = "value";
    return keys.size();
  }
  std::unique_ptr<Cursor> NewCursor() override { return std::make_unique<NullCursor>(entries_); }

 private:
  const uint64_t entries_;
};

class NullEngine final : public Engine {
 public:
  explicit NullEngine(uint64_t entries) : entries_(entries) {}
  std::string DescribeSettings() const override { return "null: does nothing; its figures are the driver's own cost"; }
  std::unique_ptr<Session> NewSession() override { return std::make_unique<NullSession>(entries_); }
  uint64_t FinishBackgroundWork() override { return tools::NowNanos(); }
  bool CompactAll() override { return false; }
  EngineCounters Counters() override { return {}; }

 private:
  const uint64_t entries_;
};

}  // namespace

std::unique_ptr<Engine> OpenNull(const EngineSettings& settings) {
  return std::make_unique<NullEngine>(settings.entries);
}

}  // namespace sepal::compare

// Random batches over a random database against a model, in two families of the same keys: puts, with and without a
// time to live, deletes, merges and deletes of ranges; savepoints; reads as of now and of a snapshot; both directions.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sepal/indexed_batch.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using Content = std::map<std::string, std::string>;

struct ModelUpdate {
  enum class Kind : uint8_t { kPut, kDelete, kMerge, kDeleteRange };
  Kind kind;
  int family;
  std::string key;
  std::string value = {};
  uint64_t expiry_millis = UINT64_MAX;
  std::optional<std::string> end = {};
};
using ModelUpdates = std::vector<ModelUpdate>;

// What a family has after all of them at a time: a put that has expired is a delete, also below what was merged into
// it.
Content ContentAt(const ModelUpdates& updates, int family, uint64_t now_millis) {
  Content content;
  for (const ModelUpdate& update : updates) {
    if (update.family != family) continue;
    switch (update.kind) {
      case ModelUpdate::Kind::kPut:
        content[update.key] = update.value;
        if (update.expiry_millis <= now_millis) content.erase(update.key);
        break;
      case ModelUpdate::Kind::kDelete:
        content.erase(update.key);
        break;
      case ModelUpdate::Kind::kMerge: {
        const auto [it, fresh] = content.emplace(update.key, update.value);
        if (!fresh) it->second += "," + update.value;
        break;
      }
      case ModelUpdate::Kind::kDeleteRange:
        content.erase(content.lower_bound(update.key),
                      update.end.has_value() ? content.lower_bound(*update.end) : content.end());
    }
  }
  return content;
}

ModelUpdates Joined(ModelUpdates first, const ModelUpdates& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

class IndexedBatchModelTest : public EngineTest, public ::testing::WithParamInterface<uint64_t> {
 protected:
  void SetUp() override {
    database.options.family.merge_operator = MergeOperators::Append();
    EngineTest::SetUp();
    other_ = db()->CreateColumnFamily("other", {.merge_operator = MergeOperators::Append()}).value();
  }
  const ColumnFamily& Family(int number) { return number == 0 ? db()->DefaultColumnFamily() : *other_; }
  uint64_t Now() { return database.clock->UnixMicros() / 1000; }
  std::string RandomKey() { return std::string(1 + random_.Uniform(2), static_cast<char>('a' + random_.Uniform(6))); }

  ModelUpdate RandomUpdate() {
    const auto family = static_cast<int>(random_.Uniform(2));
    const std::string key = RandomKey(), value = std::to_string(random_.Uniform(1000));
    switch (random_.Uniform(7)) {
      case 0:
      case 1:
        return {ModelUpdate::Kind::kPut, family, key, value};
      case 2:
        return {ModelUpdate::Kind::kPut, family, key, value, Now() + 1 + random_.Uniform(4000)};
      case 3:
        return {ModelUpdate::Kind::kDelete, family, key};
      case 4:
      case 5:
        return {ModelUpdate::Kind::kMerge, family, key, value};
      default: {
        std::optional<std::string> end;
        if (!random_.OneIn(5)) end = std::max(key, RandomKey());
        return {ModelUpdate::Kind::kDeleteRange, family, key, "", UINT64_MAX, end};
      }
    }
  }
  void Apply(const ModelUpdate& update, IndexedBatch* batch) {
    const ColumnFamily& family = Family(update.family);
    PutOptions options;
    if (update.expiry_millis != UINT64_MAX && random_.OneIn(2)) {
      options.ttl = std::chrono::milliseconds(update.expiry_millis - Now());
    } else if (update.expiry_millis != UINT64_MAX) {
      options.expires_at = std::chrono::system_clock::time_point(std::chrono::milliseconds(update.expiry_millis));
    }
    switch (update.kind) {
      case ModelUpdate::Kind::kPut:
        ASSERT_OK(batch->Put(family, update.key, update.value, options));
        break;
      case ModelUpdate::Kind::kDelete:
        ASSERT_OK(batch->Delete(family, update.key));
        break;
      case ModelUpdate::Kind::kMerge:
        ASSERT_OK(batch->Merge(family, update.key, update.value));
        break;
      case ModelUpdate::Kind::kDeleteRange:
        ASSERT_OK(batch->DeleteRange(family, update.key, update.end));
    }
  }

  // Gets of one, gets of many, and a whole walk each way within random bounds.
  void CheckReads(const IndexedBatch& batch, int number, const Content& content, const Snapshot* snapshot) {
    const ColumnFamily& family = Family(number);
    ReadOptions options{.snapshot = snapshot};
    std::vector<std::string> asked;
    for (int i = 0; i < 4; ++i) asked.push_back(RandomKey());
    const std::vector<std::string_view> views(asked.begin(), asked.end());
    const std::vector<absl::StatusOr<std::string>> many = batch.MultiGet(family, views, options);
    for (size_t i = 0; i < asked.size(); ++i) {
      const auto expected = content.find(asked[i]);
      ASSERT_EQ(batch.Get(family, asked[i], options).value_or("-"), expected != content.end() ? expected->second : "-")
          << asked[i];
      ASSERT_EQ(many[i].value_or("-"), expected != content.end() ? expected->second : "-") << asked[i];
    }
    if (random_.OneIn(2)) options.lower_bound = RandomKey();
    if (random_.OneIn(2)) options.upper_bound = RandomKey();
    if (random_.OneIn(4)) options.prefix = RandomKey();
    Entries expected;
    for (const auto& [key, value] : content) {
      if (options.lower_bound.has_value() && key < *options.lower_bound) continue;
      if (options.upper_bound.has_value() && key >= *options.upper_bound) continue;
      if (key.starts_with(options.prefix)) expected.emplace_back(key, value);
    }
    const std::unique_ptr<Iterator> iterator = batch.NewIterator(family, options);
    ASSERT_EQ(ReadAll(iterator.get()), expected);
    ASSERT_OK(iterator->status());
    CheckBackwardAndTurns(iterator.get(), expected);
  }
  void CheckBackwardAndTurns(Iterator* iterator, const Entries& expected) {
    auto at = expected.rbegin();
    for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev(), ++at) {
      ASSERT_TRUE(at != expected.rend());
      ASSERT_EQ(Entries({{std::string(iterator->key()), std::string(iterator->value())}}), Entries({*at}));
      if (!random_.OneIn(4)) continue;
      iterator->Next();  // and back
      ASSERT_EQ(iterator->Valid(), at != expected.rbegin());
      if (iterator->Valid()) {
        iterator->Prev();
      } else {
        iterator->SeekForPrev(at->first);
      }
      ASSERT_TRUE(iterator->Valid());
      ASSERT_EQ(iterator->value(), at->second);
    }
    ASSERT_TRUE(at == expected.rend());
    const std::string target = RandomKey();
    iterator->Seek(target);
    const auto first = std::find_if(expected.begin(), expected.end(), [&](const auto& e) { return e.first >= target; });
    ASSERT_EQ(iterator->Valid(), first != expected.end());
    if (iterator->Valid()) {
      ASSERT_EQ(iterator->key(), first->first);
    }
  }

  Random random_{GetParam()};
  std::shared_ptr<ColumnFamily> other_;
};

TEST_P(IndexedBatchModelTest, RandomBatchesReadWhatAModelHas) {
  ModelUpdates written, at_snapshot;
  std::shared_ptr<const Snapshot> snapshot = db()->GetSnapshot();
  for (int round = 0; round < 40; ++round) {
    IndexedBatch batch(*db());
    ModelUpdates own;
    std::vector<size_t> savepoints;
    for (int step = 0; step < 25; ++step) {
      switch (random_.Uniform(12)) {
        case 0:
          batch.SetSavepoint();
          savepoints.push_back(own.size());
          break;
        case 1:
          ASSERT_EQ(batch.RollbackToSavepoint().ok(), !savepoints.empty());
          if (savepoints.empty()) break;
          own.resize(savepoints.back());
          savepoints.pop_back();
          break;
        case 2:
          database.world->SleepMicros(1'500'000);
          break;
        case 3:
          if (!random_.OneIn(6)) break;
          batch.Clear();
          own.clear();
          savepoints.clear();
          break;
        case 4: {  // another writer
          IndexedBatch another(*db());
          written.push_back(RandomUpdate());
          Apply(written.back(), &another);
          ASSERT_OK(db()->Write(another.updates()));
          break;
        }
        default:
          own.push_back(RandomUpdate());
          Apply(own.back(), &batch);
      }
      ASSERT_EQ(batch.Count(), own.size());
      const auto family = static_cast<int>(random_.Uniform(2));
      CheckReads(batch, family, ContentAt(Joined(written, own), family, Now()), nullptr);
      CheckReads(batch, family, ContentAt(Joined(at_snapshot, own), family, Now()), snapshot.get());
      if (HasFatalFailure()) return;
    }
    if (random_.OneIn(4)) continue;  // it is dropped
    ASSERT_OK(db()->Write(batch.updates()));
    written = Joined(std::move(written), own);
    const ColumnFamily& family = Family(static_cast<int>(random_.Uniform(2)));
    if (random_.OneIn(4)) ASSERT_OK(db()->Flush(family));
    if (random_.OneIn(10)) ASSERT_OK(db()->CompactRange(family));
    if (!random_.OneIn(6)) continue;
    snapshot = db()->GetSnapshot();
    at_snapshot = written;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, IndexedBatchModelTest, ::testing::Range<uint64_t>(1, 5));

}  // namespace
}  // namespace sepal

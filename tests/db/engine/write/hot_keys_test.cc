// A few keys that are updated over and over: memory holds what readers can see of them, and little more.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "sepal/write_batch.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

constexpr uint64_t kKeys = 10;

// `number` in every value, so that one can tell which batch wrote it.
std::string ValueOf(uint64_t number) { return absl::StrFormat("%09u%s", number, std::string(60, 'v')); }
uint64_t NumberIn(std::string_view value) {
  const uint64_t number = std::stoull(std::string(value.substr(0, 9)));
  EXPECT_EQ(value, ValueOf(number));
  return number;
}

void UseMuchLog(Tuning* tuning) {
  tuning->memtable_bytes = size_t{256} << 10;
  tuning->memtable_limit_bytes = size_t{512} << 10;
  tuning->log_limit_bytes = size_t{1} << 30;
}

absl::Status UpdateAll(DB* db, uint64_t number) {
  WriteBatch batch;
  for (uint64_t k = 0; k < kKeys; ++k) batch.Put(NumberedKey(k), ValueOf(number));
  return db->Write(batch);
}

Entries ReadAllBackwards(Iterator* iterator) {
  Entries entries;
  for (iterator->SeekToLast(); iterator->Valid(); iterator->Prev()) {
    entries.emplace_back(iterator->key(), iterator->value());
  }
  return entries;
}

class HotKeysTest : public EngineTest {
 protected:
  HotKeysTest() { UseMuchLog(&database.tuning); }

  void Update(uint64_t times) {
    for (const uint64_t end = last_ + times; last_ < end;) ASSERT_OK(UpdateAll(db(), ++last_));
  }
  uint64_t Flushes() { return db()->statistics().Get(Ticker::kFlushes); }

  uint64_t last_ = 0;
};

TEST_F(HotKeysTest, UpdatesOfAFewKeysFillNoMemtable) {
  ASSERT_NO_FATAL_FAILURE(Update(5'000));
  EXPECT_EQ(Flushes(), 0u);
  for (uint64_t k = 0; k < kKeys; ++k) EXPECT_EQ(NumberIn(db()->Get(NumberedKey(k)).value()), last_);
  ASSERT_OK(db()->Flush());
  for (uint64_t k = 0; k < kKeys; ++k) EXPECT_EQ(NumberIn(db()->Get(NumberedKey(k)).value()), last_);
}

TEST_F(HotKeysTest, EveryReaderKeepsWhatItSaw) {
  ASSERT_NO_FATAL_FAILURE(Update(200));
  const uint64_t seen = last_;
  const auto iterator = db()->NewIterator();
  iterator->Seek(NumberedKey(3));
  ASSERT_TRUE(iterator->Valid());
  const std::string_view shown = iterator->value();
  const auto snapshot = db()->GetSnapshot();
  auto released = db()->GetSnapshot();
  const auto outlives = db()->NewIterator({.snapshot = released.get()});
  PinnedValue pinned;
  ASSERT_OK(db()->Get(NumberedKey(5), pinned));
  ASSERT_NO_FATAL_FAILURE(Update(10));
  const auto of_old_snapshot = db()->NewIterator({.snapshot = released.get()});
  released.reset();

  ASSERT_NO_FATAL_FAILURE(Update(100));
  EXPECT_EQ(Flushes(), 0u);
  EXPECT_EQ(NumberIn(shown), seen);
  EXPECT_EQ(NumberIn(pinned.value()), seen);
  for (Iterator* const it : {iterator.get(), outlives.get(), of_old_snapshot.get()}) {
    const Entries all = ReadAll(it);
    EXPECT_EQ(all.size(), kKeys);
    for (const auto& [key, value] : all) EXPECT_EQ(NumberIn(value), seen) << key;
  }
  for (uint64_t k = 0; k < kKeys; ++k) {
    EXPECT_EQ(NumberIn(db()->Get(NumberedKey(k), {.snapshot = snapshot.get()}).value()), seen);
  }
}

TEST_F(HotKeysTest, AHeldIteratorStopsReuseAndNothingElse) {
  auto iterator = db()->NewIterator();
  ASSERT_NO_FATAL_FAILURE(Update(1'000));
  iterator->SeekToFirst();
  EXPECT_FALSE(iterator->Valid());
  iterator.reset();
  ASSERT_OK(db()->Flush());                  // the memtable may be nearly full
  ASSERT_OK(db()->WaitForBackgroundWork());  // until the flush is counted
  const uint64_t flushes = Flushes();
  ASSERT_NO_FATAL_FAILURE(Update(5'000));
  EXPECT_EQ(Flushes(), flushes);
}

// Each batch updates all keys, so that whoever reads at one moment finds one number.
class HotKeysReadersTest : public testing::Test {
 protected:
  HotKeysReadersTest() {
    UseMuchLog(&database_.tuning);
    EXPECT_OK(database_.Open());
    EXPECT_OK(UpdateAll(db(), 1));
  }
  DB* db() { return database_.db.get(); }
  void Write() {
    for (uint64_t number = 2; number <= kBatches; ++number) ASSERT_OK(UpdateAll(db(), number));
    done_ = true;
  }
  void Get() {
    for (uint64_t last = 0; !done_;) {
      PinnedValue value;
      ASSERT_OK(db()->Get(NumberedKey(last % kKeys), value));
      const uint64_t number = NumberIn(value.value());
      ASSERT_GE(number, last);
      last = number;
    }
  }
  void Iterate() {
    for (int round = 0; !done_; ++round) {
      std::shared_ptr<const Snapshot> snapshot;
      if (round % 3 == 0) snapshot = db()->GetSnapshot();
      const auto it = db()->NewIterator({.snapshot = snapshot.get()});
      if (round % 2 == 0) snapshot.reset();
      const Entries all = round % 5 == 0 ? ReadAllBackwards(it.get()) : ReadAll(it.get());
      ASSERT_EQ(all.size(), kKeys);
      for (const auto& [key, value] : all) ASSERT_EQ(NumberIn(value), NumberIn(all.begin()->second)) << key;
    }
  }
  void GetMany() {
    std::vector<std::string> names;
    for (uint64_t k = 0; k < kKeys; ++k) names.push_back(NumberedKey(k));
    const std::vector<std::string_view> keys(names.begin(), names.end());
    while (!done_) {
      const std::vector<absl::StatusOr<std::string>> values = db()->MultiGet(keys);
      for (const auto& value : values) ASSERT_EQ(NumberIn(value.value()), NumberIn(values.front().value()));
    }
  }

  static constexpr uint64_t kBatches = 20'000;
  TestDatabase database_{Threads::kReal};
  std::atomic<bool> done_{false};
};

TEST_F(HotKeysReadersTest, EachSeesOneState) {
  {
    Thread get([this] { Get(); });
    Thread iterate([this] { Iterate(); });
    Thread many([this] { GetMany(); });
    Write();
    done_ = true;
  }
  EXPECT_OK(db()->Close());
}

}  // namespace
}  // namespace sepal

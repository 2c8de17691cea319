// Hints of blocks whose frames were given to other blocks since: readers remember where they found a block, in a cache
// so small that it is hardly ever still there.
#include <gtest/gtest.h>

#include <map>

#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

class StaleHintTest : public EngineTest {
 protected:
  static constexpr uint64_t kNumbers = 10'000;
  static constexpr uint64_t kStride = kNumbers / 2;
  static constexpr uint64_t kTurns = 3;
  // Two values of a block, so that almost each read is of another block than the last.
  static constexpr size_t kHintValueBytes = 1900;

  void SetUp() override {
    database.options.memory_limit = size_t{8} << 20;
    database.options.family.compression = CompressionKind::kNone;
    database.tuning.table_bytes = size_t{2} << 20;
    database.tuning.memtable_bytes = size_t{1} << 20;
    database.tuning.memtable_limit_bytes = size_t{2} << 20;
    EngineTest::SetUp();
    // Odd numbers are absent, but lie between keys that are there.
    for (uint64_t i = 0; i < kNumbers; i += 2) {
      std::string& value = model_[NumberedKey(i)] = std::to_string(i * i) + ":";
      value.resize(kHintValueBytes, static_cast<char>('a' + i % 26));
      ASSERT_OK(db()->Put(NumberedKey(i), value));
    }
    ASSERT_OK(db()->CompactRange());
  }
  // Calls `read` with two distant numbers in turn, through all of them; each of these turns needs every block again,
  // and so gives every frame away.
  template <class Read>
  void ReadAllInTurns(const Read& read) {
    for (uint64_t turn = 0; turn < kTurns; ++turn) {
      const uint64_t before = db()->statistics().Get(Ticker::kBlockCacheMisses);
      for (uint64_t i = 0; i < kStride; ++i) {
        read(i);
        read(i + kStride);
        if (HasFatalFailure()) return;
      }
      EXPECT_GT(db()->statistics().Get(Ticker::kBlockCacheMisses) - before, kNumbers / 8) << "of " << kNumbers / 4;
    }
  }
  void ExpectFound(uint64_t number, const absl::Status& status, std::string_view value) {
    const auto it = model_.find(NumberedKey(number));
    if (it == model_.end()) {
      ASSERT_TRUE(absl::IsNotFound(status)) << number << ": " << status;
      return;
    }
    ASSERT_TRUE(status.ok()) << number << ": " << status;
    ASSERT_TRUE(value == it->second) << number << ": " << value.substr(0, value.find(':'));
  }

  std::map<std::string, std::string> model_;
};

TEST_F(StaleHintTest, AGetWithAStaleHintFindsItsOwnValue) {
  ReadAllInTurns([&](uint64_t number) {
    const absl::StatusOr<std::string> value = db()->Get(NumberedKey(number));
    ExpectFound(number, value.status(), value.ok() ? std::string_view(*value) : "");
  });
}

TEST_F(StaleHintTest, AMultiGetWithStaleHintsFindsItsOwnValues) {
  Random random(9);
  ReadAllInTurns([&](uint64_t number) {
    const uint64_t other = random.Uniform(kNumbers);
    const std::string keys[] = {NumberedKey(number), NumberedKey(other)};
    const std::string_view views[] = {keys[0], keys[1]};
    PinnedValue values[2];
    absl::Status statuses[2];
    db()->MultiGet(views, values, statuses).IgnoreError();
    ExpectFound(number, statuses[0], values[0].value());
    ExpectFound(other, statuses[1], values[1].value());
  });
}

// One iterator keeps its tables open, and with them the hints of all their blocks.
TEST_F(StaleHintTest, AnIteratorWithAStaleHintStandsWhereItSeeks) {
  const std::unique_ptr<Iterator> iterator = db()->NewIterator();
  ReadAllInTurns([&](uint64_t number) {
    iterator->Seek(NumberedKey(number));
    const auto it = model_.lower_bound(NumberedKey(number));
    ASSERT_EQ(iterator->Valid(), it != model_.end()) << number << ": " << iterator->status();
    if (it == model_.end()) return;
    ASSERT_EQ(iterator->key(), it->first);
    ASSERT_TRUE(iterator->value() == it->second) << it->first;
  });
  EXPECT_OK(iterator->status());
}

}  // namespace
}  // namespace sepal

// What iterators that stand still hold of the memory limit.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

class OpenIteratorsTest : public ::testing::Test {
 protected:
  static constexpr size_t kLimit = size_t{8} << 20;

  void SetUp() override {
    database.options.memory_limit = kLimit;
    database.options.family.block_bytes = 4096;
    database.tuning.memtable_bytes = size_t{512} << 10;
    database.tuning.memtable_limit_bytes = size_t{1} << 20;
    database.tuning.table_bytes = size_t{1} << 20;
    database.tuning.write_buffer_bytes = size_t{64} << 10;
    ASSERT_OK(database.Open());
  }
  DB* db() { return database.db.get(); }
  size_t Held(MemoryPart part) { return database.Metrics().MemoryBytes(part); }
  std::string RandomValue(size_t bytes) {
    std::string value(bytes, '\0');
    for (char& c : value) c = static_cast<char>(random.Next());
    return value;
  }

  TestDatabase database;
  Random random{1};
};

TEST_F(OpenIteratorsTest, WindowsOfManyShareAPartOfTheLimit) {
  constexpr uint64_t kKeys = 6000;
  for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db()->Put(NumberedKey(i), RandomValue(1000)));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->CompactRange());
  std::vector<std::unique_ptr<Iterator>> cursors;
  for (uint64_t i = 0; i < 64; ++i) {
    cursors.push_back(db()->NewIterator({.fill_cache = false}));
    cursors.back()->Seek(NumberedKey(i * 70));
    for (int step = 0; step < 700 && cursors.back()->Valid(); ++step) cursors.back()->Next();
    ASSERT_TRUE(cursors.back()->Valid());
  }
  EXPECT_GT(Held(MemoryPart::kReadAhead), 0u);
  EXPECT_LE(Held(MemoryPart::kReadAhead), kLimit / 16);
  EXPECT_EQ(Held(MemoryPart::kCompaction), 0u);
  for (uint64_t i = 0; i < 2000; ++i) ASSERT_OK(db()->Put("new" + NumberedKey(i), RandomValue(1000)));
  for (uint64_t i = 0; i < cursors.size(); ++i) {
    EXPECT_EQ(cursors[i]->key(), NumberedKey(i * 70 + 700));
    for (uint64_t step = 701; step < 900; ++step) {
      cursors[i]->Next();
      ASSERT_EQ(cursors[i]->key(), NumberedKey(i * 70 + step));
    }
  }
  cursors.clear();
  EXPECT_EQ(Held(MemoryPart::kReadAhead), 0u);
}

TEST_F(OpenIteratorsTest, LargeValuesThatTheyStandAtAreWithinTheLimitOrRefused) {
  constexpr uint64_t kKeys = 60;
  for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db()->Put(NumberedKey(i), RandomValue(300000)));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->CompactRange());
  std::vector<std::unique_ptr<Iterator>> cursors;
  absl::Status refused;
  while (refused.ok() && cursors.size() < 200) {
    cursors.push_back(db()->NewIterator());
    cursors.back()->Seek(NumberedKey(cursors.size() % kKeys));
    refused = cursors.back()->status();
    EXPECT_LE(Held(MemoryPart::kPins), kLimit);
  }
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_NE(refused.message().find("iterators"), std::string_view::npos) << refused;
  EXPECT_GT(cursors.size(), 8u);
  // Where some are given up, the one that was refused goes on.
  const std::unique_ptr<Iterator> last = std::move(cursors.back());
  cursors.resize(cursors.size() / 2);
  last->SeekToFirst();
  uint64_t seen = 0;
  for (; last->Valid(); last->Next()) ++seen;
  EXPECT_OK(last->status());
  EXPECT_EQ(seen, kKeys);
  EXPECT_OK(db()->Put("after", "v"));
}

}  // namespace
}  // namespace sepal

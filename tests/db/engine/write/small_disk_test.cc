// A disk that is hardly larger than the database: the log must leave room for flushes.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

class SmallDiskTest : public ::testing::Test {
 protected:
  void Open(uint64_t disk_bytes, size_t memtable_bytes, size_t memory_limit = size_t{8} << 20) {
    database_.options.memory_limit = memory_limit;
    database_.options.memtable_bytes = memtable_bytes;
    database_.tuning = Tuning::From(database_.options);
    database_.tuning.space_retry_micros = 1000;
    database_.memory.SetCapacity(disk_bytes);
    ASSERT_OK(database_.Open());
  }
  DB* db() { return database_.db.get(); }
  // Of logs and ring.
  uint64_t LogBytes() {
    uint64_t bytes = 0;
    auto directory = database_.memory.OpenDirectory("/db", false);
    const std::vector<DirectoryEntry> listing = (*directory)->List().value();
    for (const DirectoryEntry& entry : listing) {
      if (entry.name.ends_with(".log") || entry.name.ends_with(".ring")) bytes += entry.size_bytes;
    }
    return bytes;
  }

  TestDatabase database_;
};

// Another family holds on to all logs.
TEST_F(SmallDiskTest, ManySmallFlushesFindSpace) {
  constexpr uint64_t kMemtableBytes = uint64_t{64} << 10;
  ASSERT_NO_FATAL_FAILURE(Open(uint64_t{1} << 20, kMemtableBytes));
  const auto family = db()->CreateColumnFamily("family");
  ASSERT_OK(family.status());
  ASSERT_OK(db()->Put("old", "one small entry"));
  uint64_t most = 0;
  for (int i = 0; i < 200; ++i) {
    ASSERT_OK(db()->Put(**family, NumberedKey(static_cast<uint64_t>(i)), "v", {.no_slowdown = true}));
    ASSERT_OK(db()->Flush(**family));
    most = std::max(most, LogBytes());
  }
  EXPECT_LE(most, 2 * kMemtableBytes);
  ASSERT_OK(database_.CrashAndReopen(CrashMode::kKillProcess));
  EXPECT_EQ(Value(db(), "old"), "one small entry");
}

TEST_F(SmallDiskTest, LogsAndRingTakeAboutTwiceTheMemtables) {
  for (const size_t value_bytes : {10, 300, 5000}) {
    SCOPED_TRACE(value_bytes);
    constexpr uint64_t kMemtableBytes = uint64_t{512} << 10;
    ASSERT_NO_FATAL_FAILURE(Open(UINT64_MAX / 2, kMemtableBytes));
    const auto family = db()->CreateColumnFamily("family" + std::to_string(value_bytes));
    ASSERT_OK(family.status());
    uint64_t most = 0;
    for (uint64_t i = 0; i * (value_bytes + 20) < 8 * kMemtableBytes; ++i) {
      ASSERT_OK(db()->Put(i % 7 == 0 ? **family : db()->DefaultColumnFamily(), NumberedKey(i * 7919 % 100'000),
                          std::string(value_bytes, 'v')));
      if (i % 64 == 0) most = std::max(most, LogBytes());
    }
    EXPECT_LE(most, kMemtableBytes * 9 / 4);
  }
}

TEST_F(SmallDiskTest, WhereMemtablesDoNotFillUpLogsAndRingStayWithinSixOfThem) {
  constexpr uint64_t kMemtableBytes = uint64_t{512} << 10;
  ASSERT_NO_FATAL_FAILURE(Open(UINT64_MAX / 2, kMemtableBytes));
  uint64_t most = 0;
  for (uint64_t i = 0; i < 40'000; ++i) {
    ASSERT_OK(db()->Put(NumberedKey(i % 10), std::string(300, 'v')));
    if (i % 64 == 0) most = std::max(most, LogBytes());
  }
  EXPECT_GT(most, 2 * kMemtableBytes);
  EXPECT_LE(most, 6 * kMemtableBytes);
}

TEST_F(SmallDiskTest, ADatabaseOpensWithLittleSpace) {
  for (const size_t memory_limit : {size_t{8} << 20, size_t{256} << 20}) {
    ASSERT_NO_FATAL_FAILURE(Open(uint64_t{750} << 10, 0, memory_limit));
    ASSERT_OK(db()->Put("k", "v"));
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->Put("l", "v", {.sync = true}));
    ASSERT_OK(database_.CrashAndReopen(CrashMode::kKillProcess));
    EXPECT_EQ(Value(db(), "k"), "v");
    EXPECT_EQ(Value(db(), "l"), "v");
    ASSERT_OK(db()->Close());
    ASSERT_OK(DB::Destroy(database_.options, "/db"));
  }
}

}  // namespace
}  // namespace sepal

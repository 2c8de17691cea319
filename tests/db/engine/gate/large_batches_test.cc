// Options::large_batches: batches over a quarter of the memory limit, and over all of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

class LargeBatchesTest : public EngineTest {
 protected:
  static constexpr size_t kMemory = size_t{8} << 20;

  void SetUp() override {
    database.options.memory_limit = kMemory;
    database.options.large_batches = true;
    database.options.family.compression = CompressionKind::kNone;
    database.tuning.memtable_bytes = kMemory / 4;
    database.tuning.memtable_limit_bytes = kMemory / 2;
    database.tuning.log_limit_bytes = kMemory / 2;
    database.tuning.table_bytes = size_t{1} << 20;
    EngineTest::SetUp();
  }
  static WriteBatch BatchOf(uint64_t first, uint64_t entries, size_t value_bytes) {
    WriteBatch batch;
    for (uint64_t i = first; i < first + entries; ++i) batch.Put(NumberedKey(i), std::string(value_bytes, ValueOf(i)));
    return batch;
  }
  static char ValueOf(uint64_t i) { return static_cast<char>('a' + i % 26); }
  void ExpectAll(uint64_t entries, size_t value_bytes) {
    uint64_t seen = 0;
    const auto it = db()->NewIterator();
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++seen) {
      ASSERT_EQ(it->key(), NumberedKey(seen));
      ASSERT_EQ(it->value().size(), value_bytes);
      ASSERT_TRUE(value_bytes == 0 || it->value().back() == ValueOf(seen));
    }
    ASSERT_OK(it->status());
    EXPECT_EQ(seen, entries);
  }
};

TEST_F(LargeBatchesTest, OneOfTwiceTheLimitGoesInAndItsMemoryIsGivenBack) {
  ASSERT_OK(db()->Write(BatchOf(0, 160, 100'000)));
  ASSERT_NO_FATAL_FAILURE(ExpectAll(160, 100'000));
  ASSERT_OK(db()->Put("small", "v"));
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_LT(NumberProperty(db(), "sepal.memtable-bytes"), kMemory);
  EXPECT_EQ(db()->Get("small").value_or("absent"), "v");
  EXPECT_OK(db()->CheckConsistency());
}

TEST_F(LargeBatchesTest, OneOfSmallEntriesCounts) {
  ASSERT_OK(db()->Write(BatchOf(0, 200'000, 0)));
  ASSERT_NO_FATAL_FAILURE(ExpectAll(200'000, 0));
}

TEST_F(LargeBatchesTest, AValueLargerThanTheLimitIsPutReadAndCompacted) {
  const std::string value(kMemory + 1, 'v');
  ASSERT_OK(db()->Put("large", value));
  EXPECT_EQ(db()->Get("large").value_or("absent"), value);
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(db()->Get("large").value_or("absent"), value);
  EXPECT_OK(db()->VerifyChecksums());
}

TEST_F(LargeBatchesTest, ReadersThatHoldMemoryKeepNoneOut) {
  std::vector<PinnedValue> pins(20);
  for (size_t i = 0; i < pins.size(); ++i) ASSERT_OK(db()->Put("pin" + std::to_string(i), std::string(300'000, 'p')));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->WaitForBackgroundWork());
  for (size_t i = 0; i < pins.size(); ++i) ASSERT_OK(db()->Get("pin" + std::to_string(i), pins[i]));
  EXPECT_OK(db()->Write(BatchOf(0, 160, 100'000)));
  pins.clear();
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(db()->Get(NumberedKey(159)).value_or("absent").size(), 100'000u);
}

// It is whole, or is not there at all.
TEST_F(LargeBatchesTest, OneThatIsOnlyInTheLogIsRecovered) {
  for (const CrashMode mode : {CrashMode::kKillProcess, CrashMode::kLoseUnsynced, CrashMode::kAnySubset}) {
    for (const bool sync : {false, true}) {
      SCOPED_TRACE(absl::StrFormat("mode %d, sync %d", static_cast<int>(mode), sync));
      ASSERT_OK(db()->PauseBackgroundWork());  // no flush takes it from the log
      ASSERT_OK(db()->Write(BatchOf(0, 40, 100'000), {.sync = sync}));
      ASSERT_OK(database.CrashAndReopen(mode, 7));
      const bool there = db()->Get(NumberedKey(0)).ok();
      EXPECT_TRUE(there || (!sync && mode != CrashMode::kKillProcess));
      ASSERT_NO_FATAL_FAILURE(ExpectAll(there ? 40 : 0, 100'000));
      ASSERT_OK(db()->WaitForBackgroundWork());
      EXPECT_LT(NumberProperty(db(), "sepal.memtable-bytes"), kMemory);
      ASSERT_OK(db()->DeleteRange("", std::nullopt));
    }
  }
}

TEST_F(LargeBatchesTest, OneIsLetInAtATime) {
  constexpr uint64_t kEntries = 100;
  constexpr size_t kValueBytes = 100'000;
  constexpr uint64_t kWriters = 3;
  uint64_t most = 0;
  uint64_t written = 0;
  for (uint64_t writer = 0; writer < kWriters; ++writer) {
    database.world->Spawn([&, writer] {
      const WriteBatch batch = BatchOf(writer * kEntries, kEntries, kValueBytes);
      EXPECT_OK(db()->Write(batch));
      most = std::max(most, NumberProperty(db(), "sepal.memtable-bytes"));
      ++written;
    });
  }
  while (written < kWriters) database.world->SleepMicros(1000);
  ASSERT_OK(db()->WaitForBackgroundWork());
  ASSERT_NO_FATAL_FAILURE(ExpectAll(kWriters * kEntries, kValueBytes));
  EXPECT_GT(most, kEntries * kValueBytes);
  EXPECT_LT(most, kEntries * kValueBytes + kMemory);
}

TEST_F(LargeBatchesTest, OffTheRefusalNamesTheOption) {
  database.options.large_batches = false;
  ASSERT_OK(database.Reopen());
  const absl::Status refused = db()->Write(BatchOf(0, 160, 100'000));
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(refused.ToString(), HasSubstr("large_batches"));
  ASSERT_NO_FATAL_FAILURE(ExpectAll(0, 0));
}

}  // namespace
}  // namespace sepal

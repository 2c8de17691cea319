// What keys, values, batches and options may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <climits>
#include <cstdint>

#include "tests/db/engine/engine_fixture.h"
#include "tests/util/thread/scarce_threads.h"

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using LimitsTest = EngineTest;

TEST_F(LimitsTest, ManyLongestKeysThatDifferInTheLastByteStayApart) {
  std::string key(kMaxKeyBytes, 'k');
  for (char c = 'a'; c < 'e'; ++c) {
    key.back() = c;
    ASSERT_OK(db()->Put(key, std::string(1, c)));
  }
  ASSERT_OK(db()->CompactRange());
  for (char c = 'a'; c < 'e'; ++c) {
    key.back() = c;
    EXPECT_EQ(Value(db(), key), std::string(1, c));
  }
}

TEST_F(LimitsTest, ValuesLargerThanBlocksTablesAndWriteBuffersComeBackWhole) {
  std::string value;
  for (int i = 0; value.size() < (size_t{1} << 20); ++i) value += std::to_string(i * 7919);
  ASSERT_OK(db()->Put("big", value));
  ASSERT_OK(db()->Put("small", "v"));
  EXPECT_EQ(Value(db(), "big"), value);
  ASSERT_OK(db()->Flush());
  EXPECT_EQ(Value(db(), "big"), value);
  PinnedValue pinned;
  ASSERT_OK(db()->Get("big", pinned));
  EXPECT_EQ(pinned.value(), value);
  pinned.Reset();
  ASSERT_OK(db()->Put("big", value + "!"));
  ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
  EXPECT_EQ(Value(db(), "big"), value + "!");
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Value(db(), "big"), value + "!");
  EXPECT_EQ(Value(db(), "small"), "v");
}

TEST_F(LimitsTest, ABatchOfManyTinyEntriesLargerThanAllMemtablesTogetherStopsNobodyForever) {
  for (int round = 0; round < 4; ++round) {
    WriteBatch batch;
    for (int i = 0; i < 4000; ++i) batch.Put(NumberedKey(i), std::to_string(round));
    ASSERT_OK(db()->Write(batch));
    // Whatever ends now looks at memtables that hold far more than they should.
    database.world->RunUntilIdle();
  }
  ASSERT_OK(db()->Put("after", "v"));
  EXPECT_EQ(Value(db(), NumberedKey(3999)), "3");
}

TEST_F(LimitsTest, KeysAndValuesAreAnyBytes) {
  std::string all;
  for (int c = 255; c >= 0; --c) all.push_back(static_cast<char>(c));
  for (int c = 0; c < 256; ++c) ASSERT_OK(db()->Put(std::string(1, static_cast<char>(c)) + all, all.substr(c)));
  ASSERT_OK(db()->CompactRange());
  const Entries entries = ReadAll(db()->NewIterator().get());
  ASSERT_EQ(entries.size(), 256u);
  for (int c = 0; c < 256; ++c) {
    EXPECT_EQ(entries[static_cast<size_t>(c)].first, std::string(1, static_cast<char>(c)) + all);
    EXPECT_EQ(entries[static_cast<size_t>(c)].second, all.substr(c));
  }
}

TEST_F(LimitsTest, AnEmptyBatchChangesNothing) {
  const uint64_t before = NumberProperty(db(), "sepal.last-sequence");
  const WriteBatch batch;
  ASSERT_OK(db()->Write(batch));
  ASSERT_OK(db()->Write(batch, {.sync = true}));
  EXPECT_EQ(NumberProperty(db(), "sepal.last-sequence"), before);
}

TEST(OptionLimitsTest, AMemoryLimitThatNoMachineHasIsRefusedByName) {
  TestDatabase database;
  for (const size_t limit : {size_t{SIZE_MAX}, (size_t{1} << 46) + 1}) {
    database.options.memory_limit = limit;
    const absl::Status opened = database.Open();
    EXPECT_TRUE(absl::IsInvalidArgument(opened)) << opened;
    EXPECT_THAT(opened.ToString(), HasSubstr("memory_limit of " + std::to_string(limit)));
  }
}

TEST(OptionLimitsTest, OpeningWithTheLargestMemoryLimitNeverEndsTheProcess) {
  TestDatabase database;
  database.options.memory_limit = size_t{1} << 46;
  const absl::Status opened = database.Open();
  if (absl::IsResourceExhausted(opened)) GTEST_SKIP() << opened;
  ASSERT_OK(opened);
  ASSERT_OK(database.db->Put("k", "v"));
  ASSERT_OK(database.db->Flush());
  EXPECT_EQ(Value(database.db.get(), "k"), "v");
  ASSERT_OK(database.db->Close());
}

TEST(OptionLimitsTest, ThreadsOutOfTheirRangeAreRefusedByName) {
  TestDatabase database;
  for (const int threads : {-1, 1025, 200'000, INT_MAX}) {
    database.options.background_threads = threads;
    const absl::Status opened = database.Open();
    EXPECT_TRUE(absl::IsInvalidArgument(opened)) << opened;
    EXPECT_THAT(opened.ToString(), HasSubstr("background_threads of " + std::to_string(threads)));
  }
}

TEST(OptionLimitsTest, OpeningFailsWhereTheSystemGivesNoThreads) {
  TestDatabase database(Threads::kReal);
  {
    const NoThreads no_threads;
    const absl::Status opened = database.Open();
    EXPECT_TRUE(absl::IsResourceExhausted(opened)) << opened;
    EXPECT_THAT(opened.ToString(), HasSubstr("thread"));
  }
  ASSERT_OK(database.Open());
  ASSERT_OK(database.db->Put("k", "v"));
  ASSERT_OK(database.db->Flush());
}

}  // namespace
}  // namespace sepal

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

TEST_F(LimitsTest, AKeyOf64KiBIsTakenAndOneByteMoreIsRefused) {
  const std::string longest(kMaxKeyBytes, 'k');
  ASSERT_OK(db()->Put(longest, "v"));
  const absl::Status refused = db()->Put(longest + "k", "v");
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_THAT(refused.ToString(), HasSubstr("65536"));
  EXPECT_EQ(db()->Delete(longest + "k").code(), absl::StatusCode::kInvalidArgument);
  ASSERT_OK(db()->Flush());
  EXPECT_EQ(Value(db(), longest), "v");
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Value(db(), longest), "v");
  EXPECT_EQ(Value(db(), longest + "k"), "NOT_FOUND");
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), 1u);
}

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
  ASSERT_OK(db()->Get("big", &pinned));
  EXPECT_EQ(pinned.value(), value);
  pinned.Reset();
  ASSERT_OK(db()->Put("big", value + "!"));
  ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
  EXPECT_EQ(Value(db(), "big"), value + "!");
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(Value(db(), "big"), value + "!");
  EXPECT_EQ(Value(db(), "small"), "v");
}

TEST_F(LimitsTest, ABatchOverAQuarterOfTheMemoryLimitIsRefusedWhole) {
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Put("b", std::string(database.options.memory_limit / 4, 'x'));
  const absl::Status refused = db()->Write(&batch);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_THAT(refused.ToString(), HasSubstr("memory_limit"));
  EXPECT_EQ(Value(db(), "a"), "NOT_FOUND");
  ASSERT_OK(db()->Put("a", "2"));
  EXPECT_EQ(Value(db(), "a"), "2");
}

TEST_F(LimitsTest, BatchesOfAlmostAQuarterOfTheMemoryLimitAreTakenOneAfterAnother) {
  for (int i = 0; i < 6; ++i) {
    WriteBatch batch;
    const std::string value(database.options.memory_limit / 4 - 100, static_cast<char>('a' + i));
    batch.Put("k" + std::to_string(i), value);
    ASSERT_OK(db()->Write(&batch));
  }
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(Value(db(), "k3")[5], 'd');
}

TEST_F(LimitsTest, ABatchOfManyTinyEntriesLargerThanAllMemtablesTogetherStopsNobodyForever) {
  for (int round = 0; round < 4; ++round) {
    WriteBatch batch;
    for (int i = 0; i < 4000; ++i) batch.Put(NumberedKey(i), std::to_string(round));
    ASSERT_OK(db()->Write(&batch));
    // Whatever ends now looks at memtables that hold far more than they should.
    database.world->RunUntilIdle();
  }
  ASSERT_OK(db()->Put("after", "v"));
  EXPECT_EQ(Value(db(), NumberedKey(3999)), "3");
}

TEST_F(LimitsTest, EmptyKeysAndValuesAreOrdinary) {
  ASSERT_OK(db()->Put("", "empty key"));
  ASSERT_OK(db()->Put("a", ""));
  for (int round = 0; round < 2; ++round) {
    EXPECT_EQ(Value(db(), ""), "empty key");
    EXPECT_EQ(Value(db(), "a"), "");
    EXPECT_THAT(ReadAll(db()->NewIterator().get()), ElementsAre(std::pair("", "empty key"), std::pair("a", "")));
    ASSERT_OK(db()->CompactRange());
  }
  ASSERT_OK(db()->Delete(""));
  EXPECT_EQ(Value(db(), ""), "NOT_FOUND");
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
  ASSERT_OK(db()->Write(&batch));
  ASSERT_OK(db()->Write(&batch, {.sync = true}));
  EXPECT_EQ(NumberProperty(db(), "sepal.last-sequence"), before);
  EXPECT_EQ(db()->Write(nullptr).code(), absl::StatusCode::kInvalidArgument);
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

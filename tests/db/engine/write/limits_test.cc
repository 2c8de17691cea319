// What keys, values, batches and options may be.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

#include "tests/db/engine/engine_fixture.h"
#include "tests/util/thread/scarce_threads.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

using LimitsTest = EngineTest;

TEST_F(LimitsTest, ManyLongKeysThatDifferInTheLastByteStayApart) {
  std::string key(size_t{64} << 10, 'k');
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

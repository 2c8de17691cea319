// What the block cache holds of tables that are gone.
#include <gtest/gtest.h>

#include <memory>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

class GoneTablesTest : public EngineTest {
 protected:
  static constexpr uint64_t kKeys = 2000;

  uint64_t CachedBytes() { return NumberProperty(db(), "sepal.block-cache-bytes"); }
  // Opens every table, and has its blocks found, so that the merge that replaces them leaves them to who reads them.
  void FillAndRead() {
    Fill(0, kKeys, 100);
    ASSERT_OK(db()->CompactRange());
    for (int round = 0; round < 3; ++round) {
      for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db()->Get(NumberedKey(i)).status());
    }
    ASSERT_GT(CachedBytes(), kKeys * 100);
  }
  // A merge of all tables that leaves none.
  void DeleteAll() {
    for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db()->Delete(NumberedKey(i)));
    ASSERT_OK(db()->CompactRange());
    ASSERT_OK(db()->WaitForBackgroundWork());
    ASSERT_EQ(FilesPerLevel(db()), "");
  }
};

TEST_F(GoneTablesTest, TheirBlocksLeaveTheCacheWithTheJobThatReplacedThem) {
  ASSERT_NO_FATAL_FAILURE(FillAndRead());
  ASSERT_NO_FATAL_FAILURE(DeleteAll());
  EXPECT_EQ(CachedBytes(), 0u);
}

TEST_F(GoneTablesTest, TheirBlocksLeaveTheCacheOnceTheLastReaderLetsThemGo) {
  ASSERT_NO_FATAL_FAILURE(FillAndRead());
  std::unique_ptr<Iterator> iterator = db()->NewIterator();
  iterator->SeekToFirst();
  ASSERT_NO_FATAL_FAILURE(DeleteAll());
  EXPECT_GT(CachedBytes(), kKeys * 100);
  EXPECT_EQ(ReadAll(iterator.get()).size(), kKeys);
  iterator.reset();
  database.world->RunUntilIdle();
  EXPECT_EQ(CachedBytes(), 0u);
}

TEST_F(GoneTablesTest, TheBlocksOfADroppedFamilyLeaveTheCache) {
  absl::StatusOr<std::shared_ptr<ColumnFamily>> family = db()->CreateColumnFamily("other", {});
  ASSERT_OK(family.status());
  for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db()->Put(family->get(), NumberedKey(i), std::string(100, 'v')));
  ASSERT_OK(db()->CompactRange(family->get()));
  for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db()->Get(family->get(), NumberedKey(i)).status());
  ASSERT_GT(CachedBytes(), kKeys * 100);
  ASSERT_OK(db()->DropColumnFamily(family->get()));
  family->reset();
  database.world->RunUntilIdle();
  EXPECT_EQ(CachedBytes(), 0u);
}

}  // namespace
}  // namespace sepal

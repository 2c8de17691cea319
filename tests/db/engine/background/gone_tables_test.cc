// What the block cache holds of tables that are gone.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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
  // One whose blocks were in the cache; `read`: also found there.
  void DropFilledFamily(bool read) {
    absl::StatusOr<std::shared_ptr<ColumnFamily>> family = db()->CreateColumnFamily("other", {});
    ASSERT_OK(family.status());
    for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db()->Put(**family, NumberedKey(i), std::string(100, 'v')));
    ASSERT_OK(db()->CompactRange(**family));
    for (uint64_t i = 0; read && i < kKeys; ++i) ASSERT_OK(db()->Get(**family, NumberedKey(i)).status());
    ASSERT_GT(CachedBytes(), kKeys * 100);
    ASSERT_OK(db()->DropColumnFamily(**family));
    family->reset();
    database.world->RunUntilIdle();
  }
  // A merge of all tables that leaves none.
  void DeleteAll() {
    for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db()->Delete(NumberedKey(i)));
    ASSERT_OK(db()->CompactRange());
    ASSERT_OK(db()->WaitForBackgroundWork());
    ASSERT_EQ(FilesPerLevel(db()), "");
  }
};

TEST_F(GoneTablesTest, BlocksOfTablesLeaveTheCacheWithTheMergeThatReplacesThem) {
  ASSERT_NO_FATAL_FAILURE(FillAndRead());
  ASSERT_NO_FATAL_FAILURE(DeleteAll());
  EXPECT_EQ(CachedBytes(), 0u);
}

TEST_F(GoneTablesTest, BlocksOfMergedTablesLeaveTheCacheOnceTheLastReaderLetsThemGo) {
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
  ASSERT_NO_FATAL_FAILURE(DropFilledFamily(/*read=*/true));
  EXPECT_EQ(CachedBytes(), 0u);
}

// A merge to the bottom leaves what it wrote in the cache.
TEST_F(GoneTablesTest, TheBlocksOfTablesThatNobodyOpenedLeaveTheCacheToo) {
  ASSERT_NO_FATAL_FAILURE(DropFilledFamily(/*read=*/false));
  EXPECT_EQ(CachedBytes(), 0u);
}

TEST_F(GoneTablesTest, TheBlocksOfAMergeThatIsEndedLeaveTheCache) {
  Fill(0, kKeys, 100);
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->WaitForBackgroundWork());
  const uint64_t before = CachedBytes();
  uint64_t most = 0;
  const absl::Status ended = db()->CompactRange({.progress = [&](const CompactionProgress&) {
    most = std::max(most, CachedBytes());
    return most < before + 20'000;
  }});
  ASSERT_TRUE(absl::IsCancelled(ended)) << ended;
  database.world->RunUntilIdle();
  // Of what it read, pages of fences stay.
  EXPECT_LT(CachedBytes(), before + 15'000);
}

int TablesIn(TestDatabase* database) {
  const std::vector<std::string> names = FilesIn(&database->memory, database->path);
  return static_cast<int>(std::ranges::count_if(names, [](const std::string& name) { return name.ends_with(".sst"); }));
}

int LiveTables(DB* db) {
  int live = 0;
  for (int level = 0; level < kMaxLevels; ++level) {
    live += std::stoi(db->GetProperty("sepal.num-files-at-level" + std::to_string(level)).value());
  }
  return live;
}

// Of a merge that ended while it held them.
TEST_F(GoneTablesTest, TablesGoWithTheCheckpointOrTheVerificationThatHeldThem) {
  for (const bool checkpoint : {true, false}) {
    SCOPED_TRACE(checkpoint ? "checkpoint" : "verification");
    Fill(0, kKeys, 100);
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->WaitForBackgroundWork());
    bool merged = false;
    const auto merge_once = [&] {
      if (std::exchange(merged, true)) return true;
      EXPECT_OK(db()->CompactRange());
      EXPECT_OK(db()->WaitForBackgroundWork());
      return true;
    };
    if (checkpoint) {
      ASSERT_OK(db()->Checkpoint("/checkpoint", {.progress = [&](uint64_t, uint64_t) { merge_once(); }}));
    } else {
      ASSERT_OK(db()->VerifyChecksums({.progress = [&](const VerifyProgress&) { return merge_once(); }}));
    }
    EXPECT_TRUE(merged);
    database.world->RunUntilIdle();
    EXPECT_EQ(TablesIn(&database), LiveTables(db()));
  }
}

TEST_F(GoneTablesTest, AValueInAMemtableHoldsNoTables) {
  Fill(0, kKeys, 100);
  ASSERT_OK(db()->CompactRange());
  const std::string long_value(600, 'v');
  ASSERT_OK(db()->Put("held", long_value));
  PinnedValue held;
  ASSERT_OK(db()->Get("held", held));
  Fill(0, kKeys, 100);
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(db()->WaitForBackgroundWork());
  database.world->RunUntilIdle();
  EXPECT_EQ(TablesIn(&database), LiveTables(db()));
  EXPECT_EQ(held.value(), long_value);
}

// Holds one reader in the middle of a Get.
class SlowComparator final : public Comparator {
 public:
  explicit SlowComparator(const TestDatabase* database) : database_(database) {}
  int Compare(std::string_view a, std::string_view b) const override {
    if (std::exchange(armed, false)) {
      reached = true;
      while (holds) database_->world->SleepMicros(100);
    }
    return a.compare(b);
  }
  std::string_view Name() const override { return "test.slow"; }

  mutable bool armed = false;
  mutable bool reached = false;
  bool holds = true;

 private:
  const TestDatabase* const database_;
};

// Nothing else is read, and no job ends.
TEST(GoneTablesBehindAReaderTest, TablesOfADroppedFamilyAreRemovedOnceTheLastReaderLeaves) {
  TestDatabase database;
  SlowComparator comparator(&database);
  database.options.family.comparator = &comparator;
  ASSERT_OK(database.Open());
  DB* const db = database.db.get();
  std::shared_ptr<ColumnFamily> family = db->CreateColumnFamily("other", {}).value();
  for (uint64_t i = 0; i < 2000; ++i) ASSERT_OK(db->Put(*family, NumberedKey(i), std::string(100, 'v')));
  ASSERT_OK(db->CompactRange(*family));
  ASSERT_OK(db->WaitForBackgroundWork());
  ASSERT_OK(db->Put("k", "v"));
  comparator.armed = true;
  database.world->Spawn([&] { EXPECT_EQ(Value(db, "k"), "v"); });
  while (!comparator.reached) database.world->SleepMicros(100);
  ASSERT_OK(db->DropColumnFamily(*family));
  family.reset();
  database.world->SleepMicros(10'000);
  EXPECT_GT(TablesIn(&database), 0);
  comparator.holds = false;
  database.world->RunUntilIdle();
  EXPECT_EQ(TablesIn(&database), 0);
  EXPECT_EQ(NumberProperty(db, "sepal.block-cache-bytes"), 0u);
}

}  // namespace
}  // namespace sepal

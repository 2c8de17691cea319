// Column families: made, dropped, written together.
#include <gtest/gtest.h>

#include "sepal/statistics.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

class ColumnFamilyTest : public EngineTest {
 protected:
  std::shared_ptr<ColumnFamily> Make(std::string_view name) {
    auto family = db()->CreateColumnFamily(name, database.options.family);
    EXPECT_OK(family.status());
    return family.ok() ? *family : nullptr;
  }
  std::string ValueIn(const ColumnFamily* family, std::string_view key) {
    const absl::StatusOr<std::string> value = db()->Get(FamilyOrDefault(db(), family), key);
    return value.ok() ? *value : std::string(absl::StatusCodeToString(value.status().code()));
  }
};

TEST_F(ColumnFamilyTest, OptionsOutOfRangeAreRefusedAndMakeNothing) {
  ColumnFamilyOptions changed[4];
  changed[0].comparator = nullptr;
  changed[1].block_bytes = 255;
  changed[2].compaction_style = static_cast<CompactionStyle>(3);
  changed[3].compression = static_cast<CompressionKind>(4);
  for (const ColumnFamilyOptions& options : changed) {
    EXPECT_EQ(db()->CreateColumnFamily("one", options).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_FALSE(db()->FindColumnFamily("one").ok());
  }
  EXPECT_NE(Make("one"), nullptr);
}

TEST_F(ColumnFamilyTest, AFamilyThatCouldNotBeDroppedIsAsItWas) {
  auto one = db()->CreateColumnFamily("one");
  ASSERT_OK(one.status());
  ASSERT_OK(db()->Put(**one, "k", "logged"));
  ASSERT_OK(db()->Put(**one, "l", "not logged", {.disable_wal = true}));
  database.files.Inject(
      {.fault = Fault::kNoSpace, .op = FileOp::kAllocate, .name_contains = "MANIFEST", .sticky = true});
  absl::Status dropped;
  for (int i = 0; i < 2000 && dropped.ok(); ++i) {
    auto other = db()->CreateColumnFamily("other" + std::to_string(i));
    if (!other.ok()) break;  // the manifest needs more space now
  }
  dropped = db()->DropColumnFamily(**one);
  EXPECT_TRUE(absl::IsResourceExhausted(dropped)) << dropped;
  database.files.Clear();
  EXPECT_EQ(db()->Get(**one, "k").value_or("none"), "logged");
  ASSERT_OK(db()->Put(**one, "m", "later"));
  one->reset();
  ASSERT_OK(database.Reopen());
  one = db()->FindColumnFamily("one");
  ASSERT_OK(one.status());
  EXPECT_EQ(db()->Get(**one, "k").value_or("none"), "logged");
  EXPECT_EQ(db()->Get(**one, "l").value_or("none"), "not logged");
  EXPECT_EQ(db()->Get(**one, "m").value_or("none"), "later");
}

TEST_F(ColumnFamilyTest, ManyIdleFamiliesDoNotStopWriters) {
  std::vector<std::shared_ptr<ColumnFamily>> families;
  for (int i = 0; i < 60; ++i) families.push_back(Make("family" + std::to_string(i)));
  for (int round = 0; round < 20; ++round) {
    for (const auto& family : families) {
      ASSERT_OK(db()->Put(*family, NumberedKey(static_cast<uint64_t>(round)), std::string(100, 'v')));
    }
  }
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(ValueIn(families[59].get(), NumberedKey(19)), std::string(100, 'v'));
}

// At the sizes that follow from the options, where an index for a whole memtable is a 16th of it.
TEST_F(ColumnFamilyTest, FamiliesThatHoldLittleAreNotFlushedForTheirNumber) {
  database.options.memory_limit = size_t{64} << 20;
  database.tuning = Tuning::From(database.options);
  ASSERT_OK(database.Open());
  std::vector<std::shared_ptr<ColumnFamily>> families;
  for (int i = 0; i < 100; ++i) families.push_back(Make("family" + std::to_string(i)));
  // 4 MiB, a quarter of what memtables may take.
  for (uint64_t i = 0; i < 40; ++i) {
    for (const auto& family : families) ASSERT_OK(db()->Put(*family, NumberedKey(i), std::string(1000, 'v')));
  }
  EXPECT_EQ(db()->statistics().Get(Ticker::kFlushes), 0u);
  EXPECT_EQ(db()->statistics().Get(Ticker::kThrottledWrites), 0u);
  // One that comes to hold more than its share finds its entries.
  for (uint64_t i = 0; i < 40'000; ++i) ASSERT_OK(db()->Put(*families[7], NumberedKey(i), std::to_string(i)));
  for (uint64_t i = 0; i < 40'000; ++i) ASSERT_EQ(ValueIn(families[7].get(), NumberedKey(i)), std::to_string(i));
  EXPECT_EQ(db()->statistics().Get(Ticker::kFlushes), 0u);
}

TEST(ColumnFamilyCreationTest, AFamilyThatIsFoundMayBeWrittenTo) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(seed);
    TestDatabase database(Threads::kSimulated, {.seed = seed, .switch_one_in = 2, .switch_inside_locks = true},
                          MemoryFileSystem());
    ASSERT_OK(database.Open());
    database.world->Spawn([&] { EXPECT_OK(database.db->CreateColumnFamily("family").status()); });
    absl::StatusOr<std::shared_ptr<ColumnFamily>> found;
    for (int i = 1; !found.ok(); ++i) {
      if (i % 8 == 0) database.world->SleepMicros(1);  // or no time passes
      found = database.db->FindColumnFamily("family");
    }
    EXPECT_OK(database.db->Put(**found, "k", "v"));
    database.world->RunUntilIdle();
  }
}

TEST_F(ColumnFamilyTest, AHandleOfAnotherDatabaseIsRefused) {
  auto other = Engine::Open(database.options, database.tuning, "/other");
  ASSERT_OK(other.status());
  auto foreign = (*other)->CreateColumnFamily("f");
  ASSERT_OK(foreign.status());
  EXPECT_EQ(db()->Put(**foreign, "k", "v").code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace sepal

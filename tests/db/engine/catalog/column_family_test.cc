// Column families: made, dropped, written together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sepal/statistics.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ColumnFamilyTest : public EngineTest {
 protected:
  std::shared_ptr<ColumnFamily> Make(std::string_view name) {
    auto family = db()->CreateColumnFamily(name, database.options.family);
    EXPECT_OK(family.status());
    return family.ok() ? *family : nullptr;
  }
  std::string ValueIn(const ColumnFamily* family, std::string_view key) {
    const absl::StatusOr<std::string> value = db()->Get(family, key);
    return value.ok() ? *value : std::string(absl::StatusCodeToString(value.status().code()));
  }
};

TEST_F(ColumnFamilyTest, KeysOfOneFamilyAreNotSeenInAnother) {
  const auto one = Make("one");
  ASSERT_OK(db()->Put("k", "default"));
  ASSERT_OK(db()->Put(one.get(), "k", "one"));
  EXPECT_EQ(Value(db(), "k"), "default");
  EXPECT_EQ(ValueIn(one.get(), "k"), "one");
  ASSERT_OK(db()->Delete(one.get(), "k"));
  EXPECT_EQ(Value(db(), "k"), "default");
  EXPECT_EQ(ValueIn(one.get(), "k"), "NOT_FOUND");
}

TEST_F(ColumnFamilyTest, TheDefaultFamilyIsNamedSoAndTakesANullHandle) {
  EXPECT_EQ(db()->DefaultColumnFamily()->name(), kDefaultColumnFamilyName);
  ASSERT_OK(db()->Put(db()->DefaultColumnFamily(), "k", "v"));
  EXPECT_EQ(ValueIn(nullptr, "k"), "v");
  EXPECT_EQ(db()->DropColumnFamily(db()->DefaultColumnFamily()).code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ColumnFamilyTest, FamiliesOutliveReopening) {
  Make("one");
  const auto two = Make("two");
  ASSERT_OK(db()->Put(two.get(), "k", "2"));
  ASSERT_OK(database.Reopen());
  EXPECT_THAT(db()->ColumnFamilyNames(), ElementsAre("default", "one", "two"));
  const auto found = db()->FindColumnFamily("two");
  ASSERT_OK(found.status());
  EXPECT_EQ(ValueIn(found->get(), "k"), "2");
  EXPECT_EQ(db()->FindColumnFamily("three").status().code(), absl::StatusCode::kNotFound);
}

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

TEST_F(ColumnFamilyTest, ATakenNameIsRefusedAndADroppedOneMayBeUsedAgain) {
  const auto one = Make("one");
  EXPECT_EQ(db()->CreateColumnFamily("one").status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(db()->CreateColumnFamily("default").status().code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(db()->CreateColumnFamily("").status().code(), absl::StatusCode::kInvalidArgument);
  ASSERT_OK(db()->Put(one.get(), "k", "first"));
  ASSERT_OK(db()->DropColumnFamily(one.get()));
  const auto again = Make("one");
  EXPECT_NE(again->id(), one->id());
  EXPECT_EQ(ValueIn(again.get(), "k"), "NOT_FOUND");
  ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
  const auto found = db()->FindColumnFamily("one");
  ASSERT_OK(found.status());
  EXPECT_EQ(ValueIn(found->get(), "k"), "NOT_FOUND");
}

TEST_F(ColumnFamilyTest, EveryCallOnADroppedFamilyIsRefusedByName) {
  const auto one = Make("one");
  ASSERT_OK(db()->Put(one.get(), "k", "v"));
  ASSERT_OK(db()->DropColumnFamily(one.get()));
  const absl::Status refused = db()->Put(one.get(), "k", "v");
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(refused.ToString(), HasSubstr("one"));
  EXPECT_EQ(db()->Get(one.get(), "k").status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(db()->Flush(one.get()).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(db()->CompactRange(one.get()).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(db()->DropColumnFamily(one.get()).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(db()->NewIterator(one.get())->status().code(), absl::StatusCode::kFailedPrecondition);
  WriteBatch batch;
  batch.Put("default", "v");
  batch.Put(one.get(), "k", "v");
  EXPECT_EQ(db()->Write(&batch).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(Value(db(), "default"), "NOT_FOUND");
}

TEST_F(ColumnFamilyTest, AFamilyThatCouldNotBeDroppedIsAsItWas) {
  auto one = db()->CreateColumnFamily("one");
  ASSERT_OK(one.status());
  ASSERT_OK(db()->Put(one->get(), "k", "logged"));
  ASSERT_OK(db()->Put(one->get(), "l", "not logged", {.disable_wal = true}));
  database.files.Inject(
      {.fault = Fault::kNoSpace, .op = FileOp::kAllocate, .name_contains = "MANIFEST", .sticky = true});
  absl::Status dropped;
  for (int i = 0; i < 2000 && dropped.ok(); ++i) {
    auto other = db()->CreateColumnFamily("other" + std::to_string(i));
    if (!other.ok()) break;  // the manifest needs more space now
  }
  dropped = db()->DropColumnFamily(one->get());
  EXPECT_TRUE(absl::IsResourceExhausted(dropped)) << dropped;
  database.files.Clear();
  EXPECT_EQ(db()->Get(one->get(), "k").value_or("none"), "logged");
  ASSERT_OK(db()->Put(one->get(), "m", "later"));
  one->reset();
  ASSERT_OK(database.Reopen());
  one = db()->FindColumnFamily("one");
  ASSERT_OK(one.status());
  EXPECT_EQ(db()->Get(one->get(), "k").value_or("none"), "logged");
  EXPECT_EQ(db()->Get(one->get(), "l").value_or("none"), "not logged");
  EXPECT_EQ(db()->Get(one->get(), "m").value_or("none"), "later");
}

TEST_F(ColumnFamilyTest, DroppingAFamilyFreesItsFilesOnceNothingReadsThem) {
  const auto one = Make("one");
  for (uint64_t i = 0; i < 500; ++i) ASSERT_OK(db()->Put(one.get(), NumberedKey(i), std::string(50, 'v')));
  ASSERT_OK(db()->CompactRange(one.get()));
  std::unique_ptr<Iterator> it = db()->NewIterator(one.get());
  it->SeekToFirst();
  ASSERT_OK(db()->DropColumnFamily(one.get()));
  uint64_t entries = 0;
  for (; it->Valid(); it->Next()) ++entries;
  EXPECT_EQ(entries, 500u);
  EXPECT_OK(it->status());
  it.reset();
  ASSERT_OK(db()->Put("k", "v"));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->WaitForBackgroundWork());
  size_t tables = 0;
  for (const std::string& name : FilesIn(&database.memory, "/db")) tables += name.ends_with(".sst") ? 1 : 0;
  EXPECT_EQ(tables, 1u);
}

TEST_F(ColumnFamilyTest, ABatchAcrossFamiliesIsReadableWholeAfterLossOfPowerOrNotAtAll) {
  const auto one = Make("one");
  const auto two = Make("two");
  for (int i = 0; i < 20; ++i) {
    WriteBatch batch;
    batch.Put("k", std::to_string(i));
    batch.Put(one.get(), "k", std::to_string(i));
    batch.Put(two.get(), "k", std::to_string(i));
    ASSERT_OK(db()->Write(&batch, {.sync = i == 10}));
    // One family is in a table, the others are in the log.
    if (i == 15) ASSERT_OK(db()->Flush(one.get()));
  }
  ASSERT_OK(database.CrashAndReopen(CrashMode::kAnySubset, 7));
  const auto found_one = db()->FindColumnFamily("one").value();
  const auto found_two = db()->FindColumnFamily("two").value();
  const std::string value = Value(db(), "k");
  EXPECT_GE(std::stoi(value), 15);
  EXPECT_EQ(ValueIn(found_one.get(), "k"), value);
  EXPECT_EQ(ValueIn(found_two.get(), "k"), value);
}

TEST_F(ColumnFamilyTest, AFlushSyncsTheLogOnlyWhereAnotherFamilyHasEarlierUpdatesInIt) {
  const auto one = Make("one");
  const auto syncs = [this] { return db()->statistics()->Get(Ticker::kLogSyncs); };
  const uint64_t before = syncs();
  ASSERT_OK(db()->Put(one.get(), "k", "1"));
  ASSERT_OK(db()->Flush(one.get()));
  EXPECT_EQ(syncs(), before);

  ASSERT_OK(db()->Put("earlier", "2"));
  ASSERT_OK(db()->Put(one.get(), "k", "3"));
  ASSERT_OK(db()->Put("later", "4"));
  ASSERT_OK(db()->Flush(one.get()));
  EXPECT_GT(syncs(), before);
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(ValueIn(db()->FindColumnFamily("one").value().get(), "k"), "3");
  EXPECT_EQ(Value(db(), "earlier"), "2");
}

TEST_F(ColumnFamilyTest, ABatchOfWhichOneFamilyIsFlushedStaysWhole) {
  const auto one = Make("one");
  WriteBatch batch;
  batch.Put("k", "1");
  batch.Put(one.get(), "k", "1");
  ASSERT_OK(db()->Write(&batch));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(Value(db(), "k"), "1");
  EXPECT_EQ(ValueIn(db()->FindColumnFamily("one").value().get(), "k"), "1");
}

TEST_F(ColumnFamilyTest, AFamilyFlushedWithoutASyncOfTheLogKeepsEverythingUpToThere) {
  const auto one = Make("one");
  for (int i = 0; i < 50; ++i) {
    ASSERT_OK(db()->Put("a" + std::to_string(i % 7), std::to_string(i)));
    if (i % 10 == 9) ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->Put(one.get(), "b", std::to_string(i)));
    if (i % 10 == 9) ASSERT_OK(db()->Flush(one.get()));
  }
  ASSERT_OK(db()->Put("last", "lost"));
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(Value(db(), "a0"), "49");
  EXPECT_EQ(ValueIn(db()->FindColumnFamily("one").value().get(), "b"), "49");
  EXPECT_EQ(Value(db(), "last"), "NOT_FOUND");
}

TEST_F(ColumnFamilyTest, ManyIdleFamiliesDoNotStopWriters) {
  std::vector<std::shared_ptr<ColumnFamily>> families;
  for (int i = 0; i < 60; ++i) families.push_back(Make("family" + std::to_string(i)));
  for (int round = 0; round < 20; ++round) {
    for (const auto& family : families) {
      ASSERT_OK(db()->Put(family.get(), NumberedKey(static_cast<uint64_t>(round)), std::string(100, 'v')));
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
    for (const auto& family : families) ASSERT_OK(db()->Put(family.get(), NumberedKey(i), std::string(1000, 'v')));
  }
  EXPECT_EQ(db()->statistics()->Get(Ticker::kFlushes), 0u);
  EXPECT_EQ(db()->statistics()->Get(Ticker::kThrottledWrites), 0u);
  // One that comes to hold more than its share finds its entries.
  for (uint64_t i = 0; i < 40'000; ++i) ASSERT_OK(db()->Put(families[7].get(), NumberedKey(i), std::to_string(i)));
  for (uint64_t i = 0; i < 40'000; ++i) ASSERT_EQ(ValueIn(families[7].get(), NumberedKey(i)), std::to_string(i));
  EXPECT_EQ(db()->statistics()->Get(Ticker::kFlushes), 0u);
}

TEST(ColumnFamilyCreationTest, WhoFindsOneMayWriteToIt) {
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
    EXPECT_OK(database.db->Put(found->get(), "k", "v"));
    database.world->RunUntilIdle();
  }
}

TEST_F(ColumnFamilyTest, AHandleOfAnotherDatabaseIsRefused) {
  auto other = Engine::Open(database.options, database.tuning, "/other");
  ASSERT_OK(other.status());
  auto foreign = (*other)->CreateColumnFamily("f");
  ASSERT_OK(foreign.status());
  EXPECT_EQ(db()->Put(foreign->get(), "k", "v").code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(ColumnFamilyTest, FamiliesMayDifferInEveryOption) {
  ColumnFamilyOptions different;
  different.compression = CompressionKind::kZstd;
  different.block_bytes = 1024;
  different.filter_policy = FilterPolicy::None();
  different.compaction_style = CompactionStyle::kLeveled;
  auto family = db()->CreateColumnFamily("different", different);
  ASSERT_OK(family.status());
  for (uint64_t i = 0; i < 1000; ++i) {
    ASSERT_OK(db()->Put(family->get(), NumberedKey(i), std::to_string(i)));
    ASSERT_OK(db()->Put(NumberedKey(i), std::to_string(i + 1)));
  }
  ASSERT_OK(db()->WaitForBackgroundWork());
  ASSERT_OK(db()->CheckConsistency());
  EXPECT_EQ(ValueIn(family->get(), NumberedKey(500)), "500");
  EXPECT_EQ(Value(db(), NumberedKey(500)), "501");
  EXPECT_NE(db()->GetProperty(family->get(), "sepal.options"), db()->GetProperty("sepal.options"));
}

}  // namespace
}  // namespace sepal

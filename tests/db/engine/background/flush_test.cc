// Flushes of one family that run side by side: the newer ones wait for the older.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::Contains;

constexpr uint64_t kFlushSeeds = 20;
constexpr uint64_t kEntries = 1000;

// What happens to table files. A decider that has the first one fail, if it is told to.
class TableFiles {
 public:
  Fault Note(const FileCall& call) {
    if (!call.name.ends_with(".sst")) return Fault::kNone;
    if (call.op == FileOp::kOpenWrite) made_.push_back(call.name);
    // Before any was made but these and the first one again.
    if (call.op == FileOp::kRemove && made_.size() == 3 && call.name == made_[1]) second_given_up_ = true;
    if (call.op != FileOp::kSync) return Fault::kNone;
    const bool first = call.name == made_.front();
    if (first && fault_ != Fault::kNone && fails_-- > 0) return fault_;
    newer_first_ = newer_first_ || (synced_ == 0 && !first);
    ++synced_;
    return Fault::kNone;
  }
  // Syncs of the first table, as often as this.
  void Fail(Fault fault, int times) {
    fault_ = fault;
    fails_ = times;
  }
  // Whether another table than the first that was made was the first to be ready.
  bool newer_first() const { return newer_first_; }
  bool second_given_up() const { return second_given_up_; }
  size_t made() const { return made_.size(); }

 private:
  Fault fault_ = Fault::kNone;
  int fails_ = 0;
  int synced_ = 0;
  bool newer_first_ = false;
  bool second_given_up_ = false;
  std::vector<std::string> made_;
};

// A large flush and a small newer one, by many schedules.
class FlushTest : public ::testing::Test {
 protected:
  static std::unique_ptr<TestDatabase> Open(uint64_t seed, TableFiles* tables, uint64_t space_retry_micros = 1000) {
    auto database = std::make_unique<TestDatabase>(Threads::kSimulated, seed, /*switch_one_in=*/2);
    database->tuning.memtable_bytes = size_t{1} << 20;
    database->tuning.memtable_limit_bytes = size_t{4} << 20;
    database->tuning.log_limit_bytes = uint64_t{16} << 20;
    database->tuning.part_bytes = uint64_t{1} << 20;  // one table each
    database->tuning.space_retry_micros = space_retry_micros;
    database->files.SetDecider([tables](const FileCall& call) { return tables->Note(call); });
    EXPECT_OK(database->Open());
    return database;
  }
  static std::string Old(uint64_t i) { return std::string(200, static_cast<char>('a' + i % 26)); }
  static void BeginBoth(DB* db, const ColumnFamily& family, const TableFiles& tables) {
    for (uint64_t i = 0; i < kEntries; ++i) ASSERT_OK(db->Put(family, NumberedKey(i), Old(i)));
    ASSERT_OK(db->Flush(family, {.wait = false}));
    // Until its table is begun.
    do ASSERT_OK(db->Put(family, NumberedKey(7), "new"));
    while (tables.made() == 0);
    ASSERT_OK(db->Flush(family, {.wait = false}));
  }
  static void ExpectAll(DB* db) {
    const Entries entries = ReadAll(db->NewIterator().get());
    ASSERT_EQ(entries.size(), kEntries);
    for (uint64_t i = 0; i < kEntries; ++i) EXPECT_EQ(entries[i].second, i == 7 ? "new" : Old(i));
  }
  static size_t LiveTables(DB* db) {
    size_t tables = 0;
    for (int level = 0; level < kMaxLevels; ++level) {
      tables += NumberProperty(db, "sepal.num-files-at-level" + std::to_string(level));
    }
    return tables;
  }
  static size_t TableFilesOf(TestDatabase* database) {
    const std::vector<std::string> names = FilesIn(&database->memory, database->path);
    return static_cast<size_t>(
        std::count_if(names.begin(), names.end(), [](const std::string& name) { return name.ends_with(".sst"); }));
  }
};

TEST_F(FlushTest, TheNewerOfTwoFlushesIsInstalledBehindTheOlder) {
  std::vector<bool> overtaken;
  for (uint64_t seed = 1; seed <= kFlushSeeds; ++seed) {
    SCOPED_TRACE(seed);
    TableFiles tables;
    const std::unique_ptr<TestDatabase> database = Open(seed, &tables);
    ASSERT_NO_FATAL_FAILURE(BeginBoth(database->db.get(), database->db->DefaultColumnFamily(), tables));
    ExpectAll(database->db.get());
    ASSERT_OK(database->db->WaitForBackgroundWork());
    ExpectAll(database->db.get());
    EXPECT_EQ(database->db->statistics().Get(Ticker::kFlushes), 2u);
    ASSERT_OK(database->Reopen());
    ExpectAll(database->db.get());
    overtaken.push_back(tables.newer_first());
  }
  EXPECT_THAT(overtaken, Contains(true)) << "no schedule had them run side by side";
}

TEST_F(FlushTest, WhereTheOlderOfTwoFlushesHasNoSpaceNothingOfTheNewerStays) {
  std::vector<bool> written_again;
  for (uint64_t seed = 1; seed <= kFlushSeeds; ++seed) {
    SCOPED_TRACE(seed);
    TableFiles tables;
    tables.Fail(Fault::kNoSpace, 1);
    const std::unique_ptr<TestDatabase> database = Open(seed, &tables);
    ASSERT_NO_FATAL_FAILURE(BeginBoth(database->db.get(), database->db->DefaultColumnFamily(), tables));
    ASSERT_OK(database->db->WaitForBackgroundWork());
    ExpectAll(database->db.get());
    EXPECT_EQ(TableFilesOf(database.get()), LiveTables(database->db.get()));
    ASSERT_OK(database->Reopen());
    ExpectAll(database->db.get());
    written_again.push_back(tables.newer_first() && tables.made() > 2);
  }
  EXPECT_THAT(written_again, Contains(true)) << "no schedule had the newer one wait when the older failed";
}

// It is written again, in a run of a higher number, and may be there before the newer one has ended.
TEST_F(FlushTest, WhereTheOlderOfTwoFlushesIsInALaterRunTheNewerIsWrittenAgain) {
  WriteBatch newer;
  for (uint64_t i = 0; i < 3 * kEntries; ++i) newer.Put(NumberedKey(i), "newer" + Old(i));
  std::vector<bool> later;
  for (uint64_t seed = 1; seed <= kFlushSeeds; ++seed) {
    SCOPED_TRACE(seed);
    TableFiles tables;
    tables.Fail(Fault::kNoSpace, 1);
    const std::unique_ptr<TestDatabase> database = Open(seed, &tables, /*space_retry_micros=*/1);
    DB* const db = database->db.get();
    for (uint64_t i = 0; i < kEntries; ++i) ASSERT_OK(db->Put(NumberedKey(i), Old(i)));
    ASSERT_OK(db->Flush({.wait = false}));
    while (tables.made() == 0) ASSERT_OK(db->Put(NumberedKey(0), "x"));
    ASSERT_OK(db->Write(newer));
    ASSERT_OK(db->Flush({.wait = false}));
    // Time passes by looks at the clock, and others run while a mutex is taken.
    for (int i = 0; i < 3000; ++i) {
      (void)database->world->MonotonicMicros();
      ASSERT_OK(db->Flush({.wait = false}));
    }
    ASSERT_OK(db->WaitForBackgroundWork());
    later.push_back(tables.second_given_up());
    EXPECT_EQ(TableFilesOf(database.get()), LiveTables(db));
    ASSERT_OK(database->Reopen());
    const Entries entries = ReadAll(database->db->NewIterator().get());
    ASSERT_EQ(entries.size(), 3 * kEntries);
    for (const auto& [key, value] : entries) EXPECT_TRUE(value.starts_with("newer"));
  }
  EXPECT_THAT(later, Contains(true)) << "no schedule had the newer one run while the older was written again";
}

TEST_F(FlushTest, WhereTheOlderOfTwoFlushesFailsForGoodTheNewerIsNotInstalled) {
  std::vector<bool> overtaken;
  for (uint64_t seed = 1; seed <= kFlushSeeds; ++seed) {
    SCOPED_TRACE(seed);
    TableFiles tables;
    tables.Fail(Fault::kIoError, 1);
    const std::unique_ptr<TestDatabase> database = Open(seed, &tables);
    ASSERT_NO_FATAL_FAILURE(BeginBoth(database->db.get(), database->db->DefaultColumnFamily(), tables));
    EXPECT_FALSE(database->db->WaitForBackgroundWork().ok());
    database->world->RunUntilIdle();
    EXPECT_EQ(tables.made(), 2u) << "what failed for good was tried again";
    EXPECT_EQ(FilesPerLevel(database->db.get()), "");
    ExpectAll(database->db.get());
    ASSERT_OK(database->CrashAndReopen(CrashMode::kKillProcess));
    ExpectAll(database->db.get());
    overtaken.push_back(tables.newer_first());
  }
  EXPECT_THAT(overtaken, Contains(true)) << "no schedule had the newer one wait when the older failed";
}

TEST_F(FlushTest, APauseEndsThoughOneFlushWaitsForAnother) {
  for (uint64_t seed = 1; seed <= kFlushSeeds; ++seed) {
    SCOPED_TRACE(seed);
    TableFiles tables;
    const std::unique_ptr<TestDatabase> database = Open(seed, &tables);
    bool paused_all = false;
    database->world->Spawn([&] {
      for (int pause = 0; pause < 200; ++pause) {
        EXPECT_OK(database->db->PauseBackgroundWork());
        EXPECT_OK(database->db->ContinueBackgroundWork());
      }
      paused_all = true;
    });
    // None waits for another to have begun.
    for (uint64_t i = 0; i < kEntries; ++i) {
      ASSERT_OK(database->db->Put(NumberedKey(i), i == 7 ? "new" : Old(i)));
      if (i % 20 == 0) ASSERT_OK(database->db->Flush({.wait = false}));
    }
    while (!paused_all) database->world->SleepMicros(10);
    ASSERT_OK(database->db->WaitForBackgroundWork());
    ExpectAll(database->db.get());
  }
}

TEST_F(FlushTest, TwoFlushesOfADroppedFamilyBothEnd) {
  for (uint64_t seed = 1; seed <= kFlushSeeds; ++seed) {
    SCOPED_TRACE(seed);
    TableFiles tables;
    const std::unique_ptr<TestDatabase> database = Open(seed, &tables);
    const std::shared_ptr<const ColumnFamily> family = database->db->CreateColumnFamily("dropped", {}).value();
    ASSERT_NO_FATAL_FAILURE(BeginBoth(database->db.get(), *family, tables));
    database->world->SleepMicros(seed % 7);
    ASSERT_OK(database->db->DropColumnFamily(*family));
    ASSERT_OK(database->db->WaitForBackgroundWork());
    // Obsolete files are removed by the job that ends next.
    ASSERT_OK(database->db->Put("key", "value"));
    ASSERT_OK(database->db->Flush());
    ASSERT_OK(database->db->WaitForBackgroundWork());
    EXPECT_EQ(TableFilesOf(database.get()), 1u);
  }
}

TEST_F(FlushTest, ClosingWaitsForTwoFlushes) {
  for (uint64_t seed = 1; seed <= kFlushSeeds; ++seed) {
    SCOPED_TRACE(seed);
    TableFiles tables;
    tables.Fail(Fault::kNoSpace, static_cast<int>(seed % 2));
    const std::unique_ptr<TestDatabase> database = Open(seed, &tables);
    ASSERT_NO_FATAL_FAILURE(BeginBoth(database->db.get(), database->db->DefaultColumnFamily(), tables));
    ASSERT_OK(database->Reopen());
    ExpectAll(database->db.get());
  }
}

}  // namespace
}  // namespace sepal

// Openings that replay little: it goes into the new log, and no table is made of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <sstream>
#include <string>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CarriedLogTest : public EngineTest {
 protected:
  size_t Tables() const {
    size_t tables = 0;
    for (const std::string& name : FilesIn(&database_files(), "/db")) tables += name.ends_with(".sst") ? 1 : 0;
    return tables;
  }
  MemoryFileSystem& database_files() const { return const_cast<MemoryFileSystem&>(database.memory); }
};

// The calls of a trace that make something durable.
int Syncs(const std::string& trace) {
  std::istringstream lines(trace);
  int syncs = 0;
  for (std::string line; std::getline(lines, line);) {
    syncs +=
        line.starts_with("sync ") || line.starts_with("sync-directory") || line.starts_with("directory-sync") ? 1 : 0;
  }
  return syncs;
}

TEST_F(CarriedLogTest, FewEntriesStayInTheLogFromOpeningToOpening) {
  for (uint64_t opening = 0; opening < 4; ++opening) {
    ASSERT_OK(db()->Put(NumberedKey(opening), "value"));
    ASSERT_OK(opening % 2 == 0 ? database.Reopen() : database.CrashAndReopen(CrashMode::kKillProcess));
    EXPECT_THAT(ReadAll(db()->NewIterator().get()), SizeIs(opening + 1));
    EXPECT_EQ(db()->GetProperty("sepal.last-sequence"), std::to_string(opening + 1));
    EXPECT_EQ(Tables(), 0u);
  }
  ASSERT_OK(db()->Flush());
  EXPECT_EQ(FilesPerLevel(db()), "1");
  ASSERT_OK(database.Reopen());
  EXPECT_THAT(ReadAll(db()->NewIterator().get()), SizeIs(4));
  EXPECT_OK(db()->CheckConsistency());
}

TEST_F(CarriedLogTest, MoreThanAFractionOfAMemtableGoesIntoATable) {
  const size_t most = database.tuning.memtable_bytes / database.tuning.carried_log_divisor;
  ASSERT_OK(db()->Put("large", std::string(most, 'v')));
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(FilesPerLevel(db()), "1");
  ASSERT_OK(db()->Put("small", "v"));
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(FilesPerLevel(db()), "1");
}

// One put at a time, as `sepal db put` does it.
TEST_F(CarriedLogTest, ManyOpeningsOfOneEntryEachLeaveFewTables) {
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_OK(db()->Put(NumberedKey(i), "value"));
    ASSERT_OK(database.Reopen());
  }
  EXPECT_THAT(ReadAll(db()->NewIterator().get()), SizeIs(100));
  EXPECT_LT(Tables(), 30u);
}

TEST_F(CarriedLogTest, AnOpeningSyncsOnceForWhatItCarriesAndTwiceForATable) {
  std::map<bool, int> syncs;
  for (const bool carried : {false, true}) {
    TestDatabase copy;
    copy.tuning.carried_log_divisor = carried ? 64 : SIZE_MAX;
    ASSERT_OK(copy.Open());
    ASSERT_OK(copy.db->Put("k", "v"));
    ASSERT_OK(copy.db->Close());
    copy.files.SetTracing(true);
    ASSERT_OK(copy.Open());
    syncs[carried] = Syncs(copy.files.TakeTrace());
    EXPECT_EQ(FilesPerLevel(copy.db.get()), carried ? "" : "1");
  }
  EXPECT_EQ(syncs[true], syncs[false] - 1);
}

// A batch of two families, of which one was flushed and the other was not.
TEST_F(CarriedLogTest, OfABatchThatOneFamilyHasInATableTheOthersHaveTheRest) {
  const std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("f", {}).value();
  WriteBatch batch;
  batch.Put("a", "1");
  batch.Put(*family, "a", "2");
  batch.Delete("b");
  ASSERT_OK(db()->Write(batch));
  ASSERT_OK(db()->Flush(*family));
  for (int opening = 0; opening < 3; ++opening) {
    ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
    EXPECT_THAT(ReadAll(db()->NewIterator().get()), ElementsAre(std::pair("a", "1")));
    const std::shared_ptr<ColumnFamily> again = db()->FindColumnFamily("f").value();
    EXPECT_THAT(ReadAll(db()->NewIterator(*again).get()), ElementsAre(std::pair("a", "2")));
    EXPECT_EQ(FilesPerLevel(db()), "");
    EXPECT_EQ(FilesPerLevel(db(), again.get()), "1");
  }
}

TEST_F(CarriedLogTest, UpdatesOfADroppedFamilyAreNotCarriedForEver) {
  const std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("f", {}).value();
  ASSERT_OK(db()->Put(*family, "k", "dropped"));
  ASSERT_OK(db()->DropColumnFamily(*family));
  for (int opening = 0; opening < 2; ++opening) {
    ASSERT_OK(database.Reopen());
    EXPECT_THAT(ReadAll(db()->NewIterator().get()), IsEmpty());
  }
}

// The opening dies at each of its calls, and so does the one that follows; after each the power goes, or the process
// only.
class CarriedCrashTest : public ::testing::Test {
 protected:
  // Synced updates of two families in the logs, those of one in a table too.
  static MemoryFileSystem Disk() {
    TestDatabase database;
    EXPECT_OK(database.Open());
    const std::shared_ptr<ColumnFamily> family = database.db->CreateColumnFamily("f", {}).value();
    EXPECT_OK(database.db->Put(*family, "first", "f"));
    EXPECT_OK(database.db->Put("table", "t"));
    EXPECT_OK(database.db->Flush());
    WriteBatch batch;
    batch.Put("both", "1");
    batch.Put(*family, "both", "2");
    EXPECT_OK(database.db->Write(batch));
    EXPECT_OK(database.db->SingleDelete("table"));
    EXPECT_OK(database.db->Put("last", "v", {.sync = true}));
    database.memory.Crash(CrashMode::kKillProcess, 0);
    return database.memory.Clone();
  }
  static void ExpectAll(TestDatabase* database) {
    EXPECT_THAT(ReadAll(database->db->NewIterator().get()),
                ElementsAre(std::pair("both", "1"), std::pair("last", "v")));
    const absl::StatusOr<std::shared_ptr<ColumnFamily>> family = database->db->FindColumnFamily("f");
    ASSERT_OK(family.status());
    EXPECT_THAT(ReadAll(database->db->NewIterator(**family).get()),
                ElementsAre(std::pair("both", "2"), std::pair("first", "f")));
    EXPECT_OK(database->db->CheckConsistency());
  }
  // An opening all of whose calls from the `call`th on fail. Returns whether it made all of its calls before.
  static bool DieAt(TestDatabase* database, uint64_t call, CrashMode mode, uint64_t seed) {
    const uint64_t before = database->files.CallCount();
    database->files.SetDecider(
        [before, call](const FileCall& made) { return made.number > before + call ? Fault::kIoError : Fault::kNone; });
    const bool opened = database->Open().ok();
    const bool all = opened && database->files.CallCount() <= before + call;
    database->memory.Crash(mode, seed);
    database->db.reset();
    database->files.Clear();
    return all;
  }
};

TEST_F(CarriedCrashTest, TheProcessMayDieOrThePowerGoAtAnyCallOfTwoOpenings) {
  const MemoryFileSystem disk = Disk();
  for (const CrashMode mode : {CrashMode::kKillProcess, CrashMode::kAnySubset, CrashMode::kLoseUnsynced}) {
    bool whole = false;
    for (uint64_t first = 1; !whole; ++first) {
      for (const uint64_t second : {first * 7 % 61, first * 13 % 67}) {
        SCOPED_TRACE(absl::StrFormat("mode %d, calls %d and %d", static_cast<int>(mode), first, second));
        TestDatabase database(Threads::kSimulated, {.seed = 1}, disk.Clone());
        whole = DieAt(&database, first, mode, first * 100 + second);
        DieAt(&database, second, mode, second * 100 + first);
        ASSERT_OK(database.Open());
        ExpectAll(&database);
        if (HasFailure()) return;
      }
    }
  }
}

}  // namespace
}  // namespace sepal

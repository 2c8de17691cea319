// The guard: the file CURRENT that keeps LevelDB and RocksDB away from a database, and whose CURRENT is whose.
#include "db/act/files/guard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/doctor/repair.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr const char* kGuard = "/db/CURRENT";

// What a power loss may leave of a guard that is being written.
const std::vector<std::string>& UnfinishedGuards() {
  static const std::vector<std::string> all = {"", "S", "Sepa", std::string(5, '\0'), "garba", "sepal", "a\n"};
  return all;
}
// What another engine may have written.
const std::vector<std::string>& ForeignGuards() {
  static const std::vector<std::string> all = {"MANIFEST-000002\n", "Sepal\n", "Sepals", std::string(6, '\0')};
  return all;
}

class GuardTest : public ::testing::Test {
 protected:
  // A database with a family, tables and a log; as version 0.1.0 leaves it, without the guard.
  static MemoryFileSystem OlderDatabase() {
    TestDatabase database;
    EXPECT_OK(database.Open());
    const std::shared_ptr<ColumnFamily> family = database.db->CreateColumnFamily("f", {}).value();
    for (uint64_t i = 0; i < 30; ++i) EXPECT_OK(database.db->Put(NumberedKey(i), std::string(40, 'a')));
    EXPECT_OK(database.db->Flush());
    EXPECT_OK(database.db->Put(*family, "key", "value", {.sync = true}));
    EXPECT_OK(database.db->Close());
    database.db.reset();
    Remove(&database.memory, "CURRENT");
    return database.memory.Clone();
  }
  static void Remove(MemoryFileSystem* disk, std::string_view name) {
    const std::unique_ptr<Directory> directory = disk->OpenDirectory("/db", false).value();
    EXPECT_OK(directory->Remove(name));
    EXPECT_OK(directory->Sync());
  }
  static void ExpectAll(TestDatabase* database) {
    EXPECT_EQ(ReadAll(database->db->NewIterator().get()).size(), 30u);
    const absl::StatusOr<std::shared_ptr<ColumnFamily>> family = database->db->FindColumnFamily("f");
    ASSERT_OK(family.status());
    EXPECT_EQ(database->db->Get(**family, "key").value_or("absent"), "value");
  }
  static std::string Guard(const MemoryFileSystem& disk) { return disk.ReadFileContents(kGuard).value_or("none"); }
  static TestDatabase On(MemoryFileSystem disk) {
    return TestDatabase(Threads::kSimulated, {.seed = 1}, std::move(disk));
  }

  // The calls of `work` that make something durable.
  static int Syncs(TestDatabase* database, const std::function<void()>& work) {
    database->files.SetTracing(true);
    work();
    std::istringstream lines(database->files.TakeTrace());
    database->files.SetTracing(false);
    int syncs = 0;
    for (std::string line; std::getline(lines, line);) syncs += line.find("sync") != std::string::npos ? 1 : 0;
    return syncs;
  }

  // Every call that opens, lists, repairs or destroys refuses the directory, and changes nothing.
  static void ExpectRefused(const MemoryFileSystem& disk, const std::string& words) {
    TestDatabase database = On(disk.Clone());
    const uint64_t before = database.memory.Fingerprint();
    const std::vector<absl::Status> refusals = {
        database.Open(),
        database.OpenReadOnly().status(),
        DB::ListColumnFamilies(database.options, "/db").status(),
        RepairTo(nullptr, database.options, "/db"),
        RepairTo(nullptr, database.options, "/db", {.dry_run = true}),
        DB::Destroy(database.options, "/db"),
    };
    for (const absl::Status& refused : refusals) {
      EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
      EXPECT_THAT(refused.ToString(), HasSubstr(words));
    }
    EXPECT_EQ(database.memory.Fingerprint(), before);
  }

  // Power is lost at each changing call of an opening of `disk`, in several ways. Afterwards `check` gets what is left.
  static void LosePowerAtEachCall(const MemoryFileSystem& disk, const std::function<void(TestDatabase*)>& check) {
    for (const CrashMode mode : {CrashMode::kKillProcess, CrashMode::kLoseUnsynced, CrashMode::kAnySubset}) {
      const uint64_t seeds = mode == CrashMode::kAnySubset ? 12 : 1;
      for (uint64_t seed = 0; seed < seeds; ++seed) {
        bool whole = false;
        for (uint64_t last = 0; !whole; ++last) {
          SCOPED_TRACE(absl::StrFormat("mode %d, seed %u, call %u", static_cast<int>(mode), seed, last));
          TestDatabase database = On(disk.Clone());
          uint64_t calls = 0;
          database.files.SetDecider([&](const FileCall& call) {
            if (IsMutation(call.op) && calls++ == last) database.memory.Crash(mode, seed * 1000 + last);
            return Fault::kNone;
          });
          whole = database.Open().ok() && calls <= last;
          database.files.Clear();
          database.db.reset();
          check(&database);
          if (HasFailure()) return;
        }
      }
    }
  }
};

TEST_F(GuardTest, ANewDatabaseHasIt) {
  TestDatabase database;
  ASSERT_OK(database.Open());
  EXPECT_EQ(Guard(database.memory), "Sepal");
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(Guard(database.memory), "Sepal");
}

TEST_F(GuardTest, ItIsDurableBeforeAnyManifest) {
  TestDatabase database;
  bool begun = false;
  database.files.SetDecider([&](const FileCall& call) {
    if (!begun && call.op == FileOp::kOpenWrite && call.name.starts_with("MANIFEST")) {
      begun = true;
      database.memory.Crash(CrashMode::kLoseUnsynced);
    }
    return Fault::kNone;
  });
  EXPECT_FALSE(database.Open().ok());
  EXPECT_TRUE(begun);
  EXPECT_EQ(Guard(database.memory), "Sepal");
  database.files.Clear();  // before what the decider names goes
}

TEST_F(GuardTest, AnOlderDatabaseGetsItBeforeAnythingElseIsWrittenAndAReaderMakesNone) {
  TestDatabase database = On(OlderDatabase());
  const uint64_t before = database.memory.Fingerprint();
  ASSERT_OK(database.OpenReadOnly().status());
  EXPECT_EQ(DB::ListColumnFamilies(database.options, "/db").value().size(), 2u);
  EXPECT_EQ(database.memory.Fingerprint(), before);
  std::vector<std::string> written;
  database.files.SetDecider([&](const FileCall& call) {
    if (call.op == FileOp::kOpenWrite) written.push_back(call.name);
    return Fault::kNone;
  });
  ASSERT_OK(database.Open());
  ASSERT_FALSE(written.empty());
  EXPECT_EQ(written.front(), "CURRENT");
  EXPECT_EQ(Guard(database.memory), "Sepal");
  ExpectAll(&database);
  database.files.Clear();  // before what the decider names goes
}

TEST_F(GuardTest, ADirectoryThatHasItIsOpenedWithoutASyncMore) {
  const MemoryFileSystem older = OlderDatabase();
  std::map<bool, int> syncs;
  for (const bool guarded : {false, true}) {
    TestDatabase database = On(older.Clone());
    if (guarded) {
      ASSERT_OK(database.memory.WriteFileContents(kGuard, "Sepal"));
    }
    syncs[guarded] = Syncs(&database, [&] { EXPECT_OK(database.Open()); });
  }
  // The file and its name.
  EXPECT_EQ(syncs[true], syncs[false] - 2);
}

TEST_F(GuardTest, ThePowerMayGoAtAnyCallWhileADatabaseIsMade) {
  LosePowerAtEachCall(MemoryFileSystem(), [](TestDatabase* database) {
    const bool made = database->OpenReadOnly().ok();
    // Where a manifest is whole, so is the guard.
    if (made) {
      EXPECT_EQ(Guard(database->memory), "Sepal");
    }
    ASSERT_OK(database->Open());
    ASSERT_OK(database->db->Put("k", "v"));
    EXPECT_EQ(Guard(database->memory), "Sepal");
  });
}

TEST_F(GuardTest, ThePowerMayGoAtAnyCallWhileAnOlderDatabaseGetsIt) {
  LosePowerAtEachCall(OlderDatabase(), [](TestDatabase* database) {
    ASSERT_OK(database->OpenReadOnly().status());
    ASSERT_OK(database->Open());
    ExpectAll(database);
    EXPECT_EQ(Guard(database->memory), "Sepal");
  });
}

TEST_F(GuardTest, ThePowerMayGoAtAnyCallBehindAMakingThatAPowerLossHasEnded) {
  MemoryFileSystem disk;
  ASSERT_OK(disk.WriteFileContents("/db/LOCK", ""));
  ASSERT_OK(disk.WriteFileContents("/db/MANIFEST-000001", std::string(300, 'g')));
  LosePowerAtEachCall(disk, [](TestDatabase* database) {
    ASSERT_OK(database->Open());
    EXPECT_EQ(Guard(database->memory), "Sepal");
  });
}

TEST_F(GuardTest, AFailedSyncOfItFailsTheOpeningAndLeavesNoneThatWouldBeTrusted) {
  const MemoryFileSystem older = OlderDatabase();
  for (const FileOp op : {FileOp::kSync, FileOp::kDirectorySync}) {
    TestDatabase database = On(older.Clone());
    database.files.Inject({.op = op});
    EXPECT_TRUE(absl::IsInternal(database.Open()));
    EXPECT_EQ(database.files.FaultCount(), 1u);
    EXPECT_EQ(Guard(database.memory), "none");
    database.files.Clear();
    ASSERT_OK(database.Open());
    database.db.reset();
    database.memory.Crash(CrashMode::kLoseUnsynced);
    EXPECT_EQ(Guard(database.memory), "Sepal");
  }
}

TEST_F(GuardTest, OneThatIsUnfinishedLocksNobodyOutAndIsMadeAnew) {
  const MemoryFileSystem older = OlderDatabase();
  for (const std::string& contents : UnfinishedGuards()) {
    SCOPED_TRACE(contents);
    MemoryFileSystem disk = older.Clone();
    ASSERT_OK(disk.WriteFileContents(kGuard, contents));
    TestDatabase database = On(disk.Clone());
    const uint64_t before = database.memory.Fingerprint();
    ASSERT_OK(database.OpenReadOnly().status());
    EXPECT_OK(DB::ListColumnFamilies(database.options, "/db").status());
    EXPECT_OK(RepairTo(nullptr, database.options, "/db", {.dry_run = true}));
    EXPECT_EQ(database.memory.Fingerprint(), before);
    ASSERT_OK(database.Open());
    EXPECT_EQ(Guard(database.memory), "Sepal");
    ExpectAll(&database);
    database.db.reset();
    database.memory.Crash(CrashMode::kLoseUnsynced);
    EXPECT_EQ(Guard(database.memory), "Sepal");
    TestDatabase destroyed = On(disk.Clone());
    EXPECT_OK(DB::Destroy(destroyed.options, "/db"));
    EXPECT_TRUE(FilesIn(&destroyed.memory, "/db").empty());
  }
}

TEST_F(GuardTest, OneThatIsUnfinishedAndAlone) {
  for (const std::string& contents : UnfinishedGuards()) {
    SCOPED_TRACE(contents);
    TestDatabase database;
    for (const char* name : {"LOCK", "LOG", "notes.txt"}) {
      ASSERT_OK(database.memory.WriteFileContents(std::string("/db/") + name, "x"));
    }
    ASSERT_OK(database.memory.WriteFileContents(kGuard, contents));
    EXPECT_TRUE(absl::IsNotFound(database.OpenReadOnly().status()));
    ASSERT_OK(database.Open());
    EXPECT_EQ(Guard(database.memory), "Sepal");
  }
}

TEST_F(GuardTest, OneThatIsUnfinishedBesideWhatMayBeAnotherEnginesIsRefused) {
  for (const std::string& contents : UnfinishedGuards()) {
    for (const char* name :
         {"MANIFEST-000002", "000003.log", "000005.ldb", "000005.sst", "OPTIONS-000007", "IDENTITY"}) {
      SCOPED_TRACE(contents + " " + name);
      MemoryFileSystem disk;
      ASSERT_OK(disk.WriteFileContents(kGuard, contents));
      ASSERT_OK(disk.WriteFileContents(std::string("/db/") + name, std::string(100, 'x')));
      ExpectRefused(disk, "may hold a LevelDB or RocksDB database");
    }
  }
}

TEST_F(GuardTest, WhatAnotherEngineHasWrittenIsRefusedAlsoBesideAManifestOfSepals) {
  const MemoryFileSystem older = OlderDatabase();
  for (const std::string& contents : ForeignGuards()) {
    SCOPED_TRACE(contents);
    MemoryFileSystem disk = older.Clone();
    ASSERT_OK(disk.WriteFileContents(kGuard, contents));
    ExpectRefused(disk, "holds a LevelDB or RocksDB database");
  }
}

TEST_F(GuardTest, OneThatCannotBeReadLocksNobodyOut) {
  const MemoryFileSystem older = OlderDatabase();
  for (const FileOp op : {FileOp::kOpenRead, FileOp::kRead}) {
    TestDatabase database = On(older.Clone());
    ASSERT_OK(database.memory.WriteFileContents(kGuard, "Sepal"));
    database.files.Inject({.op = op, .name_contains = "CURRENT", .sticky = true});
    EXPECT_OK(database.OpenReadOnly().status());
    EXPECT_OK(database.Open());
    EXPECT_EQ(Guard(database.memory), "Sepal");
    database.db.reset();
    EXPECT_OK(RepairTo(nullptr, database.options, "/db"));
    EXPECT_EQ(Guard(database.memory), "Sepal");
  }
}

TEST_F(GuardTest, ARepairMakesItAndADryRunDoesNot) {
  const MemoryFileSystem older = OlderDatabase();
  for (const bool damaged : {false, true}) {
    for (const char* contents : {"", "Sep", "none"}) {
      TestDatabase database = On(older.Clone());
      if (damaged) {
        for (const std::string& name : FilesIn(&database.memory, "/db")) {
          if (name.ends_with(".sst")) {
            ASSERT_OK(database.memory.FlipBit("/db/" + name, 100, 3));
          }
        }
      }
      if (contents != std::string_view("none")) {
        ASSERT_OK(database.memory.WriteFileContents(kGuard, contents));
      }
      const uint64_t before = database.memory.Fingerprint();
      RepairReport report;
      ASSERT_OK(RepairTo(&report, database.options, "/db", {.dry_run = true}));
      EXPECT_EQ(report.changed, damaged);
      EXPECT_EQ(database.memory.Fingerprint(), before);
      ASSERT_OK(RepairTo(&report, database.options, "/db"));
      EXPECT_EQ(report.changed, damaged);
      EXPECT_EQ(Guard(database.memory), "Sepal");
      ASSERT_OK(database.Open());
    }
  }
}

TEST_F(GuardTest, ItOutlivesAllThatADestroyRemovesButTheLock) {
  const MemoryFileSystem older = OlderDatabase();
  bool ended = false;
  for (uint64_t calls = 1; !ended; ++calls) {
    for (const CrashMode mode : {CrashMode::kKillProcess, CrashMode::kLoseUnsynced, CrashMode::kAnySubset}) {
      SCOPED_TRACE(absl::StrFormat("mode %d, call %u", static_cast<int>(mode), calls));
      TestDatabase database = On(older.Clone());
      ASSERT_OK(database.memory.WriteFileContents(kGuard, "Sepal"));
      database.files.SetDecider(
          [calls](const FileCall& call) { return call.number > calls ? Fault::kIoError : Fault::kNone; });
      ended = DB::Destroy(database.options, "/db").ok();
      database.files.Clear();
      database.memory.Crash(mode, calls);
      const std::vector<std::string> left = FilesIn(&database.memory, "/db");
      const bool data = std::any_of(left.begin(), left.end(), [](const std::string& name) {
        return name.ends_with(".sst") || name.ends_with(".log") || name.starts_with("MANIFEST");
      });
      if (data) {
        EXPECT_EQ(Guard(database.memory), "Sepal");
      }
      EXPECT_OK(DB::Destroy(database.options, "/db"));
      EXPECT_TRUE(FilesIn(&database.memory, "/db").empty());
    }
  }
}

TEST_F(GuardTest, ACheckpointHasItBeforeItsManifest) {
  TestDatabase database = On(OlderDatabase());
  ASSERT_OK(database.Open());
  bool begun = false;
  database.files.SetDecider([&](const FileCall& call) {
    if (!begun && call.op == FileOp::kOpenWrite && call.name.starts_with("MANIFEST")) {
      begun = true;
      MemoryFileSystem disk = database.memory.Clone();
      disk.Crash(CrashMode::kLoseUnsynced);
      EXPECT_EQ(disk.ReadFileContents("/copy/CURRENT").value_or("none"), "Sepal");
    }
    return Fault::kNone;
  });
  ASSERT_OK(database.db->Checkpoint("/copy", {}));
  EXPECT_TRUE(begun);
  EXPECT_THAT(FilesIn(&database.memory, "/copy"), Contains("CURRENT"));
  database.files.Clear();  // before what the decider names goes
}

}  // namespace
}  // namespace sepal

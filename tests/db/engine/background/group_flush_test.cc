// Families that have little, which one job flushes together.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

using ::testing::Contains;
using Handle = std::shared_ptr<const ColumnFamily>;

constexpr int kGroupFamilies = 12;

class GroupFlushTest : public ::testing::Test {
 protected:
  // What a database of several families is to hold, and whether it does.
  static std::string ValueIn(int family) { return absl::StrCat("value ", family, std::string(50, 'v')); }
  static std::unique_ptr<TestDatabase> Open(uint64_t seed = 1) {
    auto database = std::make_unique<TestDatabase>(Threads::kSimulated, seed, /*switch_one_in=*/2);
    EXPECT_OK(database->Open());
    return database;
  }
  static std::vector<Handle> MakeFamilies(DB* db) {
    std::vector<Handle> families;
    for (int i = 0; i < kGroupFamilies; ++i) {
      families.push_back(db->CreateColumnFamily(absl::StrCat("f", i), {}).value());
    }
    return families;
  }
  // Has all families wait for a flush, which begins when background work continues.
  static void FillInPause(DB* db, const std::vector<Handle>& families, const WriteOptions& how = {}) {
    ASSERT_OK(db->WaitForBackgroundWork());
    ASSERT_OK(db->PauseBackgroundWork());
    for (int i = 0; i < kGroupFamilies; ++i) {
      ASSERT_OK(db->Put(*families[static_cast<size_t>(i)], "key", ValueIn(i), how));
      ASSERT_OK(db->Flush(*families[static_cast<size_t>(i)], {.wait = false}));
    }
  }
  static void ExpectAll(DB* db, int but = -1) {
    for (int i = 0; i < kGroupFamilies; ++i) {
      const absl::StatusOr<Handle> family = db->FindColumnFamily(absl::StrCat("f", i));
      EXPECT_EQ(family.ok(), i != but) << i;
      if (!family.ok()) continue;
      EXPECT_EQ(db->Get(**family, "key").value_or("nothing"), ValueIn(i)) << i;
    }
  }
  static size_t TableFilesOf(TestDatabase* database) {
    const std::vector<std::string> names = FilesIn(&database->memory, database->path);
    return static_cast<size_t>(
        std::count_if(names.begin(), names.end(), [](const std::string& name) { return name.ends_with(".sst"); }));
  }
  static bool IsSyncOf(const FileCall& call, std::string_view part) {
    return call.op == FileOp::kSync && call.name.find(part) != std::string::npos;
  }
};

TEST_F(GroupFlushTest, OneEditAddsTheTablesOfAllAfterOneSyncOfTheDirectory) {
  const std::unique_ptr<TestDatabase> database = Open();
  DB* const db = database->db.get();
  const std::vector<Handle> families = MakeFamilies(db);
  std::string calls;
  database->files.SetDecider([&](const FileCall& call) {
    if (IsSyncOf(call, ".sst")) calls += 't';
    if (IsSyncOf(call, ".log")) calls += 'l';
    if (IsSyncOf(call, "MANIFEST")) calls += 'm';
    if (call.op == FileOp::kDirectorySync) calls += 'd';
    return Fault::kNone;
  });
  ASSERT_NO_FATAL_FAILURE(FillInPause(db, families));
  calls.clear();
  ASSERT_OK(db->ContinueBackgroundWork());
  ASSERT_OK(db->WaitForBackgroundWork());
  database->files.SetDecider(nullptr);
  EXPECT_EQ(std::count(calls.begin(), calls.end(), 'm'), 1) << calls;
  const size_t tables = calls.find(std::string(kGroupFamilies, 't'));
  ASSERT_NE(tables, std::string::npos) << calls;
  EXPECT_LT(calls.find('l'), tables) << "the log comes first: " << calls;
  EXPECT_EQ(calls.substr(tables + kGroupFamilies), "dm") << calls;
  EXPECT_EQ(TableFilesOf(database.get()), static_cast<size_t>(kGroupFamilies));
  EXPECT_EQ(db->statistics().Get(Ticker::kFlushes), static_cast<uint64_t>(kGroupFamilies));
  ExpectAll(db);
  ASSERT_OK(database->CrashAndReopen(CrashMode::kLoseUnsynced));
  ExpectAll(database->db.get());
}

TEST_F(GroupFlushTest, ManyFamiliesUnderPressureMakeFewEdits) {
  TestDatabase database;
  database.tuning.memtable_bytes = size_t{512} << 10;
  database.tuning.memtable_limit_bytes = size_t{1} << 20;
  database.tuning.log_limit_bytes = size_t{8} << 20;
  database.tuning.unread_runs = 1000;
  database.tuning.manifest_limit_bytes = size_t{4} << 20;
  ASSERT_OK(database.Open());
  constexpr size_t kMany = 150;
  std::vector<Handle> families;
  for (size_t i = 0; i < kMany; ++i) {
    families.push_back(database.db->CreateColumnFamily(absl::StrCat("f", i), {}).value());
  }
  ASSERT_OK(database.db->WaitForBackgroundWork());
  size_t edits = 0;
  database.files.SetDecider([&](const FileCall& call) {
    edits += IsSyncOf(call, "MANIFEST") ? 1 : 0;
    return Fault::kNone;
  });
  const std::string value(100, 'v');
  for (size_t i = 0; i < 40 * kMany; ++i) {
    ASSERT_OK(database.db->Put(*families[i * 7 % kMany], NumberedKey(i), value));
  }
  ASSERT_OK(database.db->WaitForBackgroundWork());
  const uint64_t flushes = database.db->statistics().Get(Ticker::kFlushes);
  EXPECT_GT(flushes, kMany);
  EXPECT_LT(edits, flushes / 4);
  database.files.Clear();
}

TEST_F(GroupFlushTest, WhereOneTableCannotBeSyncedNoneIsInstalledAndNothingIsLost) {
  for (uint64_t fails = 0; fails <= kGroupFamilies; ++fails) {
    SCOPED_TRACE(fails);
    const std::unique_ptr<TestDatabase> database = Open(fails + 1);
    const std::vector<Handle> families = MakeFamilies(database->db.get());
    ASSERT_NO_FATAL_FAILURE(FillInPause(database->db.get(), families, {.sync = true}));
    // The last one is the directory.
    if (fails < kGroupFamilies) {
      database->files.Inject({.fault = Fault::kIoError, .op = FileOp::kSync, .name_contains = ".sst", .skip = fails});
    } else {
      database->files.Inject({.fault = Fault::kIoError, .op = FileOp::kDirectorySync});
    }
    ASSERT_OK(database->db->ContinueBackgroundWork());
    EXPECT_FALSE(database->db->WaitForBackgroundWork().ok());
    EXPECT_FALSE(database->db->Put("key", "value").ok()) << "writing has ended";
    EXPECT_EQ(TableFilesOf(database.get()), 0u);
    ExpectAll(database->db.get());
    database->files.Clear();
    ASSERT_OK(database->CrashAndReopen(CrashMode::kLoseUnsynced));
    ExpectAll(database->db.get());
  }
}

TEST_F(GroupFlushTest, AFullDiskIsTriedAgainByAll) {
  for (const FileOp op : {FileOp::kSync, FileOp::kAppend, FileOp::kOpenWrite}) {
    for (uint64_t skip = 0; skip < kGroupFamilies; skip += 3) {
      SCOPED_TRACE(std::string(ToString(op)) + " " + std::to_string(skip));
      const std::unique_ptr<TestDatabase> database = Open(skip + 1);
      const std::vector<Handle> families = MakeFamilies(database->db.get());
      database->files.Inject({.fault = Fault::kNoSpace, .op = op, .name_contains = ".sst", .skip = skip});
      ASSERT_NO_FATAL_FAILURE(FillInPause(database->db.get(), families));
      ASSERT_OK(database->db->ContinueBackgroundWork());
      ASSERT_OK(database->db->WaitForBackgroundWork());
      EXPECT_EQ(database->files.FaultCount(), 1u);
      EXPECT_EQ(TableFilesOf(database.get()), static_cast<size_t>(kGroupFamilies));
      ExpectAll(database->db.get());
      ASSERT_OK(database->CrashAndReopen(CrashMode::kLoseUnsynced));
      ExpectAll(database->db.get());
    }
  }
}

// As with few descriptors that are left, or little space.
TEST_F(GroupFlushTest, WhatCannotBeWrittenTogetherIsWrittenOneByOne) {
  constexpr int kMostUnsynced = 4;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    const std::unique_ptr<TestDatabase> database = Open(seed);
    DB* const db = database->db.get();
    const std::vector<Handle> families = MakeFamilies(db);
    int unsynced = 0, refused = 0;
    database->files.SetDecider([&](const FileCall& call) {
      if (!call.name.ends_with(".sst")) return Fault::kNone;
      if (call.op == FileOp::kSync || call.op == FileOp::kRemove) unsynced = std::max(0, unsynced - 1);
      if (call.op != FileOp::kOpenWrite) return Fault::kNone;
      if (unsynced >= kMostUnsynced) {
        ++refused;
        return Fault::kNoSpace;
      }
      ++unsynced;
      return Fault::kNone;
    });
    ASSERT_NO_FATAL_FAILURE(FillInPause(db, families));
    ASSERT_OK(db->ContinueBackgroundWork());
    ASSERT_OK(db->WaitForBackgroundWork());
    database->files.Clear();
    EXPECT_GT(refused, 0);
    EXPECT_EQ(TableFilesOf(database.get()), static_cast<size_t>(kGroupFamilies));
    ASSERT_OK(database->CrashAndReopen(CrashMode::kLoseUnsynced));
    ExpectAll(database->db.get());
  }
}

TEST_F(GroupFlushTest, AFamilyThatIsDroppedMeanwhileIsLeftOut) {
  std::vector<bool> table_removed;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    SCOPED_TRACE(seed);
    const std::unique_ptr<TestDatabase> database = Open(seed);
    DB* const db = database->db.get();
    const std::vector<Handle> families = MakeFamilies(db);
    size_t made = 0;
    database->files.SetDecider([&](const FileCall& call) {
      made += call.op == FileOp::kOpenWrite && call.name.ends_with(".sst") ? 1 : 0;
      return Fault::kNone;
    });
    ASSERT_NO_FATAL_FAILURE(FillInPause(db, families));
    ASSERT_OK(db->ContinueBackgroundWork());
    while (made < seed % kGroupFamilies) ASSERT_OK(db->Put("other", "value"));
    const int dropped = static_cast<int>(seed % 5);
    ASSERT_OK(db->DropColumnFamily(*families[static_cast<size_t>(dropped)]));
    ASSERT_OK(db->WaitForBackgroundWork());
    table_removed.push_back(made == kGroupFamilies);
    // Obsolete files are removed by the job that ends next.
    ASSERT_OK(db->Put("other", "value"));
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->WaitForBackgroundWork());
    uint64_t live = 0;
    ASSERT_OK(db->CompactRange());
    ASSERT_OK(db->WaitForBackgroundWork());
    for (int i = 0; i < kGroupFamilies; ++i) {
      if (i != dropped) live += NumberProperty(db, "sepal.num-files-at-level0", families[static_cast<size_t>(i)].get());
    }
    EXPECT_EQ(live, static_cast<uint64_t>(kGroupFamilies - 1));
    EXPECT_EQ(TableFilesOf(database.get()), live + 1) << "and one of the default family";
    ExpectAll(db, dropped);
    database->files.Clear();
    ASSERT_OK(database->CrashAndReopen(CrashMode::kLoseUnsynced));
    ExpectAll(database->db.get(), dropped);
  }
  EXPECT_THAT(table_removed, Contains(true)) << "no schedule had a family dropped that had a table already";
}

TEST_F(GroupFlushTest, APowerLossAtAnyCallLosesNothingThatWasSynced) {
  bool passed_all = false;
  for (uint64_t call = 1; !passed_all; ++call) {
    SCOPED_TRACE(call);
    const std::unique_ptr<TestDatabase> database = Open(call);
    const std::vector<Handle> families = MakeFamilies(database->db.get());
    ASSERT_NO_FATAL_FAILURE(FillInPause(database->db.get(), families, {.sync = true}));
    database->files.Inject({.fault = Fault::kIoError, .mutations_only = true, .skip = call, .sticky = true});
    ASSERT_OK(database->db->ContinueBackgroundWork());
    passed_all = database->db->WaitForBackgroundWork().ok();
    database->world->RunUntilIdle();
    database->memory.Crash(CrashMode::kAnySubset, call);
    database->files.Clear();
    ASSERT_OK(database->Open());
    ExpectAll(database->db.get());
  }
}

TEST_F(GroupFlushTest, AFamilyWithRangeTombstonesIsFlushedByItself) {
  const std::unique_ptr<TestDatabase> database = Open();
  DB* const db = database->db.get();
  const std::vector<Handle> families = MakeFamilies(db);
  ASSERT_NO_FATAL_FAILURE(FillInPause(db, families));
  ASSERT_OK(db->ContinueBackgroundWork());
  ASSERT_OK(db->WaitForBackgroundWork());
  ASSERT_OK(db->PauseBackgroundWork());
  for (size_t i = 0; i < families.size(); ++i) {
    if (i % 3 == 0) {
      ASSERT_OK(db->DeleteRange(*families[i], "k", "l"));
    }
    ASSERT_OK(db->Put(*families[i], "later", "value"));
    ASSERT_OK(db->Flush(*families[i], {.wait = false}));
  }
  ASSERT_OK(db->ContinueBackgroundWork());
  // The second memtable of one comes while the first waits, with a range.
  ASSERT_OK(db->DeleteRange(*families[1], "k", "l"));
  ASSERT_OK(db->Flush(*families[1], {.wait = false}));
  ASSERT_OK(db->WaitForBackgroundWork());
  const auto expect = [](DB* open) {
    for (size_t i = 0; i < kGroupFamilies; ++i) {
      const Handle family = open->FindColumnFamily(absl::StrCat("f", i)).value();
      EXPECT_EQ(open->Get(*family, "key").ok(), i % 3 != 0 && i != 1) << i;
      EXPECT_TRUE(open->Get(*family, "later").ok()) << i;
    }
  };
  expect(db);
  ASSERT_OK(database->CrashAndReopen(CrashMode::kLoseUnsynced));
  expect(database->db.get());
}

TEST_F(GroupFlushTest, ConcurrentWritersReadersAndADropBesideFlushesOfManyFamiliesLoseNothing) {
  TestDatabase database(Threads::kReal);
  database.tuning.memtable_bytes = size_t{256} << 10;
  database.tuning.memtable_limit_bytes = size_t{512} << 10;
  database.tuning.log_limit_bytes = size_t{4} << 20;
  ASSERT_OK(database.Open());
  constexpr size_t kMany = 60;
  constexpr uint64_t kPutsOfEach = 1500;
  DB* const db = database.db.get();
  std::vector<Handle> families;
  for (size_t i = 0; i < kMany; ++i) families.push_back(db->CreateColumnFamily(absl::StrCat("f", i), {}).value());
  const Handle passing = db->CreateColumnFamily("passing", {}).value();
  const auto family_of = [&](uint64_t i) -> const ColumnFamily& { return *families[i * 7919 % kMany]; };
  {
    std::vector<Thread> threads;
    for (uint64_t writer = 0; writer < 2; ++writer) {
      threads.emplace_back([&, writer] {
        for (uint64_t i = writer; i < 2 * kPutsOfEach; i += 2) {
          EXPECT_OK(db->Put(family_of(i), NumberedKey(i), std::string(100, 'v')));
          EXPECT_TRUE(db->Get(family_of(i), NumberedKey(i)).ok());
          if (i < kPutsOfEach) (void)db->Put(*passing, NumberedKey(i), "passing");
        }
      });
    }
    threads.emplace_back([&] {
      while (database.Metrics().ImmutableMemtables() == 0 && db->statistics().Get(Ticker::kFlushes) == 0) {
        EXPECT_TRUE(absl::IsNotFound(db->Get("key").status()));
      }
      EXPECT_OK(db->DropColumnFamily(*passing));
    });
    for (Thread& thread : threads) thread.Join();
  }
  for (uint64_t i = 0; i < 2 * kPutsOfEach; ++i) EXPECT_TRUE(db->Get(family_of(i), NumberedKey(i)).ok()) << i;
  ASSERT_OK(database.Reopen());
  for (uint64_t i = 0; i < 2 * kPutsOfEach; ++i) {
    const Handle family = database.db->FindColumnFamily(absl::StrCat("f", i * 7919 % kMany)).value();
    EXPECT_TRUE(database.db->Get(*family, NumberedKey(i)).ok()) << i;
  }
}

TEST_F(GroupFlushTest, ClosingFlushesWhatNoLogHoldsTogether) {
  const std::unique_ptr<TestDatabase> database = Open();
  const std::vector<Handle> families = MakeFamilies(database->db.get());
  for (int i = 0; i < kGroupFamilies; ++i) {
    ASSERT_OK(database->db->Put(*families[static_cast<size_t>(i)], "key", ValueIn(i), {.disable_wal = true}));
  }
  size_t edits = 0;
  database->files.SetDecider([&](const FileCall& call) {
    edits += IsSyncOf(call, "MANIFEST") ? 1 : 0;
    return Fault::kNone;
  });
  ASSERT_OK(database->db->Close());
  database->files.SetDecider(nullptr);
  EXPECT_LT(edits, static_cast<size_t>(kGroupFamilies));
  ASSERT_OK(database->CrashAndReopen(CrashMode::kLoseUnsynced));
  ExpectAll(database->db.get());
}

}  // namespace
}  // namespace sepal

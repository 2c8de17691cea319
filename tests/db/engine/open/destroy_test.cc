// What destroying a database removes, leaves and refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/db/engine/engine_fixture.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

class DestroyTest : public ::testing::Test {
 protected:
  DB* db() { return database.db.get(); }
  TestDatabase database;
};

// What a repair has put aside is the database's.
TEST_F(DestroyTest, DestroyRemovesWhatARepairHasPutAside) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Close());
  database.db.reset();
  for (const char* name : {"000003.sst", "000003.sst.1", "MANIFEST-000001.12"}) {
    ASSERT_OK(database.memory.WriteFileContents(std::string("/db/lost/") + name, "put aside"));
  }
  MemoryFileSystem with_notes = database.memory.Clone();
  ASSERT_OK(DB::Destroy(database.options, "/db"));
  EXPECT_EQ(database.memory.OpenDirectory("/db/lost", false).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(database.memory.OpenDirectory("/db", false).status().code(), absl::StatusCode::kNotFound);
  for (const char* name : {"notes.1", "000003.sst.", "000003.sst.old", "7"}) {
    ASSERT_OK(with_notes.WriteFileContents(std::string("/db/lost/") + name, "mine"));
  }
  Options options = database.options;
  options.env.file_system = &with_notes;
  ASSERT_OK(DB::Destroy(options, "/db"));
  EXPECT_THAT(FilesIn(&with_notes, "/db/lost"), SizeIs(4));
}

TEST_F(DestroyTest, DestroyLeavesWhatOnlyHasTheNameOfWhatARepairPutsAside) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Close());
  database.db.reset();
  {
    auto inner = Engine::Open(database.options, database.tuning, "/db/lost");
    ASSERT_OK(inner.status());
    ASSERT_OK((*inner)->Put("k", "v"));
    ASSERT_OK(DB::Destroy(database.options, "/db"));
    ASSERT_OK((*inner)->Flush());
    ASSERT_OK((*inner)->Close());
  }
  ASSERT_OK(DB::Destroy(database.options, "/db"));
  auto inner = Engine::Open(database.options, database.tuning, "/db/lost");
  ASSERT_OK(inner.status());
  EXPECT_EQ(Value(inner->get(), "k"), "v");
}

// Which would pass for a database that has lost its tables.
TEST_F(DestroyTest, ADestroyThatDiesLeavesNoManifestWithoutTables) {
  ASSERT_OK(database.Open());
  ASSERT_OK(db()->Put("k", "v"));
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->Close());
  database.db.reset();
  const MemoryFileSystem disk = database.memory.Clone();
  bool ended = false;
  for (uint64_t calls = 1; !ended; ++calls) {
    for (const CrashMode mode : {CrashMode::kKillProcess, CrashMode::kAnySubset}) {
      TestDatabase copy(Threads::kSimulated, {.seed = 1}, disk.Clone());
      copy.files.SetDecider(
          [calls](const FileCall& call) { return call.number > calls ? Fault::kIoError : Fault::kNone; });
      ended = DB::Destroy(copy.options, "/db").ok();
      copy.files.Clear();
      copy.memory.Crash(mode, calls);
      copy.options.create_if_missing = false;
      const absl::Status opened = copy.Open();
      if (opened.ok()) {
        EXPECT_EQ(Value(copy.db.get(), "k"), "v");
      } else if (absl::IsDataLoss(opened)) {
        EXPECT_THAT(opened.ToString(), HasSubstr("no manifest"));
      } else {
        EXPECT_TRUE(absl::IsNotFound(opened)) << opened;
      }
      copy.db.reset();
      EXPECT_OK(DB::Destroy(copy.options, "/db"));
    }
  }
}

// The directory goes between its making and its locking.
TEST_F(DestroyTest, NoOpeningBesideADestroyIsToldThatTheDirectoryIsMissing) {
  char directory[] = "/tmp/sepal_destroy_XXXXXX";
  ASSERT_NE(mkdtemp(directory), nullptr);
  const std::string path = std::string(directory) + "/db";
  std::atomic<bool> ended = false;
  const auto allowed = [](const absl::Status& status) { return status.ok() || absl::IsUnavailable(status); };
  std::vector<Thread> destroyers;
  for (int i = 0; i < 2; ++i) {
    destroyers.emplace_back([&] {
      while (!ended) {
        const absl::Status destroyed = DB::Destroy({}, path);
        EXPECT_TRUE(allowed(destroyed)) << destroyed;
      }
    });
  }
  for (int i = 0; i < 100; ++i) {
    const absl::Status opened =
        DB::Open({.create_if_missing = true, .memory_limit = size_t{8} << 20, .info_log = false}, path).status();
    EXPECT_TRUE(allowed(opened)) << opened;
  }
  ended = true;
  for (Thread& destroyer : destroyers) destroyer.Join();
  ASSERT_OK(DB::Destroy({}, path));
  EXPECT_EQ(rmdir(directory), 0);
}

}  // namespace
}  // namespace sepal

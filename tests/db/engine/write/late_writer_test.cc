// A writer that closes just before a Destroy or a Repair gets the lock: what it made and removed counts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::Contains;
using ::testing::IsEmpty;

// With true threads: a simulated one must not wait while a file call is under way, as the late writer may.
class LateWriterTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_OK(database.Open());
    for (uint64_t i = 0; i < 300; ++i) ASSERT_OK(db()->Put(NumberedKey(i), "value of " + std::to_string(i)));
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->Close());
    database.db.reset();
  }
  DB* db() { return database.db.get(); }
  std::string First(std::string_view part) {
    for (const std::string& name : FilesIn(&database.memory, "/db")) {
      if (name.find(part) != std::string::npos) return name;
    }
    return "none";
  }
  // `act` must keep to the file system in memory.
  void JustBeforeTheLock(std::function<void()> act) {
    database.files.SetDecider([act = std::move(act)](const FileCall& call) {
      if (call.op == FileOp::kLock) act();
      return Fault::kNone;
    });
  }

  TestDatabase database{Threads::kReal};
};

TEST_F(LateWriterTest, ADestroyRemovesWhatItMadeAndMissesNothingThatItRemoved) {
  JustBeforeTheLock([&] {
    const std::unique_ptr<Directory> directory = database.memory.OpenDirectory("/db", false).value();
    ASSERT_OK(directory->Remove(First(".sst")));
    ASSERT_OK(database.memory.WriteFileContents("/db/000999.sst", "merged"));
  });
  ASSERT_OK(DB::Destroy(database.options, "/db"));
  database.files.Clear();
  EXPECT_THAT(FilesIn(&database.memory, "/db"), IsEmpty());
  ASSERT_OK(database.Open());
  EXPECT_THAT(ReadAll(db()->NewIterator().get()), IsEmpty());
}

TEST_F(LateWriterTest, ARepairPutsAsideTheManifestThatItMade) {
  ASSERT_OK(database.memory.FlipBit("/db/" + First(".sst"), 20, 3));
  const std::string manifest = First("MANIFEST");
  JustBeforeTheLock([&] {
    Options options = database.options;
    options.env.file_system = &database.memory;
    absl::StatusOr<std::unique_ptr<DB>> writer = Engine::Open(options, database.tuning, "/db");
    ASSERT_OK(writer.status());
    ASSERT_OK((*writer)->Close());
    ASSERT_NE(First("MANIFEST"), manifest);
  });
  RepairReport report;
  ASSERT_OK(RepairTo(&report, database.options, "/db"));
  database.files.Clear();
  EXPECT_EQ(report.tables_rewritten, 1u) << report.ToString();
  EXPECT_THAT(FilesIn(&database.memory, "/db/lost"), Contains(report.put_aside.front()));
  ASSERT_OK(database.Open());
  EXPECT_OK(db()->CheckConsistency());
}

}  // namespace
}  // namespace sepal

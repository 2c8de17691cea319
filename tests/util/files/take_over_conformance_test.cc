// What every file system promises of taking a lock over (DirectoryLock in sepal/file_system.h), asked of each of them.
// Two clients of one store: "a" has the lock, "b" takes it over.
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/util/files/file_system_worlds.h"

namespace sepal {
namespace {

using ::testing::UnorderedElementsAre;

class TakeOverConformanceTest : public FileSystemConformanceTest {
 protected:
  std::unique_ptr<Directory> OpenAnother() { return another()->OpenDirectory(Path("db"), false).value(); }
  static void ExpectFenced(const absl::Status& status) {
    EXPECT_EQ(status.code(), absl::StatusCode::kAborted) << status;
    EXPECT_THAT(std::string(ToStd(status.message())), ::testing::HasSubstr("taken"));
  }
  static std::string ReadFrom(Directory& directory, std::string_view name) {
    const std::unique_ptr<ReadableFile> file = directory.OpenForRead(name).value();
    return ReadAt(*file, 0, file->Size().value() + 1);
  }
};

INSTANTIATE_TEST_SUITE_P(All, TakeOverConformanceTest, AllWorlds(), NameOfWorld);

TEST_P(TakeOverConformanceTest, WithoutFencesALockIsNeverTakenOver) {
  if (dir().capabilities().fences) GTEST_SKIP();
  EXPECT_EQ(another(), nullptr);
  ExpectError(dir().Lock("LOCK", LockRequest::kTakeOver).status(), absl::StatusCode::kUnimplemented, "take_over");
  EXPECT_TRUE(Entries().empty());
  std::unique_ptr<DirectoryLock> lock = dir().Lock("LOCK").value();
  ExpectError(dir().Lock("LOCK", LockRequest::kTakeOver).status(), absl::StatusCode::kUnimplemented, "LOCK");
  EXPECT_TRUE(lock->Check().ok());
}

TEST_P(TakeOverConformanceTest, AFreeLockIsTakenAndAClientCannotTakeItFromItself) {
  if (another() == nullptr) GTEST_SKIP();
  std::unique_ptr<DirectoryLock> lock = dir().Lock("LOCK", LockRequest::kTakeOver).value();
  EXPECT_TRUE(lock->Check().ok());
  EXPECT_EQ(Open("db")->Lock("LOCK", LockRequest::kTakeOver).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(lock->Check().ok());
  Write("f", "still mine");
  EXPECT_EQ(Read("f"), "still mine");
}

TEST_P(TakeOverConformanceTest, APlainLockOfAnotherClientIsUnavailableAndFencesNobody) {
  if (another() == nullptr) GTEST_SKIP();
  std::unique_ptr<DirectoryLock> lock = dir().Lock("LOCK").value();
  EXPECT_EQ(OpenAnother()->Lock("LOCK").status().code(), absl::StatusCode::kUnavailable);
  EXPECT_TRUE(lock->Check().ok());
  Write("f", "still mine");
}

TEST_P(TakeOverConformanceTest, EveryChangeOfTheEarlierHolderFailsAndItsReadsGoOn) {
  if (another() == nullptr) GTEST_SKIP();
  std::unique_ptr<DirectoryLock> lock = dir().Lock("LOCK").value();
  Write("old", "acknowledged");
  std::unique_ptr<WritableFile> log = Create("log");
  ASSERT_TRUE(log->Append("synced").ok());
  ASSERT_TRUE(log->Sync().ok());
  ASSERT_TRUE(dir().Sync().ok());
  const std::unique_ptr<ReadableFile> old = dir().OpenForRead("old").value();

  std::unique_ptr<Directory> theirs = OpenAnother();
  std::unique_ptr<DirectoryLock> taken = theirs->Lock("LOCK", LockRequest::kTakeOver).value();
  EXPECT_TRUE(taken->Check().ok());
  EXPECT_EQ(ReadFrom(*theirs, "log"), "synced");

  // What reaches the store late is late for ever.
  log->Append(" late").IgnoreError();
  ExpectFenced(log->Sync());
  ExpectFenced(log->Sync());
  ExpectFenced(dir().OpenForWrite("new", WriteMode::kCreateNew).status());
  ExpectFenced(dir().Remove("old"));
  ExpectFenced(dir().Rename("old", "older"));
  ExpectFenced(dir().Sync());
  ExpectFenced(lock->Check());
  if (dir().capabilities().hard_link) ExpectFenced(dir().Link("old", dir(), "twin"));
  EXPECT_EQ(ReadAt(*old, 0, 100), "acknowledged");
  EXPECT_FALSE(log->Close().ok());
  log.reset();
  lock.reset();

  EXPECT_TRUE(taken->Check().ok());
  EXPECT_EQ(ReadFrom(*theirs, "log"), "synced");
  EXPECT_EQ(ReadFrom(*theirs, "old"), "acknowledged");
  std::vector<std::string> names;
  const std::vector<DirectoryEntry> entries = theirs->List().value();
  for (const DirectoryEntry& entry : entries) names.push_back(entry.name);
  EXPECT_THAT(names, UnorderedElementsAre("LOCK", "log", "old"));
}

TEST_P(TakeOverConformanceTest, AFencedClientStaysFencedOnceTheLockIsFreeAgain) {
  if (another() == nullptr) GTEST_SKIP();
  std::unique_ptr<DirectoryLock> lock = dir().Lock("LOCK").value();
  std::unique_ptr<WritableFile> file = Create("f");
  OpenAnother()->Lock("LOCK", LockRequest::kTakeOver).value().reset();
  lock.reset();
  file->Append("late").IgnoreError();
  ExpectFenced(file->Sync());
  EXPECT_FALSE(dir().Lock("LOCK").ok());
  EXPECT_FALSE(dir().Lock("LOCK", LockRequest::kTakeOver).ok());
}

}  // namespace
}  // namespace sepal

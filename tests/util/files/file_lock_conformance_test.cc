// What every file system promises of locks (sepal/file_system.h), asked of each of them.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "tests/util/files/file_system_worlds.h"

namespace sepal {
namespace {

using ::testing::UnorderedElementsAre;

using FileLockConformanceTest = FileSystemConformanceTest;

INSTANTIATE_TEST_SUITE_P(All, FileLockConformanceTest, AllWorlds(), NameOfWorld);

TEST_P(FileLockConformanceTest, ASecondLockOnTheSameDirectoryIsUnavailableAndSaysWhatToDo) {
  std::unique_ptr<DirectoryLock> lock = dir().Lock("LOCK").value();
  EXPECT_TRUE(lock->Check().ok());
  ExpectError(dir().Lock("LOCK").status(), absl::StatusCode::kUnavailable, "read-only");
  std::unique_ptr<Directory> again = Open("db");
  ExpectError(again->Lock("LOCK").status(), absl::StatusCode::kUnavailable, Path("db"));
  ExpectError(again->Lock("LOCK").status(), absl::StatusCode::kUnavailable, std::to_string(::getpid()));
  EXPECT_TRUE(lock->Check().ok());
}

TEST_P(FileLockConformanceTest, ALockIsFreeOnceItsHolderIsDestroyedAndItsFileStays) {
  dir().Lock("LOCK").value().reset();
  EXPECT_THAT(Names(), UnorderedElementsAre("LOCK"));
  EXPECT_TRUE(dir().Lock("LOCK").ok());
}

TEST_P(FileLockConformanceTest, LocksInDifferentDirectoriesDoNotMeet) {
  std::unique_ptr<Directory> other = Open("other");
  std::unique_ptr<DirectoryLock> lock = dir().Lock("LOCK").value();
  EXPECT_TRUE(other->Lock("LOCK").ok());
}

TEST_P(FileLockConformanceTest, ALockNoticesThatItsFileWasReplaced) {
  std::unique_ptr<DirectoryLock> lock = dir().Lock("LOCK").value();
  ASSERT_TRUE(dir().Remove("LOCK").ok());
  EXPECT_FALSE(lock->Check().ok());
  std::unique_ptr<DirectoryLock> second = dir().Lock("LOCK").value();
  EXPECT_FALSE(lock->Check().ok());
  EXPECT_TRUE(second->Check().ok());
}

TEST_P(FileLockConformanceTest, AForkedChildDoesNotHoldItsParentsLock) {
  std::unique_ptr<DirectoryLock> lock = dir().Lock("LOCK").value();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool refused = absl::IsFailedPrecondition(lock->Check());
    lock.reset();  // Lets nothing go that is the parent's.
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_TRUE(lock->Check().ok());
  EXPECT_TRUE(absl::IsUnavailable(dir().Lock("LOCK").status()));
}

}  // namespace
}  // namespace sepal

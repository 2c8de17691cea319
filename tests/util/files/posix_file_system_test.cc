// What only the operating system's files have: permissions, symbolic links, other processes.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sepal/file_system.h"
#include "tests/child_exit.h"
#include "util/base/strings.h"
#include "util/files/posix_file.h"
#include "util/files/posix_status.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

class PosixFileSystemTest : public testing::Test {
 protected:
  PosixFileSystemTest() {
    const char* base = std::getenv("TMPDIR");
    root_ = std::string(base != nullptr ? base : "/tmp") + "/sepal_posix_XXXXXX";
    if (::mkdtemp(root_.data()) == nullptr) std::abort();
    directory_ = FileSystem::Posix()->OpenDirectory(root_ + "/db", true).value();
  }
  ~PosixFileSystemTest() override { std::filesystem::remove_all(root_); }

  static mode_t ModeOf(const std::string& path) {
    struct stat info;
    EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
    return info.st_mode & 0777;
  }
  std::string Path(std::string_view name) const { return root_ + "/db/" + std::string(name); }

  std::string root_;
  std::unique_ptr<Directory> directory_;
};

TEST_F(PosixFileSystemTest, FilesAndDirectoriesAreForTheirOwnerOnly) {
  const mode_t before = ::umask(0);
  ASSERT_TRUE(FileSystem::Posix()->OpenDirectory(root_ + "/a/b", true).ok());
  ASSERT_TRUE(directory_->OpenForWrite("f", WriteMode::kCreateNew).ok());
  ASSERT_TRUE(directory_->Lock("LOCK").ok());
  ::umask(before);
  EXPECT_EQ(ModeOf(root_ + "/a"), 0700u);
  EXPECT_EQ(ModeOf(root_ + "/a/b"), 0700u);
  EXPECT_EQ(ModeOf(Path("f")), 0600u);
  EXPECT_EQ(ModeOf(Path("LOCK")), 0600u);
}

TEST_F(PosixFileSystemTest, ASymbolicLinkIsNotFollowedNorListedAndItsTargetStaysUntouched) {
  const std::string victim = root_ + "/victim";
  std::ofstream(victim) << "precious";
  for (const char* name : {"f", "LOCK"}) ASSERT_EQ(::symlink(victim.c_str(), Path(name).c_str()), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(directory_->OpenForRead("f").status()));
  EXPECT_TRUE(absl::IsPermissionDenied(directory_->OpenForWrite("f", WriteMode::kOpenExisting).status()));
  EXPECT_TRUE(absl::IsAlreadyExists(directory_->OpenForWrite("f", WriteMode::kCreateNew).status()));
  EXPECT_TRUE(absl::IsPermissionDenied(directory_->Lock("LOCK").status()));
  EXPECT_TRUE(directory_->List().value().empty());
  EXPECT_EQ(std::filesystem::file_size(victim), 8u);
}

TEST_F(PosixFileSystemTest, WhatIsNotARegularFileIsRefusedWithoutHanging) {
  ASSERT_EQ(::mkfifo(Path("pipe").c_str(), 0600), 0);
  ASSERT_EQ(::mkdir(Path("subdirectory").c_str(), 0700), 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(directory_->OpenForRead("pipe").status()));
  EXPECT_TRUE(absl::IsFailedPrecondition(directory_->OpenForRead("subdirectory").status()));
  EXPECT_FALSE(directory_->OpenForWrite("subdirectory", WriteMode::kOpenExisting).ok());
}

// With it, some kernels let a read through io_uring fail that would have to wait for the disk.
TEST_F(PosixFileSystemTest, FilesThatAreReadMayWait) {
  ASSERT_TRUE(directory_->OpenForWrite("f", WriteMode::kCreateNew).ok());
  const auto flags_of = [&](ReadMode mode) {
    const std::unique_ptr<ReadableFile> file = directory_->OpenForRead("f", mode).value();
    return ::fcntl(static_cast<const PosixReadable&>(*file).fd(), F_GETFL);
  };
  EXPECT_EQ(flags_of(ReadMode::kBuffered) & (O_NONBLOCK | O_DIRECT), 0);
  if (!directory_->capabilities().direct_reads) GTEST_SKIP() << "no direct reads on this file system";
  EXPECT_EQ(flags_of(ReadMode::kDirect) & (O_NONBLOCK | O_DIRECT), O_DIRECT);
}

TEST_F(PosixFileSystemTest, ARenamedDirectoryIsStillTheOneThatWasOpened) {
  ASSERT_EQ(::rename((root_ + "/db").c_str(), (root_ + "/moved").c_str()), 0);
  ASSERT_TRUE(directory_->OpenForWrite("f", WriteMode::kCreateNew).ok());
  EXPECT_TRUE(std::filesystem::exists(root_ + "/moved/f"));
}

TEST(MayBeMappedTest, FilesAreNotMappedWhereAStoreMayNeedSpaceOrANetwork) {
  for (const int64_t kind : {0xef53, 0x58465342, 0x01021994, 0x794c7630}) EXPECT_TRUE(MayBeMapped(kind)) << kind;
  for (const int64_t kind : std::initializer_list<int64_t>{0x9123683e, 0xca451a4e, 0x2fc12fc1, 0x6969})
    EXPECT_FALSE(MayBeMapped(kind)) << kind;
  // Lustre, GPFS, GFS2, OCFS2, OrangeFS, and one that nobody has made yet.
  for (const int64_t kind :
       std::initializer_list<int64_t>{0x0bd00bd0, 0x47504653, 0x01161970, 0x7461636f, 0x20030528, 0x5e9a1})
    EXPECT_FALSE(MayBeMapped(kind)) << kind;
}

TEST_F(PosixFileSystemTest, PopulatingBehindTheEndOfTheFileSaysThatAStoreWouldFail) {
  std::unique_ptr<WritableFile> file = directory_->OpenForWrite("f", WriteMode::kCreateNew).value();
  ASSERT_TRUE(file->Truncate(8192).ok());
  const std::unique_ptr<MappedRegion> region = file->Map(0, 8192).value();
  if (::madvise(const_cast<char*>(region->Contents().data()), 8192, MADV_POPULATE_WRITE) != 0) {
    GTEST_SKIP() << "the kernel populates nothing";
  }
  EXPECT_TRUE(region->Populate());
  ASSERT_TRUE(file->Truncate(4096).ok());
  EXPECT_FALSE(region->Populate());
}

TEST_F(PosixFileSystemTest, AllocateTakesSpaceOnTheDiskBeforeItIsWritten) {
  if (!directory_->capabilities().allocate) GTEST_SKIP() << "no allocation on this file system";
  std::unique_ptr<WritableFile> file = directory_->OpenForWrite("f", WriteMode::kCreateNew).value();
  ASSERT_TRUE(file->Allocate(0, 1 << 20).ok());
  struct stat info;
  ASSERT_EQ(::stat(Path("f").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 0);
  EXPECT_GE(info.st_blocks * 512, 1 << 20);
}

TEST_F(PosixFileSystemTest, TruncateGivesBackWhatWasReservedBehind) {
  if (!directory_->capabilities().allocate) GTEST_SKIP() << "no allocation on this file system";
  std::unique_ptr<WritableFile> file = directory_->OpenForWrite("f", WriteMode::kCreateNew).value();
  ASSERT_TRUE(file->Allocate(0, 1 << 20).ok());
  ASSERT_TRUE(file->Append("what there is").ok());
  ASSERT_TRUE(file->Truncate(file->Size()).ok());
  ASSERT_TRUE(file->Sync().ok());
  struct stat info;
  ASSERT_EQ(::stat(Path("f").c_str(), &info), 0);
  EXPECT_EQ(info.st_size, 13);
  EXPECT_LT(info.st_blocks * 512, 1 << 20);
}

TEST_F(PosixFileSystemTest, ALockEndsWithTheProcessThatHeldItAndMeanwhileNamesIt) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t holder = ::fork();
  ASSERT_GE(holder, 0);
  if (holder == 0) {
    absl::StatusOr<std::unique_ptr<DirectoryLock>> lock = directory_->Lock("LOCK");
    const char byte = lock.ok() ? 'y' : 'n';
    (void)!::write(ready[1], &byte, 1);
    while (true) ::pause();
  }
  char byte = '?';
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ASSERT_EQ(byte, 'y');
  const absl::Status refused = directory_->Lock("LOCK").status();
  EXPECT_TRUE(absl::IsUnavailable(refused));
  EXPECT_THAT(std::string(ToStd(refused.message())), HasSubstr("process " + std::to_string(holder)));
  ASSERT_EQ(::kill(holder, SIGKILL), 0);
  ASSERT_EQ(::waitpid(holder, nullptr, 0), holder);
  EXPECT_TRUE(directory_->Lock("LOCK").ok());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(PosixFileSystemTest, AChildThatOutlivesItsParentsLockDoesNotKeepIt) {
  int hold[2];
  ASSERT_EQ(::pipe(hold), 0);
  std::unique_ptr<DirectoryLock> lock = directory_->Lock("LOCK").value();
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    char byte;
    ::close(hold[1]);
    (void)!::read(hold[0], &byte, 1);
    ::_exit(0);
  }
  lock.reset();
  EXPECT_TRUE(directory_->Lock("LOCK").ok());
  ::close(hold[1]);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ::close(hold[0]);
}

TEST_F(PosixFileSystemTest, AForkedChildIsToldThatTheLockIsItsParentsAndDoesNotLetItGo) {
  std::unique_ptr<DirectoryLock> lock = directory_->Lock("LOCK").value();
  const auto child = [&] {
    std::cerr << lock->Check();
    lock.reset();
    ExitChild(0);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0),
              "FAILED_PRECONDITION: .*/LOCK: locked by process .*, which forked this one");
  EXPECT_TRUE(lock->Check().ok());
  EXPECT_TRUE(absl::IsUnavailable(directory_->Lock("LOCK").status()));
}

TEST_F(PosixFileSystemTest, PartsOfAnyPlaceAndLengthAreMapped) {
  constexpr size_t kBytes = size_t{4} << 20;
  std::unique_ptr<WritableFile> file = directory_->OpenForWrite("f", WriteMode::kCreateNew).value();
  ASSERT_TRUE(file->Truncate(kBytes).ok());
  for (const auto& [offset, length] : {std::pair<size_t, size_t>(kBytes / 2, kBytes / 2), {4096, kBytes / 2}}) {
    const std::unique_ptr<MappedRegion> region = file->Map(offset, length).value();
    region->Store(length - 3, "end");
    EXPECT_EQ(region->Contents().substr(length - 3), "end");
    char read[3];
    ASSERT_EQ(directory_->OpenForRead("f").value()->Read(offset + length - 3, 3, read).value(), 3u);
    EXPECT_EQ(std::string_view(read, 3), "end");
  }
}

TEST_F(PosixFileSystemTest, RunningOutOfDescriptorsIsResourceExhaustedAndPasses) {
  ASSERT_TRUE(directory_->OpenForWrite("f", WriteMode::kCreateNew).ok());
  struct rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  struct rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  const absl::Status status = directory_->OpenForRead("f").status();
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_TRUE(absl::IsResourceExhausted(status));
  EXPECT_TRUE(directory_->OpenForRead("f").ok());
}

TEST_F(PosixFileSystemTest, NoFileIsOpenedOnTheDescriptorOfAClosedStandardStream) {
  const auto child = [&] {
    for (const int standard : {STDIN_FILENO, STDOUT_FILENO}) ::close(standard);
    const std::unique_ptr<WritableFile> file = directory_->OpenForWrite("f", WriteMode::kCreateNew).value();
    const std::unique_ptr<ReadableFile> read = directory_->OpenForRead("f").value();
    const std::unique_ptr<DirectoryLock> lock = directory_->Lock("LOCK").value();
    const bool is_free = ::fcntl(STDIN_FILENO, F_GETFD) == -1 && ::fcntl(STDOUT_FILENO, F_GETFD) == -1;
    ExitChild(is_free ? 0 : 1);
  };
  EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "");
}

TEST_F(PosixFileSystemTest, AFileSystemThatCountsNoBlocksIsNotTakenForAFullOne) {
  constexpr int kNoMounts = 2;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const std::string path = root_ + "/db";
    if (::unshare(CLONE_NEWNS) != 0 || ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        ::mount("none", path.c_str(), "ramfs", 0, nullptr) != 0) {
      ExitChild(kNoMounts);
    }
    const absl::StatusOr<uint64_t> free = FileSystem::Posix()->OpenDirectory(path, false).value()->FreeBytes();
    ExitChild(free.ok() && *free == UINT64_MAX ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WEXITSTATUS(status) == kNoMounts) GTEST_SKIP() << "this process may not mount a ramfs";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(PosixFileSystemTest, ADirectoryWithoutPermissionSaysSoAndNamesIt) {
  const std::string path = root_ + "/db";
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  ASSERT_EQ(::chmod(root_.c_str(), 0755), 0);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::geteuid() == 0 && ::setuid(kNobody) != 0) ::_exit(2);  // Root may do everything.
    const absl::Status status = FileSystem::Posix()->OpenDirectory(path, true).status();
    const bool named = ToStd(status.message()).find(path) != std::string_view::npos;
    ::_exit(absl::IsPermissionDenied(status) && named ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace sepal

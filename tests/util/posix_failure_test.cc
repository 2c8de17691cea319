// What the operating system's files answer when one of its calls fails: in a child process, in which a system call
// filter makes the call fail.
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "sepal/file_system.h"
#include "util/posix_status.h"
#include "util/status.h"
#include "util/strings.h"

namespace sepal {
namespace {

// From now on the call `number` of this process does nothing and fails with `error`; 0: it "succeeds" with 0. Of mmap,
// which allocators need too, only the shared mappings.
bool FailSystemCall(long number, int error) {
  std::vector<sock_filter> filter = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<uint32_t>(number), 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  if (number == SYS_mmap) {
    filter.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[3])));
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, MAP_SHARED, 1, 0));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (static_cast<uint32_t>(error) & SECCOMP_RET_DATA)));
  struct sock_fprog program = {static_cast<unsigned short>(filter.size()), filter.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

class PosixFailureTest : public testing::Test {
 protected:
  PosixFailureTest() {
    const char* base = std::getenv("TMPDIR");
    root_ = std::string(base != nullptr ? base : "/tmp") + "/sepal_failure_XXXXXX";
    if (::mkdtemp(root_.data()) == nullptr) std::abort();
    directory_ = FileSystem::Posix()->OpenDirectory(root_, true).value();
    file_ = directory_->OpenForWrite("f", WriteMode::kCreateNew).value();
    EXPECT_TRUE(file_->Append(std::string(8192, 'f')).ok());
    read_ = directory_->OpenForRead("f").value();
  }
  ~PosixFailureTest() override { std::filesystem::remove_all(root_); }

  void SetUp() override {
    // Where filters are not permitted there is nothing to see.
    const pid_t child = ::fork();
    if (child == 0) ::_exit(FailSystemCall(SYS_fdatasync, EIO) ? 0 : 1);
    int status = 1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) GTEST_SKIP() << "no system call filters here";
  }

  // `work`, with the call failing, answers a status whose text matches `pattern`.
  void Expect(long number, int error, const std::function<absl::Status()>& work, const std::string& pattern) {
    const auto child = [&] {
      if (!FailSystemCall(number, error)) std::exit(1);
      std::cerr << "<" << work().ToString() << ">";
      std::exit(0);
    };
    EXPECT_EXIT(child(), ::testing::ExitedWithCode(0), "<" + pattern + ".*>");
  }

  std::string root_;
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<WritableFile> file_;
  std::unique_ptr<ReadableFile> read_;
};

TEST_F(PosixFailureTest, WritingAndSyncingSayWhatFailed) {
  Expect(
      SYS_fdatasync, EIO, [&] { return file_->Sync(); }, "INTERNAL: .*/f: sync: ");
  Expect(
      SYS_fsync, EIO, [&] { return directory_->Sync(); }, "INTERNAL: .*: sync directory: ");
  Expect(
      SYS_pwrite64, EIO, [&] { return file_->Append("x"); }, "INTERNAL: .*/f: append 1 bytes at 8192: ");
  Expect(
      SYS_pwrite64, ENOSPC, [&] { return file_->WriteAt(5, "xy"); }, "RESOURCE_EXHAUSTED: .*/f: write 2 bytes at 5: ");
  Expect(
      SYS_pwrite64, 0, [&] { return file_->Append("x"); }, "INTERNAL: .*/f: append: ");
  Expect(
      SYS_pread64, EIO,
      [&] {
        char byte;
        return read_->Read(0, 1, &byte).status();
      },
      "INTERNAL: .*/f: read 1 bytes at 0: ");
}

TEST_F(PosixFailureTest, SpaceThatCannotBeReservedForWantOfTheCallIsNoFailure) {
  const auto allocate = [&] { return file_->Allocate(0, 4096); };
  Expect(SYS_fallocate, EOPNOTSUPP, allocate, "OK");
  Expect(SYS_fallocate, ENOSYS, allocate, "OK");
  Expect(SYS_fallocate, ENOSPC, allocate, "RESOURCE_EXHAUSTED: .*/f: allocate 4096 bytes at 0: ");
  const auto sync_range = [&] { return file_->SyncRange(0, 4096); };
  Expect(SYS_sync_file_range, ENOSYS, sync_range, "OK");
  Expect(SYS_sync_file_range, ESPIPE, sync_range, "OK");
  Expect(SYS_sync_file_range, EIO, sync_range, "INTERNAL: .*/f: sync range: ");
}

TEST_F(PosixFailureTest, WhatADirectoryCanDoIsAskedOfItsFileSystem) {
  const auto allocate = [&](int error) {
    Expect(
        SYS_fallocate, error,
        [&] { return directory_->capabilities().allocate ? absl::OkStatus() : absl::UnknownError("no"); },
        error == ENOSPC || error == EDQUOT ? "OK" : "UNKNOWN: no");
  };
  for (const int error : {EOPNOTSUPP, ENOSPC, EDQUOT}) allocate(error);
}

TEST_F(PosixFailureTest, NamesAreMovedByALinkWhereTheFlagThatReplacesNothingIsNotKnown) {
  const auto rename = [&] {
    RETURN_IF_ERROR(directory_->Rename("f", "g"));
    return directory_->OpenForRead("g").status();
  };
  const auto back = [&] {
    const absl::Status status = directory_->OpenForRead("f").status();
    if (!status.ok()) (void)directory_->Rename("g", "f");
  };
  Expect(SYS_renameat2, EINVAL, rename, "OK");
  back();
  Expect(SYS_renameat2, ENOSYS, rename, "OK");
  back();
  Expect(SYS_renameat2, EACCES, rename, "PERMISSION_DENIED: .*/f: rename to g: ");
  ASSERT_TRUE(directory_->OpenForWrite("h", WriteMode::kCreateNew).ok());
  Expect(
      SYS_renameat2, EINVAL, [&] { return directory_->Rename("f", "h"); }, "ALREADY_EXISTS: .*/f: rename to h: ");
  Expect(
      SYS_linkat, EXDEV, [&] { return directory_->Link("f", *directory_, "i"); }, ".*/f: link to .*/i: ");
}

TEST_F(PosixFailureTest, ListingSaysWhatFailed) {
  const auto list = [&] { return directory_->List().status(); };
  Expect(SYS_getdents64, EIO, list, "INTERNAL: .*: list: ");
  Expect(SYS_newfstatat, EIO, list, "INTERNAL: ");
  Expect(SYS_openat, EMFILE, list, "RESOURCE_EXHAUSTED: .*: list: ");
}

TEST_F(PosixFailureTest, OtherCallsSayWhatFailed) {
  Expect(
      SYS_fstatfs, EIO, [&] { return directory_->FreeBytes().status(); }, "INTERNAL: .*: statvfs: ");
  Expect(
      SYS_unlinkat, EIO, [&] { return directory_->Remove("f"); }, "INTERNAL: .*/f: remove: ");
  Expect(
      SYS_rmdir, EBUSY, [&] { return FileSystem::Posix()->RemoveDirectory(root_); }, ".*: remove directory: ");
  Expect(
      SYS_mmap, ENOMEM, [&] { return file_->Map(0, 4096).status(); },
      "RESOURCE_EXHAUSTED: .*/f: map 4096 bytes at 0: ");
  Expect(
      SYS_openat, EMFILE, [&] { return directory_->OpenForRead("f").status(); }, "RESOURCE_EXHAUSTED: .*/f: open: ");
  Expect(
      SYS_openat, EINVAL, [&] { return directory_->OpenForRead("f", ReadMode::kDirect).status(); },
      "UNIMPLEMENTED: .*/f: open: no direct reads on this file system");
  const auto make = [&] { return FileSystem::Posix()->OpenDirectory(root_ + "/a/b", true).status(); };
  Expect(SYS_mkdir, EROFS, make, ".*: make directory: ");
  Expect(SYS_fsync, EIO, make, "INTERNAL: .*: sync directory: ");
  const auto lock = [&] { return directory_->Lock("LOCK").status(); };
  Expect(SYS_fcntl, EIO, lock, "INTERNAL: .*/LOCK: lock: ");
  Expect(SYS_fcntl, EACCES, lock, "UNAVAILABLE: .*in use by");
}

TEST(PosixErrorTest, EachErrorHasTheStatusCodeThatCallersGoBy) {
  const auto code = [](int error) { return PosixError(error, "path", "call").code(); };
  for (const int error : {ENOENT, ENOTDIR}) EXPECT_EQ(code(error), absl::StatusCode::kNotFound) << error;
  for (const int error : {EACCES, EPERM, EROFS}) EXPECT_EQ(code(error), absl::StatusCode::kPermissionDenied) << error;
  for (const int error : {ENOSPC, EDQUOT, EFBIG, EMFILE, ENFILE, ENOMEM}) {
    EXPECT_EQ(code(error), absl::StatusCode::kResourceExhausted) << error;
  }
  for (const int error : {EBUSY, ETXTBSY}) EXPECT_EQ(code(error), absl::StatusCode::kUnavailable) << error;
  for (const int error : {ENOSYS, EOPNOTSUPP}) EXPECT_EQ(code(error), absl::StatusCode::kUnimplemented) << error;
  for (const int error : {ENOTEMPTY, EISDIR, EXDEV}) {
    EXPECT_EQ(code(error), absl::StatusCode::kFailedPrecondition) << error;
  }
  for (const int error : {EINVAL, ENAMETOOLONG}) EXPECT_EQ(code(error), absl::StatusCode::kInvalidArgument) << error;
  EXPECT_EQ(code(EEXIST), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(code(EIO), absl::StatusCode::kInternal);
}

TEST_F(PosixFailureTest, EmptyCallsDoNothing) {
  char byte;
  EXPECT_EQ(read_->Read(0, 0, &byte).value(), 0u);
  EXPECT_TRUE(file_->Append("").ok());
  EXPECT_TRUE(file_->WriteAt(100'000, "").ok());
  EXPECT_EQ(file_->Size(), 8192u);
  EXPECT_TRUE(file_->Allocate(0, 0).ok());
  EXPECT_TRUE(file_->SyncRange(0, 0).ok());
  EXPECT_TRUE(absl::IsInvalidArgument(file_->Map(0, 0).status()));
  file_->Map(0, 4096).value()->Store(5, "");
  if (directory_->capabilities().direct_reads) {
    EXPECT_EQ(directory_->OpenForRead("f", ReadMode::kDirect).value()->Read(0, 0, &byte).value(), 0u);
  }
}

}  // namespace
}  // namespace sepal

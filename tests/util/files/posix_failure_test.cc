// What the operating system's files answer when one of its calls fails, comes short or is interrupted.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sepal/file_system.h"
#include "sepal/simulation/memory_file_system.h"
#include "tests/util/files/watched_calls.h"
#include "util/base/status.h"
#include "util/base/strings.h"
#include "util/files/posix_file.h"
#include "util/files/posix_status.h"

namespace sepal {
namespace {

using ::testing::ContainsRegex;

const char* PathArgument(const seccomp_data& call) { return reinterpret_cast<const char*>(call.args[1]); }

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
    if (!WithWatchedCalls({SYS_fdatasync}, EachFails(EIO), [] {})) GTEST_SKIP() << "no system call filters here";
  }

  // `work`, beside that judge, answers a status whose text matches `pattern`.
  static void Expect(std::initializer_list<long> numbers, const CallJudge& judge, const std::string& pattern,
                     const std::function<absl::Status()>& work) {
    absl::Status status;
    ASSERT_TRUE(WithWatchedCalls(numbers, judge, [&] { status = work(); }));
    EXPECT_THAT(status.ToString(), ContainsRegex("^" + pattern));
  }
  // The same where each such call fails; 0: it "succeeds" with 0.
  static void Expect(long number, int error, const std::string& pattern, const std::function<absl::Status()>& work) {
    Expect({number}, EachFails(error), pattern, work);
  }

  std::string root_;
  std::unique_ptr<Directory> directory_;
  std::unique_ptr<WritableFile> file_;
  std::unique_ptr<ReadableFile> read_;
};

TEST_F(PosixFailureTest, WritingAndSyncingSayWhatFailed) {
  Expect(SYS_fdatasync, EIO, "INTERNAL: .*/f: sync: ", [&] { return file_->Sync(); });
  Expect(SYS_fsync, EIO, "INTERNAL: .*: sync directory: ", [&] { return directory_->Sync(); });
  Expect(SYS_pwrite64, EIO, "INTERNAL: .*/f: append 1 bytes at 8192: ", [&] { return file_->Append("x"); });
  Expect(SYS_pwrite64, ENOSPC,
         "RESOURCE_EXHAUSTED: .*/f: write 2 bytes at 5: ", [&] { return file_->WriteAt(5, "xy"); });
  Expect(SYS_pwrite64, 0, "INTERNAL: .*/f: append: ", [&] { return file_->Append("x"); });
  Expect(SYS_pread64, EIO, "INTERNAL: .*/f: read 1 bytes at 0: ", [&] {
    char byte;
    return read_->Read(0, 1, &byte).status();
  });
}

TEST_F(PosixFailureTest, SpaceThatCannotBeReservedForWantOfTheCallIsNoFailure) {
  const auto allocate = [&] { return file_->Allocate(0, 4096); };
  Expect(SYS_fallocate, EOPNOTSUPP, "OK", allocate);
  Expect(SYS_fallocate, ENOSYS, "OK", allocate);
  Expect(SYS_fallocate, ENOSPC, "RESOURCE_EXHAUSTED: .*/f: allocate 4096 bytes at 0: ", allocate);
  const auto sync_range = [&] { return file_->SyncRange(0, 4096); };
  Expect(SYS_sync_file_range, ENOSYS, "OK", sync_range);
  Expect(SYS_sync_file_range, ESPIPE, "OK", sync_range);
  Expect(SYS_sync_file_range, EIO, "INTERNAL: .*/f: sync range: ", sync_range);
}

TEST_F(PosixFailureTest, NamesAreMovedByALinkWhereTheFlagThatReplacesNothingIsNotKnown) {
  const auto rename = [&] {
    RETURN_IF_ERROR(directory_->Rename("f", "g"));
    return directory_->OpenForRead("g").status();
  };
  const auto back = [&] { ASSERT_TRUE(directory_->Rename("g", "f").ok()); };
  Expect(SYS_renameat2, EINVAL, "OK", rename);
  back();
  Expect(SYS_renameat2, ENOSYS, "OK", rename);
  back();
  Expect(SYS_renameat2, EACCES, "PERMISSION_DENIED: .*/f: rename to g: ", rename);
  ASSERT_TRUE(directory_->OpenForWrite("h", WriteMode::kCreateNew).ok());
  Expect(SYS_renameat2, EINVAL, "ALREADY_EXISTS: .*/f: rename to h: ", [&] { return directory_->Rename("f", "h"); });
  Expect(SYS_linkat, EXDEV, ".*/f: link to .*/i: ", [&] { return directory_->Link("f", *directory_, "i"); });
  // Half done: both names are there.
  Expect(
      {SYS_renameat2, SYS_unlinkat},
      [](const seccomp_data& call) {
        return std::optional(CallAnswer{.error = call.nr == SYS_renameat2 ? ENOSYS : EIO});
      },
      "INTERNAL: .*/f: rename to j: ", [&] { return directory_->Rename("f", "j"); });
  EXPECT_TRUE(directory_->OpenForRead("f").ok());
  EXPECT_TRUE(directory_->OpenForRead("j").ok());
}

TEST_F(PosixFailureTest, ListingSaysWhatFailed) {
  const auto list = [&] { return directory_->List().status(); };
  Expect(SYS_getdents64, EIO, "INTERNAL: .*: list: ", list);
  Expect(SYS_newfstatat, EIO, "INTERNAL: ", list);
  Expect(SYS_openat, EMFILE, "RESOURCE_EXHAUSTED: .*: list: ", list);
  Expect(SYS_fcntl, EIO, "INTERNAL: .*: list: ", list);  // fdopendir asks for the flags
  const auto stat_of_f = [](int error) {
    return [error](const seccomp_data& call) {
      return std::strcmp(PathArgument(call), "f") == 0 ? std::optional(CallAnswer{.error = error}) : std::nullopt;
    };
  };
  Expect({SYS_newfstatat}, stat_of_f(EIO), "INTERNAL: .*/f: stat: ", list);
  // A file that another has removed in between is not there.
  Expect({SYS_newfstatat}, stat_of_f(ENOENT), "OK", [&] {
    const absl::StatusOr<std::vector<DirectoryEntry>> entries = directory_->List();
    return entries.ok() && entries->empty() ? absl::OkStatus() : absl::UnknownError("seen");
  });
}

TEST_F(PosixFailureTest, OtherCallsSayWhatFailed) {
  Expect(SYS_fstatfs, EIO, "INTERNAL: .*: statvfs: ", [&] { return directory_->FreeBytes().status(); });
  Expect(SYS_unlinkat, EIO, "INTERNAL: .*/f: remove: ", [&] { return directory_->Remove("f"); });
  Expect(SYS_rmdir, EBUSY, ".*: remove directory: ", [&] { return FileSystem::Posix()->RemoveDirectory(root_); });
  Expect(SYS_mmap, ENOMEM,
         "RESOURCE_EXHAUSTED: .*/f: map 4096 bytes at 0: ", [&] { return file_->Map(0, 4096).status(); });
  Expect(SYS_openat, EMFILE, "RESOURCE_EXHAUSTED: .*/f: open: ", [&] { return directory_->OpenForRead("f").status(); });
  Expect(SYS_openat, EINVAL, "UNIMPLEMENTED: .*/f: open: no direct reads on this file system",
         [&] { return directory_->OpenForRead("f", ReadMode::kDirect).status(); });
  const auto make = [&] { return FileSystem::Posix()->OpenDirectory(root_ + "/a/b", true).status(); };
  Expect(SYS_mkdir, EROFS, ".*: make directory: ", make);
  Expect(SYS_fsync, EIO, "INTERNAL: .*: sync directory: ", make);
  const auto lock = [&] { return directory_->Lock("LOCK").status(); };
  Expect(SYS_fcntl, EIO, "INTERNAL: .*/LOCK: lock: ", lock);
  Expect(SYS_fcntl, EACCES, "UNAVAILABLE: .*in use by", lock);
}

TEST_F(PosixFailureTest, WhatIsInterruptedOrComesShortGoesOn) {
  // The kernel writes and reads three bytes at a time.
  const CallJudge three_bytes = [](const seccomp_data& call) -> std::optional<CallAnswer> {
    char* const buffer = reinterpret_cast<char*>(call.args[1]);
    if (call.args[2] <= 3) return std::nullopt;
    const int fd = static_cast<int>(call.args[0]);
    const auto offset = static_cast<off_t>(call.args[3]);
    return CallAnswer{.value =
                          call.nr == SYS_pread64 ? ::pread(fd, buffer, 3, offset) : ::pwrite(fd, buffer, 3, offset)};
  };
  std::string got(10, '-');
  const auto write_and_read = [&] {
    RETURN_IF_ERROR(file_->Append("0123456789"));
    ASSIGN_OR_RETURN(const size_t bytes, read_->Read(8192, got.size(), got.data()));
    got.resize(bytes);
    return absl::OkStatus();
  };
  Expect({SYS_pread64, SYS_pwrite64}, three_bytes, "OK", write_and_read);
  EXPECT_EQ(got, "0123456789");
  EXPECT_EQ(file_->Size(), 8202u);
  for (const long number : {SYS_pwrite64, SYS_pread64, SYS_fdatasync, SYS_ftruncate, SYS_fallocate, SYS_openat}) {
    Expect({number}, OneFails(0, EINTR), "OK", [&] {
      RETURN_IF_ERROR(file_->Truncate(8192));
      RETURN_IF_ERROR(file_->Allocate(0, 8192));
      RETURN_IF_ERROR(write_and_read());
      RETURN_IF_ERROR(file_->Sync());
      return directory_->OpenForRead("f").status();
    });
    EXPECT_EQ(got, "0123456789");
  }
}

TEST_F(PosixFailureTest, ADirectReadThatComesShortInTheMiddleOfASectorIsTheFilesEnd) {
  if (!directory_->capabilities().direct_reads) GTEST_SKIP() << "no direct reads on this file system";
  const std::unique_ptr<ReadableFile> direct = directory_->OpenForRead("f", ReadMode::kDirect).value();
  std::string buffer(8192, '-');
  const auto read_all = [&] {
    ASSIGN_OR_RETURN(const size_t bytes, direct->Read(7, 8000, buffer.data()));
    return bytes == 93 ? absl::OkStatus() : absl::UnknownError(std::to_string(bytes));
  };
  Expect({SYS_pread64}, EachAnswers(100), "OK", read_all);
  Expect(SYS_pread64, EIO, "INTERNAL: .*/f: read ", read_all);
  // Fewer than what is skipped for the alignment.
  Expect({SYS_pread64}, EachAnswers(5), "OK", [&] {
    return direct->Read(7, 8000, buffer.data()).value() == 0 ? absl::OkStatus() : absl::UnknownError("read");
  });
}

TEST_F(PosixFailureTest, DirectReadsAreAlignedAsTheKernelSaysWhereItSaysAPowerOfTwoFromASectorOn) {
  if (!directory_->capabilities().direct_reads) GTEST_SKIP() << "no direct reads on this file system";
#ifdef STATX_DIOALIGN
  // The length of the first read of one byte, of memory that is aligned likewise.
  const auto read_length = [&](uint32_t memory, uint32_t offset, uint32_t mask, int error) {
    uint64_t length = 0;
    const CallJudge judge = [&](const seccomp_data& call) {
      if (call.nr == SYS_pread64) {
        if (length == 0) length = call.args[2];
        EXPECT_EQ(call.args[1] % length, 0u);
        return std::optional(CallAnswer{.value = 0});
      }
      if (error != 0) return std::optional(CallAnswer{.error = error});
      auto* const info = reinterpret_cast<struct statx*>(call.args[4]);
      info->stx_mask = mask;
      info->stx_dio_mem_align = memory;
      info->stx_dio_offset_align = offset;
      return std::optional(CallAnswer{});
    };
    Expect({SYS_statx, SYS_pread64}, judge, "OK", [&] {
      char byte;
      ASSIGN_OR_RETURN(const auto direct, directory_->OpenForRead("f", ReadMode::kDirect));
      return direct->Read(1, 1, &byte).status();
    });
    return length;
  };
  EXPECT_EQ(read_length(4, 512, STATX_DIOALIGN, 0), 512u);
  EXPECT_EQ(read_length(2048, 512, STATX_DIOALIGN, 0), 2048u);
  EXPECT_EQ(read_length(4, 256, STATX_DIOALIGN, 0), 4096u);
  EXPECT_EQ(read_length(4, 768, STATX_DIOALIGN, 0), 4096u);
  EXPECT_EQ(read_length(4, 4096, STATX_DIOALIGN, 0), 4096u);
  EXPECT_EQ(read_length(4, 16384, STATX_DIOALIGN, 0), 16384u);
  EXPECT_EQ(read_length(65536, 512, STATX_DIOALIGN, 0), 65536u);
  EXPECT_EQ(read_length(4, 131072, STATX_DIOALIGN, 0), 4096u);
  EXPECT_EQ(read_length(4, 512, 0, 0), 4096u);
  EXPECT_EQ(read_length(4, 512, STATX_DIOALIGN, EINVAL), 4096u);
#endif
}

// Whoever made it may have died, or be another process, before its name was durable.
TEST_F(PosixFailureTest, TheNameOfADirectoryIsMadeDurableUntilAnythingLiesInIt) {
  const std::string path = root_ + "/made";
  ASSERT_TRUE(std::filesystem::create_directory(path));
  const auto open = [&] { return FileSystem::Posix()->OpenDirectory(path, true).status(); };
  Expect(SYS_fsync, EIO, "INTERNAL: .*: sync directory: ", open);
  // A parent that may not be read cannot be synced.
  Expect(
      {SYS_openat, SYS_fsync},
      [&](const seccomp_data& call) {
        const bool opens = call.nr != SYS_fsync;
        const char* const name = opens ? PathArgument(call) : "";
        return opens && root_ != name ? std::nullopt : std::optional(CallAnswer{.error = opens ? EACCES : EIO});
      },
      "OK", open);
  // Another made it in between.
  Expect(
      {SYS_openat, SYS_fsync},
      [&, seen = 0](const seccomp_data& call) mutable {
        if (call.nr == SYS_fsync) return std::optional(CallAnswer{.error = EIO});
        return seen++ == 0 ? std::optional(CallAnswer{.error = ENOENT}) : std::nullopt;
      },
      "INTERNAL: .*: sync directory: ", open);
  std::ofstream(path + "/f") << "f";
  Expect(SYS_fsync, EIO, "OK", open);
}

TEST_F(PosixFailureTest, AFileOfWhichTheKernelSaysThatItHasNoDirectReadsIsRefused) {
  if (!directory_->capabilities().direct_reads) GTEST_SKIP() << "no direct reads on this file system";
#ifdef STATX_DIOALIGN
  const CallJudge none = [](const seccomp_data& call) {
    auto* const info = reinterpret_cast<struct statx*>(call.args[4]);
    info->stx_mask = STATX_DIOALIGN;
    info->stx_dio_mem_align = 0;
    info->stx_dio_offset_align = 0;
    return std::optional(CallAnswer{});
  };
  Expect({SYS_statx}, none, "UNIMPLEMENTED: .*/f: open: no direct reads of this file",
         [&] { return directory_->OpenForRead("f", ReadMode::kDirect).status(); });
#endif
}

TEST_F(PosixFailureTest, WhatAFileIsCannotBeAsked) {
  const auto open = [&] { return directory_->OpenForRead("f").status(); };
  Expect({SYS_newfstatat, SYS_fstat}, EachFails(EIO), "INTERNAL: .*/f: stat: ", open);
  Expect({SYS_newfstatat, SYS_fstat}, EachFails(EIO), "INTERNAL: .*/f: stat: ", [&] { return read_->Size().status(); });
  Expect({SYS_newfstatat, SYS_fstat}, EachFails(EIO),
         "INTERNAL: .*/f: stat: ", [&] { return file_->Map(0, 4096).status(); });
  Expect(SYS_ftruncate, EIO, "INTERNAL: .*/f: truncate to 1: ", [&] { return file_->Truncate(1); });
  EXPECT_EQ(file_->Size(), 8192u);
}

TEST_F(PosixFailureTest, ClosingSaysWhatFailedAndLeavesTheFileClosed) {
  const std::string name = "g";
  const auto close = [&](int error, const std::string& pattern) {
    std::unique_ptr<WritableFile> file = directory_->OpenForWrite(name, WriteMode::kCreateNew).value();
    const CallJudge judge = [error](const seccomp_data& call) {
      (void)::close(static_cast<int>(call.args[0]));  // As the kernel does, whatever it answers.
      return std::optional(CallAnswer{.error = error});
    };
    Expect({SYS_close}, judge, pattern, [&] { return file->Close(); });
    EXPECT_TRUE(absl::IsFailedPrecondition(file->Append("x")));
    EXPECT_TRUE(absl::IsFailedPrecondition(file->Close()));
    ASSERT_TRUE(directory_->Remove(name).ok());
  };
  close(EIO, "INTERNAL: .*/g: close: ");
  close(ENOSPC, "RESOURCE_EXHAUSTED: .*/g: close: ");
  close(EINTR, "OK");
}

TEST_F(PosixFailureTest, WhatADirectoryCanDoIsAskedOfItsFileSystem) {
  const auto found = [&](long number, int error) {
    Capabilities capabilities;
    const std::unique_ptr<Directory> fresh = FileSystem::Posix()->OpenDirectory(root_, false).value();
    const auto ask = [&] {
      capabilities = fresh->capabilities();
      return absl::OkStatus();
    };
    Expect(number, error, "OK", ask);
    return capabilities;
  };
  EXPECT_FALSE(found(SYS_fallocate, EOPNOTSUPP).allocate);
  for (const int error : {ENOSPC, EDQUOT}) EXPECT_TRUE(found(SYS_fallocate, error).allocate);
  EXPECT_FALSE(found(SYS_fcntl, EINVAL).direct_reads);
  // Without a nameless file to ask, nothing is promised of it.
  const Capabilities least = found(SYS_openat, EOPNOTSUPP);
  EXPECT_FALSE(least.allocate || least.direct_reads);
  EXPECT_TRUE(least.map && least.hard_link);
}

TEST_F(PosixFailureTest, AMomentWithoutDescriptorsOrSpaceDecidesNothingForGood) {
  const Capabilities lasting = directory_->capabilities();
  for (const int error : {EMFILE, ENFILE, ENOSPC, EDQUOT, ENOMEM}) {
    const std::unique_ptr<Directory> fresh = FileSystem::Posix()->OpenDirectory(root_, false).value();
    Capabilities meanwhile;
    const auto ask = [&] {
      meanwhile = fresh->capabilities();
      return absl::OkStatus();
    };
    Expect(SYS_openat, error, "OK", ask);
    EXPECT_FALSE(meanwhile.allocate) << error;
    // Who opens a file then is told what there is to tell.
    EXPECT_TRUE(meanwhile.direct_reads) << error;
    EXPECT_EQ(fresh->capabilities().allocate, lasting.allocate) << error;
    EXPECT_EQ(fresh->capabilities().direct_reads, lasting.direct_reads) << error;
  }
}

TEST_F(PosixFailureTest, ALockThatCannotBeMadeOrLookedAtSaysWhatFailed) {
  const auto lock = [&] { return directory_->Lock("LOCK").status(); };
  // The first call of fcntl locks, the second keeps the directory.
  Expect({SYS_fcntl}, OneFails(1, EMFILE), "RESOURCE_EXHAUSTED: .*: duplicate the descriptor: ", lock);
  Expect({SYS_fcntl}, OneFails(0, EAGAIN), "UNAVAILABLE: .*in use by", lock);
  // Whose number cannot be read is another.
  Expect({SYS_fcntl, SYS_pread64}, EachFails(EACCES), "UNAVAILABLE: .*in use by another process; ", lock);
  // On a full disk the lock holds all the same.
  for (const long number : {SYS_ftruncate, SYS_pwrite64}) Expect(number, ENOSPC, "OK", lock);

  const std::unique_ptr<DirectoryLock> held = directory_->Lock("LOCK").value();
  const auto check = [&] { return held->Check(); };
  Expect({SYS_newfstatat, SYS_fstat}, EachFails(EIO), "INTERNAL: .*/LOCK: stat: ", check);
  Expect({SYS_newfstatat, SYS_fstat}, OneFails(1, EIO), "INTERNAL: .*/LOCK: stat: ", check);
  Expect({SYS_newfstatat, SYS_fstat}, OneFails(1, ENOENT), "FAILED_PRECONDITION: .*the lock file is gone", check);
  // The same number on another device.
  const CallJudge elsewhere = [](const seccomp_data& call) {
    auto* const info = reinterpret_cast<struct stat*>(call.args[2]);
    (void)::fstatat(static_cast<int>(call.args[0]), PathArgument(call), info, static_cast<int>(call.args[3]));
    if (std::strcmp(PathArgument(call), "LOCK") == 0) ++info->st_dev;
    return std::optional(CallAnswer{});
  };
  Expect({SYS_newfstatat}, elsewhere, "FAILED_PRECONDITION: .*the lock file was replaced", check);
}

TEST_F(PosixFailureTest, ALockFileThatIsReplacedBetweenOpeningAndLockingIsOpenedAgain) {
  // Each time that the engine locks, the name is another file's already.
  int replaced = 0;
  const auto replacing = [&](int times) {
    return [this, times, &replaced](const seccomp_data& call) -> std::optional<CallAnswer> {
      if (call.args[1] == F_OFD_SETLK && replaced < times) {
        ++replaced;
        (void)::unlink((root_ + "/LOCK").c_str());
        if (replaced % 2 == 0) std::ofstream(root_ + "/LOCK") << replaced;
      }
      return std::nullopt;
    };
  };
  std::unique_ptr<DirectoryLock> lock;
  const auto take = [&] {
    ASSIGN_OR_RETURN(lock, directory_->Lock("LOCK"));
    return lock->Check();
  };
  Expect({SYS_fcntl}, replacing(3), "OK", take);
  EXPECT_EQ(replaced, 3);
  lock.reset();
  Expect({SYS_fcntl}, replacing(1000), "UNAVAILABLE: .*/LOCK: the lock file keeps being replaced", take);
}

TEST_F(PosixFailureTest, MakingADirectorySaysWhatFailed) {
  const auto make = [&] { return FileSystem::Posix()->OpenDirectory(root_ + "/a/b", true).status(); };
  const auto fails = [&](long number, int call, int error, const std::string& pattern) {
    std::filesystem::remove_all(root_ + "/a");
    Expect({number}, OneFails(call, error), pattern, make);
  };
  // a/b, for which a is missing, a, and a/b again.
  fails(SYS_mkdir, 1, EROFS, "PERMISSION_DENIED: .*/a: make directory: ");
  fails(SYS_mkdir, 2, ENOSPC, "RESOURCE_EXHAUSTED: .*/a/b: make directory: ");
  fails(SYS_mkdir, 0, EEXIST, "NOT_FOUND: .*/a: open directory: ");  // Made and removed by another.
  // a/b, the root to be synced, a to be synced, a/b again.
  fails(SYS_openat, 1, EMFILE, "RESOURCE_EXHAUSTED: .*: open directory: ");
  fails(SYS_openat, 1, EACCES, "OK");
  fails(SYS_openat, 2, ENOTDIR, "FAILED_PRECONDITION: .*/a: not a directory");
  fails(SYS_openat, 3, EMFILE, "RESOURCE_EXHAUSTED: .*/a/b: open directory: ");
  // Up to the root, which has no parent.
  Expect(SYS_mkdir, ENOENT, "NOT_FOUND: /: make directory: ", [] {
    return FileSystem::Posix()->OpenDirectory("/sepal_none/x", true).status();
  });
}

TEST_F(PosixFailureTest, AProcessWithoutALimitOfOpenFilesMayOpenAny) {
  size_t found = 0;
  const auto ask = [&](const CallJudge& judge) {
    Expect({SYS_prlimit64}, judge, "OK", [&] {
      found = FileSystem::Posix()->MaxOpenFiles();
      return absl::OkStatus();
    });
    return found;
  };
  EXPECT_EQ(ask(EachFails(EPERM)), SIZE_MAX);
  const auto limit = [](rlim_t files) {
    return [files](const seccomp_data& call) {
      reinterpret_cast<struct rlimit*>(call.args[3])->rlim_cur = files;
      return std::optional(CallAnswer{});
    };
  };
  EXPECT_EQ(ask(limit(RLIM_INFINITY)), SIZE_MAX);
  EXPECT_EQ(ask(limit(77)), 77u);
}

TEST_F(PosixFailureTest, NamesThatAreNoneAndForeignDirectoriesAreRefused) {
  const auto refused = [](const absl::Status& status) { return absl::IsInvalidArgument(status); };
  for (const char* name : {"", ".", "..", "a/b"}) {
    EXPECT_TRUE(refused(directory_->OpenForRead(name).status()));
    EXPECT_TRUE(refused(directory_->OpenForRead(name, ReadMode::kDirect).status()));
    EXPECT_TRUE(refused(directory_->OpenForWrite(name, WriteMode::kCreateNew).status()));
    EXPECT_TRUE(refused(directory_->Remove(name)));
    EXPECT_TRUE(refused(directory_->Rename(name, "g")));
    EXPECT_TRUE(refused(directory_->Rename("f", name)));
    EXPECT_TRUE(refused(directory_->Link(name, *directory_, "g")));
    EXPECT_TRUE(refused(directory_->Link("f", *directory_, name)));
    EXPECT_TRUE(refused(directory_->Lock(name).status()));
  }
  EXPECT_TRUE(absl::IsNotFound(directory_->OpenForRead("none", ReadMode::kDirect).status()));
  MemoryFileSystem memory;
  const std::unique_ptr<Directory> foreign = memory.OpenDirectory("/m", true).value();
  EXPECT_TRUE(absl::IsUnimplemented(directory_->Link("f", *foreign, "g")));
  EXPECT_TRUE(refused(FileSystem::Posix()->OpenDirectory("", true).status()));
  EXPECT_TRUE(refused(FileSystem::Posix()->RemoveDirectory("")));
}

TEST_F(PosixFailureTest, ClosedFilesAndRangesThatNoFileHasAreRefused) {
  constexpr uint64_t kFar = uint64_t{INT64_MAX} + 1;
  char byte;
  const auto too_far = [](const absl::Status& status) { return absl::IsResourceExhausted(status); };
  EXPECT_TRUE(too_far(read_->Read(kFar, 1, &byte).status()));
  EXPECT_TRUE(too_far(read_->Read(kFar - 1, 1, &byte).status()));
  EXPECT_TRUE(too_far(file_->WriteAt(kFar - 1, "x")));
  EXPECT_TRUE(too_far(file_->Allocate(kFar, 0)));
  EXPECT_TRUE(too_far(file_->SyncRange(kFar, 0)));
  EXPECT_TRUE(too_far(file_->Truncate(kFar)));
  EXPECT_TRUE(too_far(file_->Map(kFar, 1).status()));
  if (directory_->capabilities().direct_reads) {
    EXPECT_TRUE(too_far(directory_->OpenForRead("f", ReadMode::kDirect).value()->Read(kFar, 1, &byte).status()));
  }
  ASSERT_TRUE(file_->Close().ok());
  const auto closed = [](const absl::Status& status) { return absl::IsFailedPrecondition(status); };
  EXPECT_TRUE(closed(file_->Append("x")));
  EXPECT_TRUE(closed(file_->WriteAt(0, "x")));
  EXPECT_TRUE(closed(file_->Allocate(0, 1)));
  EXPECT_TRUE(closed(file_->SyncRange(0, 1)));
  EXPECT_TRUE(closed(file_->Sync()));
  EXPECT_TRUE(closed(file_->Truncate(0)));
  EXPECT_TRUE(closed(file_->Map(0, 1).status()));
  EXPECT_TRUE(closed(file_->Close()));
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
  EXPECT_EQ(PosixError(ENOSPC, "/db/f", "write").message(), "/db/f: write: No space left on device");
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

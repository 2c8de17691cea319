#include "sepal/simulation/fault_file_system.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "sepal/simulation/memory_file_system.h"
#include "util/base/strings.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

class FaultFileSystemTest : public testing::Test {
 protected:
  std::unique_ptr<WritableFile> Create(std::string_view name) {
    return directory_->OpenForWrite(name, WriteMode::kCreateNew).value();
  }
  std::string Contents(std::string_view name) { return memory_.ReadFileContents("/db/" + std::string(name)).value(); }

  // A small history; the status of the first call that failed.
  static absl::Status Run(FileSystem* fs) {
    absl::StatusOr<std::unique_ptr<Directory>> directory = fs->OpenDirectory("/run", true);
    if (!directory.ok()) return directory.status();
    absl::StatusOr<std::unique_ptr<WritableFile>> file = (*directory)->OpenForWrite("f", WriteMode::kCreateNew);
    if (!file.ok()) return file.status();
    if (absl::Status s = (*file)->Allocate(0, 100); !s.ok()) return s;
    if (absl::Status s = (*file)->Append("abc"); !s.ok()) return s;
    if (absl::Status s = (*file)->Sync(); !s.ok()) return s;
    if (absl::Status s = (*directory)->Sync(); !s.ok()) return s;
    return (*file)->Close();
  }

  MemoryFileSystem memory_;
  FaultFileSystem fs_{&memory_};
  std::unique_ptr<Directory> directory_ = fs_.OpenDirectory("/db", true).value();
};

TEST_F(FaultFileSystemTest, EveryCallOfAHistoryCanBeMadeToFailByItsNumber) {
  const uint64_t before = fs_.CallCount();
  ASSERT_TRUE(Run(&fs_).ok());
  const uint64_t calls = fs_.CallCount() - before;
  EXPECT_EQ(calls, 7u);
  for (uint64_t k = 1; k <= calls; ++k) {
    MemoryFileSystem memory;
    FaultFileSystem fs(&memory);
    fs.SetDecider([k](const FileCall& call) { return call.number == k ? Fault::kIoError : Fault::kNone; });
    EXPECT_EQ(Run(&fs).code(), absl::StatusCode::kInternal) << k;
    EXPECT_EQ(fs.CallCount(), k) << "nothing was called behind the failure";
    EXPECT_EQ(fs.FaultCount(), 1u);
  }
}

TEST_F(FaultFileSystemTest, TheTraceIsTheCallsInTheirOrder) {
  fs_.SetTracing(true);
  ASSERT_TRUE(Run(&fs_).ok());
  EXPECT_EQ(fs_.TakeTrace(),
            "open-directory /run\n"
            "open-write f\n"
            "allocate f 100 at 0\n"
            "append f 3\n"
            "sync f\n"
            "sync-directory /run\n"
            "close f\n");
  char byte;
  (void)Create("g")->WriteAt(7, "x");
  (void)directory_->OpenForRead("g").value()->Read(7, 1, &byte);
  (void)directory_->Rename("g", "h");
  (void)directory_->Link("h", *directory_, "i");
  (void)directory_->Remove("h");
  EXPECT_EQ(fs_.TakeTrace(),
            "open-write g\nwrite g 1 at 7\nopen-read g\nread g 1 at 7\nrename g h\nlink h i\nremove h\n");
  fs_.SetTracing(false);
  Create("j");
  EXPECT_EQ(fs_.TakeTrace(), "");
}

TEST_F(FaultFileSystemTest, ARuleFailsOneMatchingCallUnlessItIsSticky) {
  fs_.Inject({.fault = Fault::kIoError, .op = FileOp::kAppend});
  std::unique_ptr<WritableFile> file = Create("f");
  EXPECT_EQ(file->Append("x").code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(file->Append("x").ok());
  fs_.Inject({.fault = Fault::kIoError, .op = FileOp::kAppend, .sticky = true});
  EXPECT_FALSE(file->Append("x").ok());
  EXPECT_FALSE(file->Append("x").ok());
  EXPECT_TRUE(file->Sync().ok());
  fs_.Clear();
  EXPECT_TRUE(file->Append("x").ok());
  EXPECT_EQ(Contents("f"), "xx");
}

TEST_F(FaultFileSystemTest, ARuleCanNameTheFileAndSkipCalls) {
  fs_.Inject({.fault = Fault::kNoSpace, .name_contains = ".log", .skip = 2});
  std::unique_ptr<WritableFile> log = Create("1.log");
  std::unique_ptr<WritableFile> table = Create("1.sst");
  EXPECT_TRUE(table->Append("x").ok());
  EXPECT_TRUE(log->Append("x").ok());
  EXPECT_TRUE(table->Append("x").ok());
  const absl::Status failed = log->Append("x");
  EXPECT_TRUE(absl::IsResourceExhausted(failed));
  EXPECT_THAT(std::string(ToStd(failed.message())), HasSubstr("1.log"));
}

TEST_F(FaultFileSystemTest, ARuleCanBeForMutationsOnly) {
  Create("f");
  fs_.Inject({.fault = Fault::kIoError, .mutations_only = true, .sticky = true});
  EXPECT_TRUE(directory_->OpenForRead("f").ok());
  EXPECT_TRUE(directory_->List().ok());
  EXPECT_FALSE(directory_->Remove("f").ok());
  EXPECT_FALSE(directory_->Sync().ok());
  EXPECT_FALSE(directory_->OpenForWrite("g", WriteMode::kCreateNew).ok());
}

TEST_F(FaultFileSystemTest, AShortWriteLeavesHalfOfTheBytes) {
  std::unique_ptr<WritableFile> file = Create("f");
  fs_.Inject({.fault = Fault::kShortWrite, .op = FileOp::kAppend});
  EXPECT_TRUE(absl::IsResourceExhausted(file->Append("0123456789")));
  EXPECT_EQ(Contents("f"), "01234");
}

TEST_F(FaultFileSystemTest, ACallCanFailAfterItTookEffect) {
  fs_.Inject({.fault = Fault::kFailAfter, .op = FileOp::kOpenWrite});
  EXPECT_EQ(directory_->OpenForWrite("f", WriteMode::kCreateNew).status().code(), absl::StatusCode::kInternal);
  EXPECT_EQ(Contents("f"), "");
  std::unique_ptr<WritableFile> file = directory_->OpenForWrite("f", WriteMode::kOpenExisting).value();
  fs_.Inject({.fault = Fault::kFailAfter, .op = FileOp::kAppend});
  EXPECT_FALSE(file->Append("abc").ok());
  EXPECT_EQ(Contents("f"), "abc");
  fs_.Inject({.fault = Fault::kFailAfter, .op = FileOp::kRemove});
  EXPECT_FALSE(directory_->Remove("f").ok());
  EXPECT_TRUE(absl::IsNotFound(memory_.ReadFileContents("/db/f").status()));
}

TEST_F(FaultFileSystemTest, TooManyOpenFilesIsResourceExhausted) {
  Create("f");
  fs_.Inject({.fault = Fault::kTooManyFiles, .op = FileOp::kOpenRead});
  EXPECT_TRUE(absl::IsResourceExhausted(directory_->OpenForRead("f").status()));
}

TEST_F(FaultFileSystemTest, AFailedSyncLosesItsBytesAtPowerLossThoughALaterSyncSucceeds) {
  std::unique_ptr<WritableFile> file = Create("f");
  ASSERT_TRUE(directory_->Sync().ok());
  ASSERT_TRUE(file->Append(std::string(512, 'a')).ok());
  fs_.Inject({.fault = Fault::kIoError, .op = FileOp::kSync});
  EXPECT_FALSE(file->Sync().ok());
  ASSERT_TRUE(file->Append(std::string(512, 'b')).ok());
  ASSERT_TRUE(file->Sync().ok());
  EXPECT_EQ(Contents("f"), std::string(512, 'a') + std::string(512, 'b'));
  memory_.Crash(CrashMode::kLoseUnsynced);
  EXPECT_EQ(Contents("f"), std::string(512, '\0') + std::string(512, 'b'));
}

TEST_F(FaultFileSystemTest, ASyncThatFailsAfterItsEffectIsDurable) {
  std::unique_ptr<WritableFile> file = Create("f");
  ASSERT_TRUE(file->Append("abc").ok());
  fs_.Inject({.fault = Fault::kFailAfter, .op = FileOp::kSync});
  fs_.Inject({.fault = Fault::kFailAfter, .op = FileOp::kDirectorySync});
  EXPECT_FALSE(file->Sync().ok());
  EXPECT_FALSE(directory_->Sync().ok());
  memory_.Crash(CrashMode::kLoseUnsynced);
  EXPECT_EQ(Contents("f"), "abc");
}

TEST_F(FaultFileSystemTest, AFailedDirectorySyncLosesItsNamesAtPowerLoss) {
  Create("f");
  fs_.Inject({.fault = Fault::kIoError, .op = FileOp::kDirectorySync});
  EXPECT_FALSE(directory_->Sync().ok());
  ASSERT_TRUE(directory_->Sync().ok());
  memory_.Crash(CrashMode::kLoseUnsynced);
  EXPECT_TRUE(absl::IsNotFound(memory_.ReadFileContents("/db/f").status()));
}

TEST_F(FaultFileSystemTest, OtherCallsGoOnWhileOneIsHeld) {
  Create("f");
  Create("g");
  Notification held, go_on;
  fs_.SetHold([&](const FileCall& call) {
    if (call.op != FileOp::kRemove || call.name != "f") return;
    held.Notify();
    go_on.WaitForNotification();
  });
  Thread remover([&] { EXPECT_TRUE(directory_->Remove("f").ok()); });
  held.WaitForNotification();
  const uint64_t before = fs_.CallCount();
  EXPECT_TRUE(directory_->Remove("g").ok());
  EXPECT_EQ(fs_.CallCount(), before + 1) << "the held call has no number yet";
  EXPECT_TRUE(memory_.ReadFileContents("/db/f").ok());
  go_on.Notify();
  remover.Join();
  EXPECT_FALSE(memory_.ReadFileContents("/db/f").ok());
  fs_.Clear();
  EXPECT_TRUE(absl::IsNotFound(directory_->Remove("f")));
}

TEST_F(FaultFileSystemTest, ReadManyFailsRequestByRequest) {
  ASSERT_TRUE(memory_.WriteFileContents("/db/f", "0123456789").ok());
  std::unique_ptr<ReadableFile> file = directory_->OpenForRead("f").value();
  fs_.Inject({.fault = Fault::kIoError, .op = FileOp::kRead, .skip = 1});
  char buffers[3];
  ReadRequest requests[3] = {{.file = file.get(), .offset = 0, .length = 1, .buffer = &buffers[0]},
                             {.file = file.get(), .offset = 1, .length = 1, .buffer = &buffers[1]},
                             {.file = file.get(), .offset = 2, .length = 1, .buffer = &buffers[2]}};
  int done = 0;
  directory_->ReadMany(requests, [&](ReadRequest&) { ++done; });
  EXPECT_EQ(done, 3);
  EXPECT_TRUE(requests[0].status.ok());
  EXPECT_EQ(requests[1].status.code(), absl::StatusCode::kInternal);
  EXPECT_EQ(requests[1].bytes_read, 0u);
  EXPECT_TRUE(requests[2].status.ok());
}

}  // namespace
}  // namespace sepal

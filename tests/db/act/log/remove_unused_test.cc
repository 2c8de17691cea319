// Logs that were begun in vain, beside one that needs no ring because of its length: what fails, and when all ends.
#include "db/act/log/remove_unused.h"

#include <gtest/gtest.h>

#include "tests/db/act/log/log_ring_fixture.h"

namespace sepal {
namespace {

class UnusedLogsTest : public LogRingFixture {
 protected:
  // Nothing but lengths says that the records of the first are all there.
  void CloseInFile(uint64_t last) {
    Create();
    AppendMany(1, 10);
    for (uint64_t file = 2; file <= last; ++file) {
      ASSERT_TRUE(log_->Rotate(FileNumber(file), {FileNumber(9), 99}).ok());
    }
    ASSERT_TRUE(log_->Close().ok());
    log_->RemoveRing();
    ASSERT_TRUE(directory_->Sync().ok());
  }
  void ExpectAll() {
    const auto recovery = Recover({.minimum = FileNumber(1)});
    ASSERT_TRUE(recovery.ok()) << recovery.status();
    EXPECT_EQ(delivered_, appended_);
  }
  void StartAnew() {
    log_.reset();
    RemoveAll();
    appended_.clear();
  }
};

TEST_F(UnusedLogsTest, TheRemovalOfUnusedLogsMayEndAtAnyCall) {
  for (const CrashMode mode : {CrashMode::kKillProcess, CrashMode::kLoseUnsynced}) {
    bool whole = false;
    for (uint64_t ends_at = 1; !whole; ++ends_at) {
      SCOPED_TRACE(ends_at);
      ASSERT_NO_FATAL_FAILURE(CloseInFile(4));
      const auto recovery = Recover({.minimum = FileNumber(1)});
      ASSERT_TRUE(recovery.ok()) << recovery.status();
      ASSERT_EQ(recovery->leftovers.size(), 3u);
      const auto logs = ListLogs(directory_.get());
      ASSERT_TRUE(logs.ok()) << logs.status();
      uint64_t calls = 0;
      faults_.SetDecider([&](const FileCall& call) {
        if (IsMutation(call.op) && ++calls == ends_at) memory_.Crash(mode, ends_at);
        return Fault::kNone;
      });
      whole = RemoveUnusedLogs(directory_.get(), *logs, *recovery).ok();
      faults_.Clear();
      Reopen();
      ASSERT_NO_FATAL_FAILURE(ExpectAll());
      if (whole) {
        EXPECT_TRUE(Recover({.minimum = FileNumber(1)})->leftovers.empty());
      }
      ASSERT_NO_FATAL_FAILURE(StartAnew());
    }
  }
}

TEST_F(UnusedLogsTest, ALogThatFailedToBeginKeepsTheRingThatItNames) {
  ASSERT_NO_FATAL_FAILURE(CloseInFile(1));
  const auto recovery = Recover();
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  faults_.SetDecider(
      [](const FileCall& call) { return call.op == FileOp::kDirectorySync ? Fault::kIoError : Fault::kNone; });
  EXPECT_FALSE(WriteAheadLog::Create(directory_.get(), RingOptions(), recovery->Next(FileNumber(5), {}, {})).ok());
  faults_.Clear();
  ASSERT_NO_FATAL_FAILURE(ExpectAll());
  // What it leaves goes once another opening finds it.
  EXPECT_EQ(Recover()->leftovers, std::vector<std::string>{"000005.log"});
}

// Without a file nothing names the ring, whose space a log without a ring may need.
TEST_F(UnusedLogsTest, ALogThatFoundNoSpaceLeavesNoRing) {
  faults_.SetDecider([](const FileCall& call) {
    return call.op == FileOp::kAllocate && call.name.ends_with(".log") ? Fault::kNoSpace : Fault::kNone;
  });
  EXPECT_TRUE(absl::IsResourceExhausted(WriteAheadLog::Create(directory_.get(), RingOptions(), FirstLog()).status()));
  faults_.Clear();
  EXPECT_TRUE(directory_->List()->empty());
}

}  // namespace
}  // namespace sepal

// Where the ring cannot be had, where calls of files fail, and what comes before small syncs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/db/act/log/log_ring_fixture.h"

namespace sepal {
namespace {

using LogRingFaultTest = LogRingFixture;

TEST_F(LogRingFaultTest, WhereThereCanBeNoRingRecordsAreWritten) {
  for (const FileOp op : {FileOp::kMap, FileOp::kAllocate, FileOp::kTruncate}) {
    SCOPED_TRACE(static_cast<int>(op));
    faults_.SetDecider([op](const FileCall& call) {
      return call.op == op && call.name.ends_with(".ring") ? Fault::kTooManyFiles : Fault::kNone;
    });
    appended_.clear();
    Create();
    EXPECT_EQ(log_->RingNumber(), FileNumber(0));
    EXPECT_FALSE(memory_.ReadFileContents(kRingFile).ok());
    AppendMany(1, 100);
    EXPECT_EQ(Contents(kFirstFile).find_last_not_of('\0') / 16, (kLogHeaderBytes + log_->End().value() - 1) / 16);
    const auto header = LogHeader::Decode(Contents(kFirstFile).substr(0, kLogHeaderBytes), "f");
    EXPECT_EQ(header->ring, RingReference{});
    ExpectAllAfterTheProcessDied();
    RemoveAll();
  }
}

TEST_F(LogRingFaultTest, WhereTheDiskHasRoomForALogAndNotForARingToo) {
  memory_.SetCapacity(memory_.UsedBytes() + 10'000);
  Create();
  EXPECT_EQ(log_->RingNumber(), FileNumber(0));
  EXPECT_FALSE(memory_.ReadFileContents(kRingFile).ok());
  Append(1, "text");
  ExpectAllAfterTheProcessDied();
}

// Numbers are never used twice: it is another's, who may have its records there.
TEST_F(LogRingFaultTest, WhereItsNameIsTakenThereIsNoRingAndWhatHasTheNameStays) {
  ASSERT_TRUE(memory_.WriteFileContents(kRingFile, "another's").ok());
  Create();
  EXPECT_EQ(log_->RingNumber(), FileNumber(0));
  EXPECT_NE(log_->ModeText().find(".ring"), std::string::npos) << log_->ModeText();
  Append(1, "text");
  EXPECT_EQ(memory_.ReadFileContents(kRingFile).value(), "another's");
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogRingFaultTest, ALogThatCannotBeMadeLeavesNoRing) {
  faults_.Inject({.fault = Fault::kIoError, .op = FileOp::kOpenWrite, .name_contains = ".log"});
  EXPECT_FALSE(WriteAheadLog::Create(directory_.get(), RingOptions(), FirstLog()).ok());
  EXPECT_FALSE(memory_.ReadFileContents(kRingFile).ok());
}

TEST_F(LogRingFaultTest, AFullDiskIsToldBeforeAnythingIsStored) {
  CreateWithTasks();
  Append(1, "fits");
  uint64_t refused = 0;
  faults_.SetDecider([&](const FileCall& call) {
    if (call.op != FileOp::kAllocate) return Fault::kNone;
    ++refused;
    return Fault::kNoSpace;
  });
  uint64_t sequence = 2;
  absl::Status status;
  while (status.ok() && sequence < 10000) {
    status = log_->Append(SequenceNumber(sequence++), Batch(std::string(100, 'x'))).status();
    executor_.RunAll();
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_GT(refused, 2u) << "ahead too, which harms nothing";
  faults_.Clear();
  EXPECT_TRUE(log_->Append(SequenceNumber(sequence), Batch("again")).ok());
  const auto recovery = Recover();
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(recovery->last_sequence, SequenceNumber(sequence));
}

TEST_F(LogRingFaultTest, AWriteThatFailsInATaskIsFinalAndLosesNothingToTheDeathOfTheProcess) {
  CreateWithTasks();
  faults_.Inject({.fault = Fault::kIoError, .op = FileOp::kWriteAt, .sticky = true});
  uint64_t sequence = 1;
  while (executor_.held() == 0) Append(sequence++, std::string(100, 'x'));
  Append(sequence++, "acknowledged");
  executor_.RunAll();
  faults_.Clear();
  EXPECT_FALSE(log_->Failure().ok());
  EXPECT_FALSE(log_->Append(SequenceNumber(sequence), Batch("refused")).ok());
  EXPECT_FALSE(log_->Sync(log_->End()).ok());
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogRingFaultTest, AWriteThatFailsWhereTheRingIsFullIsFinal) {
  Create();
  faults_.Inject({.fault = Fault::kIoError, .op = FileOp::kWriteAt, .sticky = true});
  uint64_t sequence = 1;
  absl::Status status;
  while (status.ok() && sequence < 1000) {
    status = log_->Append(SequenceNumber(sequence), Batch(std::string(100, 'x'))).status();
    if (status.ok()) appended_.push_back(Delivered(sequence++, std::string(100, 'x')));
  }
  EXPECT_GT(sequence, 50u);
  faults_.Clear();
  EXPECT_FALSE(log_->Append(SequenceNumber(sequence), Batch("text")).ok());
  ExpectAllAfterTheProcessDied();
}

// It is written at once, behind what is in the ring before it.
TEST_F(LogRingFaultTest, AWriteThatFailsBeforeALargeRecordIsFinal) {
  Create();
  Append(1, "small");
  faults_.Inject({.fault = Fault::kIoError, .op = FileOp::kWriteAt, .sticky = true});
  EXPECT_FALSE(log_->Append(SequenceNumber(2), Batch(std::string(3000, 'x'))).ok());
  faults_.Clear();
  EXPECT_FALSE(log_->Append(SequenceNumber(2), Batch("text")).ok());
  EXPECT_FALSE(log_->Failure().ok());
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogRingFaultTest, AFailedSyncOrWriteOutOfASyncIsFinal) {
  for (const FileOp op : {FileOp::kWriteAt, FileOp::kSync}) {
    Create();
    AppendAndSync(1, "text");
    Append(2, "text");
    faults_.Inject({.fault = Fault::kIoError, .op = op, .sticky = true});
    EXPECT_FALSE(log_->Sync(log_->End()).ok());
    faults_.Clear();
    EXPECT_FALSE(log_->Sync(log_->End()).ok());
    EXPECT_FALSE(log_->Append(SequenceNumber(3), Batch("text")).ok());
    ExpectAllAfterTheProcessDied();
    RemoveAll();
    appended_.clear();
  }
}

// --- what comes before small syncs ---

TEST_F(LogRingFaultTest, BlocksOfALogOfSyncedWritesAreZeroedAheadManyAtOnce) {
  Create();
  AppendAndSync(1, "text");
  std::vector<FileCall> zeroing;
  faults_.SetDecider([&](const FileCall& call) {
    if (call.op == FileOp::kWriteAt && call.length >= 4096) zeroing.push_back(call);
    return Fault::kNone;
  });
  for (uint64_t i = 2; i <= 100; ++i) AppendAndSync(i, "text");
  ASSERT_EQ(zeroing.size(), 3u) << "no further than there is space";
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(zeroing[i].offset, (i + 1) * 4096);
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogRingFaultTest, NothingIsZeroedAheadWhereZerosTakeSpace) {
  Create();
  AppendAndSync(1, "text");
  int zeroing = 0;
  faults_.SetDecider([&](const FileCall& call) {
    if (call.op != FileOp::kWriteAt || call.length < 4096) return Fault::kNone;
    ++zeroing;
    return Fault::kNoSpace;
  });
  for (uint64_t i = 2; i <= 100; ++i) AppendAndSync(i, "text");
  EXPECT_EQ(zeroing, 1);
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogRingFaultTest, AFailureToZeroAheadIsFinal) {
  Create();
  AppendAndSync(1, "text");
  faults_.SetDecider([&](const FileCall& call) {
    return call.op == FileOp::kWriteAt && call.length >= 4096 ? Fault::kIoError : Fault::kNone;
  });
  Append(2, "text");
  EXPECT_FALSE(log_->Sync(log_->End()).ok());
  EXPECT_FALSE(log_->Failure().ok());
}

}  // namespace
}  // namespace sepal

// Log records that are stored into a mapping: they are there whenever written ones would be.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/db/act/log_fixture.h"
#include "util/random.h"

namespace sepal {
namespace {

const char* const kFirstFile = "db/000001.log";

class MappedLogTest : public LogFixture {
 protected:
  void Create() {
    LogOptions options = Options();
    options.allocation_step_bytes = 16384;
    options.map = true;
    log_ = WriteAheadLog::Create(directory_.get(), options, FirstLog()).value();
  }
  void Append(uint64_t sequence, std::string_view text, bool to_be_synced = false) {
    const auto end = log_->Append(SequenceNumber(sequence), Batch(text), to_be_synced);
    ASSERT_TRUE(end.ok()) << end.status();
    appended_.push_back(Delivered(sequence, text));
  }
  // Appends `count` records of many sizes, some of them in fragments, every `written_one_in`-th one written.
  void AppendMany(uint64_t first, uint64_t count, uint64_t written_one_in) {
    Random random(first);
    for (uint64_t i = 0; i < count; ++i) {
      const std::string text(random.OneIn(30) ? 9000 : random.Uniform(300), static_cast<char>('a' + i % 26));
      Append(first + i, text, random.OneIn(written_one_in));
    }
  }
  void ExpectAllAfterTheProcessDied() {
    memory_.Crash(CrashMode::kKillProcess, 0);
    log_.reset();
    faults_.Clear();
    Reopen();
    ASSERT_TRUE(Recover().ok());
    EXPECT_EQ(delivered_, appended_);
  }
  uint64_t Calls(FileOp op) const { return counts_[static_cast<size_t>(op)]; }
  void CountCalls() {
    faults_.SetDecider([this](const FileCall& call) {
      ++counts_[static_cast<size_t>(call.op)];
      return Fault::kNone;
    });
  }

  std::unique_ptr<WriteAheadLog> log_;
  std::vector<std::string> appended_;
  uint64_t counts_[64] = {};
};

TEST_F(MappedLogTest, RecordsThatAreNotSyncedTakeNoWriteCalls) {
  Create();
  CountCalls();
  for (uint64_t i = 1; i <= 100; ++i) Append(i, "text");
  EXPECT_EQ(Calls(FileOp::kAppend) + Calls(FileOp::kWriteAt), 0u);
  EXPECT_EQ(Calls(FileOp::kMap), 2u) << "of 4 KiB each";
}

TEST_F(MappedLogTest, WhatIsMappedIsCharged) {
  MemoryBudget budget(1 << 20);
  LogOptions options = Options();
  options.allocation_step_bytes = 16384;
  options.map = true;
  options.budget = &budget;
  log_ = WriteAheadLog::Create(directory_.get(), options, FirstLog()).value();
  EXPECT_EQ(budget.used(MemoryPart::kLog), 0u);
  AppendMany(1, 50, UINT64_MAX);
  EXPECT_EQ(budget.used(MemoryPart::kLog), 4096u);
  ASSERT_TRUE(log_->Rotate(FileNumber(8), {}).ok());
  EXPECT_EQ(budget.used(MemoryPart::kLog), 0u);
  Append(51, "more");
  EXPECT_GT(budget.used(MemoryPart::kLog), 0u);
  log_.reset();
  EXPECT_EQ(budget.used(MemoryPart::kLog), 0u);
}

TEST_F(MappedLogTest, ALogOfSyncedWritesIsNotMapped) {
  Create();
  CountCalls();
  for (uint64_t i = 1; i <= 100; ++i) Append(i, "text", /*to_be_synced=*/true);
  EXPECT_EQ(Calls(FileOp::kMap) + Calls(FileOp::kTruncate), 0u);
}

TEST_F(MappedLogTest, BlocksOfALogOfSyncedWritesAreZeroedAheadManyAtOnce) {
  Create();
  Append(1, "text", /*to_be_synced=*/true);
  ASSERT_TRUE(log_->Sync(log_->End()).ok());
  std::vector<FileCall> zeroing;
  faults_.SetDecider([&](const FileCall& call) {
    if (call.op == FileOp::kWriteAt && call.length >= 4096) zeroing.push_back(call);
    return Fault::kNone;
  });
  for (uint64_t i = 2; i <= 100; ++i) {
    Append(i, "text", true);
    ASSERT_TRUE(log_->Sync(log_->End()).ok());
  }
  ASSERT_EQ(zeroing.size(), 3u) << "no further than there is space";
  for (uint64_t i = 0; i < 3; ++i) EXPECT_EQ(zeroing[i].offset, (i + 1) * 4096);
  ExpectAllAfterTheProcessDied();
}

TEST_F(MappedLogTest, WhereZerosTakeSpaceThereAreNone) {
  Create();
  Append(1, "text", true);
  ASSERT_TRUE(log_->Sync(log_->End()).ok());
  int zeroing = 0;
  faults_.SetDecider([&](const FileCall& call) {
    if (call.op != FileOp::kWriteAt || call.length < 4096) return Fault::kNone;
    ++zeroing;
    return Fault::kNoSpace;
  });
  for (uint64_t i = 2; i <= 100; ++i) {
    Append(i, "text", true);
    ASSERT_TRUE(log_->Sync(log_->End()).ok());
  }
  EXPECT_EQ(zeroing, 1);
  faults_.Clear();
  ExpectAllAfterTheProcessDied();
}

TEST_F(MappedLogTest, AFailureToZeroAheadIsFinal) {
  Create();
  Append(1, "text", true);
  ASSERT_TRUE(log_->Sync(log_->End()).ok());
  faults_.SetDecider([&](const FileCall& call) {
    return call.op == FileOp::kWriteAt && call.length >= 4096 ? Fault::kIoError : Fault::kNone;
  });
  EXPECT_FALSE(log_->Append(SequenceNumber(2), Batch("text"), true).ok());
  EXPECT_FALSE(log_->Failure().ok());
  faults_.Clear();
  EXPECT_FALSE(log_->Append(SequenceNumber(3), Batch("text"), true).ok());
}

TEST_F(MappedLogTest, WhatWasStoredOutlivesTheProcess) {
  Create();
  AppendMany(1, 400, 5);
  memory_.Crash(CrashMode::kKillProcess, 0);
  log_.reset();
  Reopen();
  const auto recovery = Recover();
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(delivered_, appended_);
  EXPECT_EQ(recovery->dropped_bytes, 0u);
}

TEST_F(MappedLogTest, AfterALossOfPowerAPrefixIsLeftThatHoldsAllThatWasSynced) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    memory_.Crash(CrashMode::kLoseUnsynced, 0);
    log_.reset();
    Reopen();
    const std::vector<DirectoryEntry> before = directory_->List().value();
    for (const DirectoryEntry& entry : before) ASSERT_TRUE(directory_->Remove(entry.name).ok());
    Reopen();
    appended_.clear();
    Create();
    AppendMany(1, 40, 5);
    ASSERT_TRUE(log_->Sync(log_->End()).ok());
    const size_t synced = appended_.size();
    AppendMany(41, 60, 5);
    memory_.Crash(CrashMode::kAnySubset, seed);
    log_.reset();
    Reopen();
    const auto recovery = Recover();
    ASSERT_TRUE(recovery.ok()) << recovery.status() << " seed " << seed;
    ASSERT_GE(delivered_.size(), synced) << "seed " << seed;
    appended_.resize(delivered_.size());
    EXPECT_EQ(delivered_, appended_) << "seed " << seed;
  }
}

TEST_F(MappedLogTest, AFlippedBitBeforeTheSyncedEndIsDataLoss) {
  Create();
  for (uint64_t i = 1; i <= 20; ++i) Append(i, "text");
  ASSERT_TRUE(log_->Sync(log_->End()).ok());
  Append(21, "behind");  // carries the watermark
  ASSERT_TRUE(memory_.FlipBit(kFirstFile, kLogHeaderBytes + 100, 3).ok());
  EXPECT_TRUE(absl::IsDataLoss(Recover().status()));
}

TEST_F(MappedLogTest, AnOrderlyCloseCutsTheFileToItsRecords) {
  Create();
  AppendMany(1, 50, 3);
  EXPECT_GT(memory_.ReadFileContents(kFirstFile)->size(), kLogHeaderBytes + log_->End().value());
  const auto end = log_->Close();
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(memory_.ReadFileContents(kFirstFile)->size(), end->length_bytes);
  const auto recovery = Recover({.closed = *end});
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(delivered_, appended_);
}

TEST_F(MappedLogTest, RecordsGoOnFromOneWindowIntoTheNext) {
  Create();
  CountCalls();
  for (uint64_t i = 1; i <= 1000; ++i)
    Append(i, std::string(100, 'a'));  // more than seven windows, none of whole records
  EXPECT_EQ(Calls(FileOp::kAppend) + Calls(FileOp::kWriteAt), 0u);
  EXPECT_GT(Calls(FileOp::kMap), 7u);
  ExpectAllAfterTheProcessDied();
}

TEST_F(MappedLogTest, AWindowThatFailsInTheMiddleOfARecordLeavesTheWholeRecordWritten) {
  Create();
  faults_.Inject({.fault = Fault::kTooManyFiles, .op = FileOp::kMap, .skip = 1, .sticky = true});
  AppendMany(1, 300, UINT64_MAX);
  ExpectAllAfterTheProcessDied();
}

class LargeWindowTest : public MappedLogTest {
 protected:
  void SetUp() override {
    LogOptions options = Options();
    options.allocation_step_bytes = 8 << 20;
    options.map = true;
    log_ = WriteAheadLog::Create(directory_.get(), options, FirstLog()).value();
  }
  void FillUpTo(uint64_t bytes) {
    while (log_->LiveBytes() < bytes) Append(sequence_++, std::string(1000, 'a'));
  }
  void ExpectWhole() {
    ASSERT_TRUE(Recover().ok());
    EXPECT_EQ(delivered_, appended_);
  }
  static constexpr uint64_t kMiB = 1 << 20;
  uint64_t sequence_ = 1;
};

TEST_F(LargeWindowTest, TwoOfAMebibyteThenOfTwo) {
  CountCalls();
  FillUpTo(kMiB / 2);
  EXPECT_EQ(Calls(FileOp::kMap), 1u);
  FillUpTo(3 * kMiB / 2);
  EXPECT_EQ(Calls(FileOp::kMap), 2u);
  FillUpTo(15 * kMiB / 2);
  EXPECT_EQ(Calls(FileOp::kMap), 5u);
  EXPECT_EQ(Calls(FileOp::kAppend) + Calls(FileOp::kWriteAt), 0u);
  ExpectWhole();
}

// A store into a large page that a sync has cleaned would make the next sync write all of it.
TEST_F(LargeWindowTest, AfterASyncOfLittleItsRestIsWrittenAndSmallOnesFollow) {
  FillUpTo(5 * kMiB / 2);
  ASSERT_TRUE(log_->Sync(log_->End()).ok());
  FillUpTo(5 * kMiB / 2 + 5000);
  ASSERT_TRUE(log_->Sync(log_->End()).ok());
  CountCalls();
  FillUpTo(4 * kMiB - 2000);
  EXPECT_EQ(Calls(FileOp::kMap), 0u);
  EXPECT_GE(Calls(FileOp::kWriteAt), 1400u);
  FillUpTo(4 * kMiB + 2000);
  const uint64_t written = Calls(FileOp::kWriteAt);
  FillUpTo(11 * kMiB / 2);
  EXPECT_EQ(Calls(FileOp::kWriteAt), written);
  EXPECT_EQ(Calls(FileOp::kMap), 2u);
  ExpectWhole();
}

TEST_F(LargeWindowTest, ASyncOfMuchHarmsNothing) {
  FillUpTo(5 * kMiB / 2);
  ASSERT_TRUE(log_->Sync(log_->End()).ok());
  CountCalls();
  FillUpTo(7 * kMiB / 2);
  EXPECT_EQ(Calls(FileOp::kMap) + Calls(FileOp::kWriteAt), 0u);
  FillUpTo(11 * kMiB / 2);
  EXPECT_EQ(Calls(FileOp::kMap), 1u);
  ExpectWhole();
}

TEST_F(MappedLogTest, RotationGoesOnInANewMapping) {
  Create();
  AppendMany(1, 60, 4);
  ASSERT_TRUE(log_->Rotate(FileNumber(2), {FileNumber(9), 99}).ok());
  AppendMany(61, 60, 4);
  ExpectAllAfterTheProcessDied();
}

TEST_F(MappedLogTest, WhereMappingFailsRecordsAreWritten) {
  for (const FileOp op : {FileOp::kMap, FileOp::kTruncate}) {
    faults_.Inject({.fault = Fault::kTooManyFiles, .op = op, .sticky = true});
    appended_.clear();
    Create();
    AppendMany(1, 100, 5);
    ASSERT_TRUE(Recover().ok());
    EXPECT_EQ(delivered_, appended_);
    log_.reset();
    faults_.Clear();
    ASSERT_TRUE(directory_->Remove("000001.log").ok());
  }
}

TEST_F(MappedLogTest, AFullDiskIsToldBeforeAnythingIsStored) {
  Create();
  Append(1, "fits");
  faults_.Inject({.fault = Fault::kNoSpace, .op = FileOp::kAllocate, .sticky = true});
  uint64_t sequence = 2;
  absl::Status status;
  while (status.ok() && sequence < 10000) {
    status = log_->Append(SequenceNumber(sequence++), Batch(std::string(100, 'x')), false).status();
  }
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  faults_.Clear();
  EXPECT_TRUE(log_->Append(SequenceNumber(sequence), Batch("again"), false).ok());
  const auto recovery = Recover();
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(recovery->last_sequence, SequenceNumber(sequence));
}

}  // namespace
}  // namespace sepal

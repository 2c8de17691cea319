// A log that takes no more records holds no space beyond them, and a new one takes what the disk has.
#include <gtest/gtest.h>

#include <string>

#include "tests/db/act/log/log_ring_fixture.h"

namespace sepal {
namespace {

class LogCutTest : public LogRingFixture {
 protected:
  void CreateWithoutRing() {
    LogOptions options = RingOptions();
    options.ring_bytes = 0;
    log_ = WriteAheadLog::Create(directory_.get(), options, FirstLog()).value();
  }
  uint64_t Rotate(uint64_t next) {
    const absl::StatusOr<FileNumber> number = log_->Rotate(FileNumber(next), {FileNumber(9), 99});
    EXPECT_TRUE(number.ok()) << number.status();
    return number.value_or(FileNumber(0)).value();
  }
  uint64_t FirstFileBytes() { return Contents(kFirstFile).size(); }
  uint64_t FirstLogBytes() const { return log_->Live().front().size_bytes; }
  void FailTruncate(Fault fault) {
    faults_.SetDecider([fault](const FileCall& call) { return call.op == FileOp::kTruncate ? fault : Fault::kNone; });
  }
};

TEST_F(LogCutTest, ATaskCutsTheLogThatIsFullToItsRecords) {
  CreateWithTasks();
  Append(1, std::string(3000, 'a'));
  ASSERT_EQ(FirstFileBytes(), 16384u);
  Rotate(2);
  executor_.RunAll();
  EXPECT_EQ(FirstFileBytes(), FirstLogBytes());
  Append(2, "b");
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogCutTest, ItDoesSoIfASyncHasWrittenTheRecords) {
  CreateWithTasks();
  AppendAndSync(1, "a");
  executor_.RunAll();
  Rotate(2);
  executor_.RunAll();
  EXPECT_EQ(FirstFileBytes(), FirstLogBytes());
  Append(2, "b");
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogCutTest, WithoutTasksTheWriterThatFilesTheRecordsCuts) {
  Create();
  Append(1, "a");
  Rotate(2);
  AppendAndSync(2, "b");
  EXPECT_EQ(FirstFileBytes(), FirstLogBytes());
  Rotate(3);  // everything is in its file
  EXPECT_EQ(Contents("db/000002.log").size(), log_->Live()[1].size_bytes);
  Append(3, "c");
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogCutTest, WithoutARingTheLogIsCutWhenTheNextBegins) {
  CreateWithoutRing();
  Append(1, "a");
  const uint64_t reserved = memory_.UsedBytes();
  const uint64_t first = Rotate(2);
  EXPECT_EQ(first, 2u);
  EXPECT_EQ(FirstFileBytes(), FirstLogBytes());
  EXPECT_EQ(memory_.UsedBytes(), reserved + FirstLogBytes());
  Append(2, "b");
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogCutTest, WithoutARingALogThatWasCutInVainTakesMoreRecords) {
  CreateWithoutRing();
  Append(1, "a");
  faults_.SetDecider(
      [](const FileCall& call) { return call.op == FileOp::kOpenWrite ? Fault::kNoSpace : Fault::kNone; });
  EXPECT_TRUE(absl::IsResourceExhausted(log_->Rotate(FileNumber(2), {FileNumber(9), 99}).status()));
  faults_.Clear();
  Append(2, std::string(3000, 'b'));
  Rotate(3);
  Append(3, "c");
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogCutTest, ACutThatFailsEndsWriting) {
  CreateWithTasks();
  Append(1, "a");
  Rotate(2);
  FailTruncate(Fault::kIoError);
  executor_.RunAll();
  EXPECT_FALSE(log_->Failure().ok());
  EXPECT_FALSE(log_->Append(SequenceNumber(2), Batch("b")).ok());
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogCutTest, ACutForWhichThereIsNoSpaceLeavesTheLogAsItIs) {
  for (const bool ring : {true, false}) {
    RemoveAll();
    appended_.clear();
    ring ? CreateWithTasks() : CreateWithoutRing();
    Append(1, "a");
    FailTruncate(Fault::kNoSpace);
    Rotate(2);
    executor_.RunAll();
    Append(2, "b");
    EXPECT_TRUE(log_->Failure().ok());
    ExpectAllAfterTheProcessDied();
  }
}

TEST_F(LogCutTest, ANewLogTakesLessSpaceWhereThereIsLess) {
  CreateWithTasks();
  Append(1, "a");
  memory_.SetCapacity(memory_.UsedBytes() + 2000);
  Rotate(2);
  Append(2, "b");
  executor_.RunAll();
  // Now the first log has given back its own.
  Append(3, std::string(8000, 'c'));
  memory_.SetCapacity(UINT64_MAX / 2);
  ExpectAllAfterTheProcessDied();
}

// What was synced is there, and of what was not a prefix, whether or not a cut came through.
TEST_F(LogCutTest, PowerLossAfterACutLosesNothingThatWasSynced) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    RemoveAll();
    appended_.clear();
    CreateWithTasks();
    AppendAndSync(1, std::string(seed * 40, 'a'));
    Append(2, "b");
    ASSERT_TRUE(seed % 3 != 0 || log_->Sync(log_->End()).ok());
    Rotate(2);
    if (seed % 2 == 0) executor_.RunAll();
    Append(3, "c");
    executor_.RunAll();
    const size_t synced = seed % 3 == 0 ? 2 : 1;
    Die(CrashMode::kAnySubset, seed);
    const auto recovery = Recover();
    ASSERT_TRUE(recovery.ok()) << seed << ": " << recovery.status();
    ASSERT_GE(delivered_.size(), synced) << seed;
    ASSERT_LE(delivered_.size(), appended_.size()) << seed;
    for (size_t i = 0; i < delivered_.size(); ++i) EXPECT_EQ(delivered_[i], appended_[i]) << seed;
  }
}

}  // namespace
}  // namespace sepal

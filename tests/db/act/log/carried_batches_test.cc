// Logs that begin with batches of earlier ones (LogStart::carried).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/db/act/log/recovery_fixture.h"

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class CarriedBatchesTest : public RecoveryFixture {
 protected:
  // Log 1 with the batches 1 and 2, and log 2 after it, which begins with `again`; then `more` are appended.
  void WriteBoth(const std::vector<LoggedBatch>& again, const std::vector<std::string>& more = {}) {
    auto first = WriteAheadLog::Create(directory_.get(), Options(), FirstLog()).value();
    ASSERT_TRUE(first->Append(SequenceNumber(1), Batch("a")).ok());
    ASSERT_TRUE(first->Append(SequenceNumber(2), Batch("b", 2)).ok());
    first.reset();
    LogStart start = Recover().value().Next(FileNumber(2), SequenceNumber(), {});
    start.carried = again;
    auto second = WriteAheadLog::Create(directory_.get(), Options(), start).value();
    uint64_t sequence = 4;
    for (const std::string& text : more) {
      ASSERT_TRUE(second->Append(SequenceNumber(sequence++), Batch(text)).ok());
    }
  }
  static std::vector<LoggedBatch> Both() {
    return {{SequenceNumber(1), Batch("a")}, {SequenceNumber(2), Batch("b", 2)}};
  }
};

TEST_F(CarriedBatchesTest, BatchesThatTwoLogsHoldAreDeliveredOnce) {
  WriteBoth(Both(), {"c"});
  const absl::StatusOr<LogRecovery> recovery = Recover();
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_THAT(delivered_, ElementsAre(Delivered(1, "a"), Delivered(2, "b", 2), Delivered(4, "c")));
  EXPECT_EQ(recovery->batches, 3u);
  EXPECT_EQ(recovery->last_sequence, SequenceNumber(4));
  EXPECT_THAT(recovery->logs, SizeIs(2));
  EXPECT_EQ(recovery->logs[1].end, recovery->end);
}

TEST_F(CarriedBatchesTest, WithoutTheEarlierLogTheyAreDeliveredFromTheLaterOne) {
  WriteBoth({{SequenceNumber(2), Batch("b", 2)}});
  ASSERT_TRUE(directory_->Remove(LogFileName(FileNumber(1))).ok());
  const absl::StatusOr<LogRecovery> recovery = Recover({.minimum = FileNumber(2)});
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_THAT(delivered_, ElementsAre(Delivered(2, "b", 2)));
}

// Where the log goes on after them, its next log begins.
TEST_F(CarriedBatchesTest, AThirdLogMayBeginWithThemToo) {
  WriteBoth(Both());
  const LogRecovery recovery = Recover().value();
  EXPECT_GT(recovery.logs[1].end, recovery.logs[1].start);
  LogStart start = recovery.Next(FileNumber(3), SequenceNumber(), {});
  EXPECT_EQ(start.position, recovery.logs[1].end);
  const std::vector<LoggedBatch> both = Both();
  start.carried = both;
  ASSERT_TRUE(WriteAheadLog::Create(directory_.get(), Options(), start).ok());
  ASSERT_TRUE(Recover().ok());
  EXPECT_THAT(delivered_, ElementsAre(Delivered(1, "a"), Delivered(2, "b", 2)));
}

// What is lost of the earlier log was never synced, and nobody was told that it is there: it proves nothing that the
// later one holds it.
TEST_F(CarriedBatchesTest, ATornEndOfTheEarlierLogIsNoDamage) {
  WriteBoth(Both());
  const std::string name = LogFileName(FileNumber(1));
  std::string bytes = memory_.ReadFileContents("db/" + name).value();
  bytes.back() ^= 1;
  WriteFile(name, bytes);
  const absl::StatusOr<LogRecovery> recovery = Recover();
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_THAT(delivered_, ElementsAre(Delivered(1, "a")));
  EXPECT_THAT(recovery->torn, HasSubstr(name));
}

TEST_F(CarriedBatchesTest, ALogDoesNotRepeatBatchesBehindOneOfItsOwnOrBeyondTheEarlierOnes) {
  for (const std::vector<Fragment>& records :
       {std::vector<Fragment>{{4, LogRecordKind::kFull, Batch("c")}, {1, LogRecordKind::kFull, Batch("a")}},
        std::vector<Fragment>{{2, LogRecordKind::kFull, Batch("b", 3)}}}) {
    RemoveAll();
    const std::string first =
        LogOf(Header(1), {{1, LogRecordKind::kFull, Batch("a")}, {2, LogRecordKind::kFull, Batch("b", 2)}});
    WriteFile(LogFileName(FileNumber(1)), first);
    LogHeader header = Header(2);
    header.start = Header(1).PositionAt(first.size());
    header.predecessor = {FileNumber(1), Header(1).salt, first.size()};
    WriteFile(LogFileName(FileNumber(2)), LogOf(header, records));
    const absl::Status status = Recover().status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(status.ToString(), HasSubstr("impossible batch or sequence number"));
  }
}

TEST_F(CarriedBatchesTest, ASalvageTakesThemOnceAndFindsNothingWrongWithThem) {
  WriteBoth(Both(), {"c"});
  std::vector<LogGap> gaps;
  ASSERT_TRUE(Salvage(&gaps).ok());
  EXPECT_THAT(delivered_, ElementsAre(Delivered(1, "a"), Delivered(2, "b", 2), Delivered(4, "c")));
  EXPECT_THAT(gaps, IsEmpty());
}

TEST_F(CarriedBatchesTest, ALogThatCannotBeSyncedWithThemIsNotMade) {
  auto first = WriteAheadLog::Create(directory_.get(), Options(), FirstLog()).value();
  ASSERT_TRUE(first->Append(SequenceNumber(1), Batch("a")).ok());
  first.reset();
  LogStart start = Recover().value().Next(FileNumber(2), SequenceNumber(), {});
  const std::vector<LoggedBatch> carried = {{SequenceNumber(1), Batch("a")}};
  start.carried = carried;
  faults_.Inject({.fault = Fault::kIoError, .op = FileOp::kSync, .name_contains = "000002", .skip = 1});
  EXPECT_TRUE(absl::IsInternal(WriteAheadLog::Create(directory_.get(), Options(), start).status()));
  faults_.Clear();
  ASSERT_TRUE(Recover().ok());
  EXPECT_THAT(delivered_, ElementsAre(Delivered(1, "a")));
}

}  // namespace
}  // namespace sepal

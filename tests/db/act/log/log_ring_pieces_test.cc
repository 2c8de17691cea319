// Pieces in which the ring goes to its file: up to multiples in the file, wherever those lie in a record.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "db/act/log/log_ring.h"
#include "tests/db/act/log/log_ring_fixture.h"

namespace sepal {
namespace {

using LogRingPiecesTest = LogRingFixture;

TEST_F(LogRingPiecesTest, ATaskWritesAPieceOutAndReservesSpaceAhead) {
  CreateWithTasks();
  CountCalls();
  uint64_t sequence = 1;
  while (executor_.held() == 0) Append(sequence++, std::string(100, 'x'));
  EXPECT_EQ(Calls(FileOp::kWriteAt), 0u);
  Append(sequence++, "behind it");
  executor_.RunAll();
  EXPECT_EQ(Calls(FileOp::kWriteAt), 1u);
  const std::string file = Contents(kFirstFile);
  EXPECT_EQ(file.find_last_not_of('\0') / 16, (kRing / 8 - 1) / 16) << "to a multiple of a piece, amid a record";
  while (log_->End().value() < 60000) {
    Append(sequence++, std::string(100, 'x'));
    executor_.RunAll();
  }
  const uint64_t allocations = Calls(FileOp::kAllocate);
  EXPECT_GE(allocations, 3u);
  EXPECT_GT(Contents(kFirstFile).size(), 60000u + kRing / 2);
  ExpectAllAfterTheProcessDied();
}

// Of the record that a task has written half the ring holds all, until the other half is in the file as well.
TEST_F(LogRingPiecesTest, ARecordThatATaskHasCutIsNotStoredOver) {
  for (uint64_t bytes = 30; bytes < 330; bytes += 23) {
    const uint64_t record_bytes = kLogRecordHeaderBytes + Batch(std::string(bytes, 'a')).size();
    for (uint64_t count = kRing / record_bytes; count < 2 * kRing / record_bytes; ++count) {
      SCOPED_TRACE(count);
      CreateWithTasks();
      for (uint64_t i = 1; i <= count; ++i) {
        Append(i, std::string(bytes, static_cast<char>('a' + i % 26)));
        if (i < kRing / record_bytes / 4) executor_.RunAll();
      }
      ExpectAllAfterTheProcessDied();
      RemoveAll();
      appended_.clear();
    }
  }
}

// A sync of records that others have written out since it began: what comes behind them in the file stays.
TEST_F(LogRingPiecesTest, NothingThatIsInTheFileIsZeroedAhead) {
  tasks_ = std::make_unique<TaskGroup>(&executor_, Executor::Priority::kFlush);
  LogRing::Options options;
  options.number = FileNumber(1);
  options.bytes = 12288;  // in pieces that are no part of a block
  options.tasks = tasks_.get();
  const std::unique_ptr<LogRing> ring = LogRing::Make(directory_.get(), std::move(options)).value();
  ASSERT_NE(ring, nullptr);
  std::shared_ptr<WritableFile> file = directory_->OpenForWrite("000001.log", WriteMode::kCreateNew).value();
  ASSERT_TRUE(file->Append(std::string(kLogHeaderBytes, 'h')).ok());
  ASSERT_TRUE(file->Truncate(1 << 20).ok());
  ring->SwitchToLogFile(FileNumber(1), std::make_shared<LogOutput>(file, 1 << 20, true, 4096, /*begun=*/true));
  uint64_t end = 0;
  for (int i = 0; i < 3; ++i, end += 1400) ASSERT_TRUE(ring->Append("header", std::string(1394, 'x')).ok());
  executor_.RunAll();  // to 4608, where the third record begins before 4096
  for (int sync = 0; sync < 3; ++sync) ASSERT_TRUE(ring->WriteOut(LogPosition(1400), /*zero_ahead=*/true).ok());
  ASSERT_TRUE(ring->WriteOut(LogPosition(end)).ok());
  const std::string bytes = Contents(kFirstFile).substr(kLogHeaderBytes, end);
  EXPECT_EQ(bytes.find('\0'), std::string::npos);
  EXPECT_EQ(Contents(kFirstFile).find_first_not_of('\0', kLogHeaderBytes + end), std::string::npos);
}

}  // namespace
}  // namespace sepal

// Records that are stored into the ring: they are there whenever written ones would be.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/db/act/log/log_ring_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using LogRingTest = LogRingFixture;

TEST_F(LogRingTest, ARecordIsNoFileCall) {
  CreateWithTasks();
  CountCalls();
  for (uint64_t i = 1; i <= 100; ++i) Append(i, "text");
  for (const uint64_t calls : counts_) EXPECT_EQ(calls, 0u);
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogRingTest, BytesOfARingAreAsTheFormatSays) {
  Create();
  for (uint64_t i = 1; i <= 300; ++i) Append(i, "text");
  const auto header = LogHeader::Decode(Contents(kFirstFile).substr(0, kLogHeaderBytes), "f");
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->ring, (RingReference{FileNumber(1), kRing, /*length_is_durable=*/true}));
  const std::string ring = Contents(kRingFile);
  ASSERT_EQ(ring.size(), kRingHeaderBytes + kRing);
  EXPECT_EQ(RingHeader::Decode(ring), (RingHeader{kRing, FileNumber(1)}));
  const uint64_t end = log_->End().value();
  ASSERT_GT(end, kRing + 500);
  // The newest byte of each place, as it is in the file once that is written out.
  ASSERT_TRUE(log_->Sync(log_->End()).ok());
  const std::string file = Contents(kFirstFile);
  for (uint64_t position = end - kRing; position < end; ++position) {
    ASSERT_EQ(ring[kRingHeaderBytes + position % kRing], file[kLogHeaderBytes + position]) << position;
  }
}

TEST_F(LogRingTest, TheRingIsCharged) {
  Create();
  EXPECT_EQ(budget_.used(MemoryPart::kLog), kRingHeaderBytes + kRing);
  log_.reset();
  EXPECT_EQ(budget_.used(MemoryPart::kLog), 0u);
}

TEST_F(LogRingTest, WithoutTasksAFullRingIsWrittenOutAPieceAtATime) {
  Create();
  CountCalls();
  for (uint64_t i = 1; i <= 100; ++i) Append(i, std::string(400, 'x'));
  EXPECT_GT(Calls(FileOp::kWriteAt), 20u);
  EXPECT_LT(Calls(FileOp::kWriteAt), 60u);
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogRingTest, WritersThatAreFasterThanTheTasksWriteThemselves) {
  CreateWithTasks();
  AppendMany(1, 300);
  EXPECT_GT(executor_.held(), 0u);
  ExpectAllAfterTheProcessDied();
}

// A writer that finds the ring full writes whole records.
TEST_F(LogRingTest, AllOutlivesTheProcessAfterEachRecordOfAFullRing) {
  // Of many sizes: which record would be cut off depends on how they fit into the ring.
  for (uint64_t bytes = 30; bytes < 330; bytes += 23) {
    const uint64_t record_bytes = kLogRecordHeaderBytes + Batch(std::string(bytes, 'a')).size();
    for (uint64_t count = kRing / record_bytes; count < 3 * kRing / record_bytes; ++count) {
      SCOPED_TRACE(count);
      Create();
      for (uint64_t i = 1; i <= count; ++i) Append(i, std::string(bytes, static_cast<char>('a' + i % 26)));
      ExpectAllAfterTheProcessDied();
      RemoveAll();
      appended_.clear();
    }
  }
}

TEST_F(LogRingTest, TasksMayRunAtAnyMoment) {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    CreateWithTasks();
    Random random(seed);
    uint64_t sequence = 1;
    for (uint64_t file = 2; file < 5; ++file) {
      for (int i = 0; i < 60; ++i) {
        AppendMany(sequence, 1);
        ++sequence;
        if (random.OneIn(5) && executor_.held() > 0) executor_.RunOne();
        if (!random.OneIn(20)) continue;
        ASSERT_TRUE(log_->Sync(log_->End()).ok());
      }
      ASSERT_TRUE(log_->Rotate(FileNumber(file), {FileNumber(9), 99}).ok());
    }
    AppendMany(sequence, 20);
    ExpectAllAfterTheProcessDied();
    RemoveAll();
    appended_.clear();
  }
}

TEST_F(LogRingTest, AfterALossOfPowerAPrefixIsLeftThatHoldsAllThatWasSynced) {
  uint64_t more = 0;
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    Create();
    AppendMany(1, 40);
    ASSERT_TRUE(log_->Sync(log_->End()).ok());
    const size_t synced = appended_.size();
    AppendMany(41, 10);
    if (seed % 2 == 1) {
      ASSERT_TRUE(log_->Rotate(FileNumber(2), {FileNumber(9), 99}).ok());
    }
    AppendMany(51, 50);
    Die(CrashMode::kAnySubset, seed);
    const auto recovery = Recover();
    ASSERT_TRUE(recovery.ok()) << recovery.status();
    ASSERT_GE(delivered_.size(), synced);
    more += delivered_.size() - synced;
    appended_.resize(delivered_.size());
    EXPECT_EQ(delivered_, appended_);
    RemoveAll();
    ASSERT_TRUE(directory_->Sync().ok());
    appended_.clear();
  }
  EXPECT_GT(more, 0u) << "some of what was not synced is left";
}

TEST_F(LogRingTest, ARotationWaitsForNothingAndTheRingHoldsRecordsOfBothFiles) {
  CreateWithTasks();
  Append(1, "first");
  ASSERT_TRUE(log_->Rotate(FileNumber(2), {FileNumber(9), 99}).ok());
  Append(2, "second");
  ASSERT_TRUE(log_->Rotate(FileNumber(3), {FileNumber(9), 99}).ok());
  Append(3, "third");
  EXPECT_EQ(Contents(kFirstFile).find_last_not_of('\0') / kLogHeaderBytes, 0u) << "nothing but the header";
  ExpectAllAfterTheProcessDied();
}

TEST_F(LogRingTest, ASyncCoversTheFilesBeforeAndWritesOutAllThatItCovers) {
  CreateWithTasks();
  Append(1, "first");
  ASSERT_TRUE(log_->Rotate(FileNumber(2), {FileNumber(9), 99}).ok());
  AppendAndSync(2, "second");
  Append(3, "third");
  Die(CrashMode::kLoseUnsynced);
  ASSERT_TRUE(Recover().ok());
  appended_.pop_back();
  EXPECT_EQ(delivered_, appended_);
}

TEST_F(LogRingTest, ARecordWithABadByteInTheFileIsTakenFromTheRingWhileItIsThereElseItIsDataLoss) {
  Create();
  for (uint64_t i = 1; i <= 20; ++i) AppendAndSync(i, "text");
  Append(21, "behind, which carries the watermark");
  ASSERT_TRUE(memory_.FlipBit(kFirstFile, kLogHeaderBytes + 100, 3).ok());
  ASSERT_TRUE(Recover().ok());
  EXPECT_EQ(delivered_, appended_);
  ASSERT_TRUE(memory_.FlipBit(kRingFile, kRingHeaderBytes + 100, 3).ok());
  const absl::Status status = Recover().status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
}

TEST_F(LogRingTest, ARecordInTheRingProvesThatOneManyLapsBeforeItWasSynced) {
  for (const bool in_the_next_file : {false, true}) {
    SCOPED_TRACE(in_the_next_file);
    Create();
    uint64_t sequence = 1;
    while (log_->End().value() < 5 * kRing + 1000) Append(sequence++, std::string(100, 'x'));
    if (in_the_next_file) {
      ASSERT_TRUE(log_->Rotate(FileNumber(2), {FileNumber(9), 99}).ok());
    }
    AppendAndSync(sequence++, "carries an older watermark, too");
    Append(sequence++, "in the ring alone");
    ASSERT_TRUE(memory_.FlipBit(kFirstFile, kLogHeaderBytes + 200, 3).ok());
    const absl::Status status = Recover().status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_NE(status.message().find("000001.ring"), absl::string_view::npos) << status;
    log_.reset();
    RemoveAll();
    appended_.clear();
  }
}

TEST_F(LogRingTest, ARecordInTheRingProvesThatWhatAFileLacksAtItsEndWasSynced) {
  Create();
  uint64_t sequence = 1;
  while (log_->End().value() < 2 * kRing) Append(sequence++, std::string(100, 'x'));
  const uint64_t end = log_->End().value();
  AppendAndSync(sequence++, "text");
  Append(sequence++, "behind");
  std::string ring = Contents(kRingFile);
  ring[kRingHeaderBytes + (end + 20) % kRing] ^= 1;
  ASSERT_TRUE(memory_.WriteFileContents(kFirstFile, Contents(kFirstFile).substr(0, kLogHeaderBytes + end)).ok());
  ASSERT_TRUE(memory_.WriteFileContents(kRingFile, ring).ok());
  EXPECT_TRUE(absl::IsDataLoss(Recover().status()));
}

TEST_F(LogRingTest, RecordsBehindABadOneInTheRingAreDropped) {
  Create();
  Append(1, "text");
  const uint64_t second = log_->End().value();
  Append(2, "text");
  Append(3, "text");
  ASSERT_TRUE(memory_.FlipBit(kRingFile, kRingHeaderBytes + second + 30, 0).ok());
  const auto recovery = Recover();
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  appended_.resize(1);
  EXPECT_EQ(delivered_, appended_);
  EXPECT_GT(recovery->dropped_bytes, 0u);
  EXPECT_NE(recovery->torn, "");
}

// Its salt is another's.
TEST_F(LogRingTest, WhatALogBeforeLeftInARingOfTheSameNameNeverCounts) {
  Create();
  AppendMany(1, 20);
  const std::string ring = Contents(kRingFile);
  Die();
  ASSERT_TRUE(directory_->Remove("000001.log").ok());
  ASSERT_TRUE(memory_.OpenDirectory("db", /*create=*/false).value()->Remove("000001.ring").ok());
  LogOptions options = RingOptions();
  options.random_seed = 8;
  log_ = WriteAheadLog::Create(directory_.get(), options, FirstLog()).value();
  EXPECT_EQ(Contents(kRingFile).substr(kRingHeaderBytes), std::string(kRing, '\0'));
  log_.reset();
  ASSERT_TRUE(memory_.WriteFileContents(kRingFile, ring).ok());
  ASSERT_TRUE(Recover().ok());
  EXPECT_TRUE(delivered_.empty());
}

TEST_F(LogRingTest, ALogThatWasClosedNeedsNoRingThoughOnlyItsLengthSaysSo) {
  Create();
  AppendMany(1, 10);
  const auto end = log_->Close();
  ASSERT_TRUE(end.ok()) << end.status();
  log_->RemoveRing();
  EXPECT_FALSE(memory_.ReadFileContents(kRingFile).ok());
  for (const LogRecoveryOptions& options : {LogRecoveryOptions{.closed = *end}, LogRecoveryOptions{}}) {
    ASSERT_TRUE(Recover(options).ok());
    EXPECT_EQ(delivered_, appended_);
  }
}

TEST_F(LogRingTest, ALogThatWentOnInFilesWithoutARecordBeforeItWasClosedNeedsNoRing) {
  for (uint64_t files = 2; files <= 4; ++files) {
    SCOPED_TRACE(files);
    Create();
    AppendMany(1, 10);
    for (uint64_t file = 2; file <= files; ++file) {
      ASSERT_TRUE(log_->Rotate(FileNumber(file), {FileNumber(9), 99}).ok());
    }
    ASSERT_TRUE(log_->Close().ok());
    log_->RemoveRing();
    const auto recovery = Recover({.minimum = FileNumber(1)});
    ASSERT_TRUE(recovery.ok()) << recovery.status();
    EXPECT_EQ(delivered_, appended_);
    // Where the file before them has lost its last record, the first of them tells.
    ASSERT_TRUE(memory_.WriteFileContents(kFirstFile, Contents(kFirstFile).substr(0, kLogHeaderBytes + 100)).ok());
    EXPECT_TRUE(absl::IsDataLoss(Recover({.minimum = FileNumber(1)}).status()));
    log_.reset();
    RemoveAll();
    appended_.clear();
  }
}

// The first file is as long as its records, as if they filled its space.
TEST_F(LogRingTest, AMissingRingIsDataLossWhereTheNextFileMayHaveHadRecordsInIt) {
  for (const uint64_t files : {2, 3}) {
    SCOPED_TRACE(files);
    Create();
    AppendMany(1, 10);
    ASSERT_TRUE(log_->Sync(log_->End()).ok());
    for (uint64_t file = 2; file <= files; ++file) {
      ASSERT_TRUE(log_->Rotate(FileNumber(file), {FileNumber(9), 99}).ok());
    }
    const std::string first = Contents(kFirstFile).substr(0, kLogHeaderBytes + log_->End().value());
    Append(11, "in the ring alone");
    Die();
    ASSERT_TRUE(memory_.WriteFileContents(kFirstFile, first).ok());
    ASSERT_TRUE(Recover().ok());
    EXPECT_EQ(delivered_, appended_);
    ASSERT_TRUE(directory_->Remove("000001.ring").ok());
    EXPECT_TRUE(absl::IsDataLoss(Recover().status()));
    RemoveAll();
    appended_.clear();
  }
}

// An opening that died before it was durable left a log, and a ring of its own.
TEST_F(LogRingTest, ALogThatWasClosedNeedsNoRingBesideOneThatWasBegunInVain) {
  Create();
  AppendMany(1, 10);
  ASSERT_TRUE(log_->Close().ok());
  log_->RemoveRing();
  const auto recovery = Recover();
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  log_ = WriteAheadLog::Create(directory_.get(), RingOptions(), recovery->Next(FileNumber(5), {}, {})).value();
  Die();
  ASSERT_TRUE(memory_.ReadFileContents("db/000005.ring").ok());
  ASSERT_TRUE(Recover().ok());
  EXPECT_EQ(delivered_, appended_);
}

TEST_F(LogRingTest, WithoutAClosingAMissingRingIsDataLoss) {
  Create();
  AppendMany(1, 10);
  Die();
  ASSERT_TRUE(directory_->Remove("000001.ring").ok());
  const absl::Status status = Recover().status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_NE(status.message().find("000001.ring"), absl::string_view::npos) << status;
}

TEST_F(LogRingTest, ALogWhoseRecordsAreAllInTheRingIsNotTakenForAnUnusedOne) {
  Create();
  Append(1, "text");
  ASSERT_TRUE(Recover().ok());
  EXPECT_EQ(delivered_, appended_);
  // With its header damaged nothing says what the ring holds of it.
  ASSERT_TRUE(memory_.FlipBit(kFirstFile, 20, 1).ok());
  EXPECT_TRUE(absl::IsDataLoss(Recover().status()));
}

TEST_F(LogRingTest, ALogThatWasNotYetBegunHoldsNothingWhateverItsHeaderIs) {
  CreateWithTasks();
  Append(1, "text");
  log_->PrepareNextFile(FileNumber(2));
  executor_.RunAll();
  Append(2, "text");
  ASSERT_TRUE(memory_.FlipBit("db/000002.log", 500, 1).ok());
  const auto recovery = Recover();
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(recovery->leftovers, std::vector<std::string>{"000002.log"});
  EXPECT_EQ(delivered_, appended_);
}

TEST_F(LogRingTest, AnOrderlyCloseWritesAllOutAndCutsTheFileToItsRecords) {
  CreateWithTasks();
  AppendMany(1, 50);
  EXPECT_GT(Contents(kFirstFile).size(), kLogHeaderBytes + log_->End().value());
  const auto end = log_->Close();
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(Contents(kFirstFile).size(), end->length_bytes);
  CountCalls();
  executor_.RunAll();  // what came too late does nothing
  for (const uint64_t calls : counts_) EXPECT_EQ(calls, 0u);
  EXPECT_TRUE(log_->Failure().ok());
  ASSERT_TRUE(Recover({.closed = *end}).ok());
  EXPECT_EQ(delivered_, appended_);
}

}  // namespace
}  // namespace sepal

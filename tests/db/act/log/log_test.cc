#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "db/format/file_names.h"
#include "sepal/simulation/manual_clock.h"
#include "sepal/simulation/simulated_world.h"
#include "tests/db/act/log/log_fixture.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

class LogTest : public LogFixture {
 protected:
  std::unique_ptr<WriteAheadLog> Create(const LogStart& start) {
    auto log = WriteAheadLog::Create(directory_.get(), Options(), start);
    EXPECT_TRUE(log.ok()) << log.status();
    return log.ok() ? *std::move(log) : nullptr;
  }

  // Appends a batch of one entry.
  LogPosition Append(WriteAheadLog* log, uint64_t sequence, std::string_view text) {
    auto end = log->Append(SequenceNumber(sequence), Batch(text));
    EXPECT_TRUE(end.ok()) << end.status();
    return end.ok() ? *end : LogPosition();
  }
};

TEST_F(LogTest, WhatWasAppendedIsDeliveredInOrder) {
  auto log = Create(FirstLog());
  Append(log.get(), 1, "a");
  ASSERT_TRUE(log->Append(SequenceNumber(2), Batch("b", 3)).ok());
  const LogPosition end = Append(log.get(), 9, "c");
  const auto recovery = Recover();
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(delivered_, (std::vector<std::string>{Delivered(1, "a"), Delivered(2, "b", 3), Delivered(9, "c")}));
  EXPECT_EQ(recovery->last_sequence, SequenceNumber(9));
  EXPECT_EQ(recovery->end, end);
  EXPECT_EQ(recovery->batches, 3u);
  EXPECT_EQ(recovery->dropped_bytes, 0u);
  EXPECT_EQ(recovery->torn, "");
}

TEST_F(LogTest, BytesOfAWholeLogAreAsTheFormatSays) {
  auto log = Create(FirstLog());
  Append(log.get(), 1, "k");
  const std::string bytes = *memory_.ReadFileContents("db/000001.log");
  ASSERT_EQ(bytes.size(), kLogHeaderBytes + kLogRecordHeaderBytes + Batch("k").size());
  const auto header = LogHeader::Decode(bytes.substr(0, kLogHeaderBytes), "f");
  ASSERT_TRUE(header.ok());
  EXPECT_EQ(header->number, FileNumber(1));
  EXPECT_EQ(header->manifest, (ManifestReference{FileNumber(9), 99}));
  const auto record = DecodeLogRecordHeader(bytes.data() + kLogHeaderBytes, header->salt, LogPosition(0));
  ASSERT_TRUE(record.has_value());
  EXPECT_EQ(record->first_sequence, SequenceNumber(1));
  EXPECT_EQ(bytes.substr(kLogHeaderBytes + kLogRecordHeaderBytes), Batch("k"));
}

TEST_F(LogTest, ALargeBatchIsWrittenInFragmentsAndDeliveredWhole) {
  auto log = Create(FirstLog());
  const std::string large(3 * 4096 + 17, 'x');
  Append(log.get(), 1, large);
  Append(log.get(), 2, "small");
  ASSERT_TRUE(Recover().ok());
  EXPECT_EQ(delivered_, (std::vector<std::string>{Delivered(1, large), Delivered(2, "small")}));
}

TEST_F(LogTest, ALargeBatchOfWhichTheLastFragmentIsMissingIsNotDelivered) {
  auto log = Create(FirstLog());
  const LogPosition before = Append(log.get(), 1, "before");
  Append(log.get(), 2, std::string(3 * 4096, 'x'));
  std::string bytes = *memory_.ReadFileContents("db/000001.log");
  bytes.resize(kLogHeaderBytes + before.value() + 2 * (4096 + kLogRecordHeaderBytes));  // two whole fragments
  ASSERT_TRUE(memory_.WriteFileContents("db/000001.log", bytes).ok());
  const auto recovery = Recover();
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(delivered_, std::vector<std::string>{Delivered(1, "before")});
  EXPECT_EQ(recovery->end, before);
  EXPECT_EQ(recovery->dropped_bytes, 2 * (4096 + kLogRecordHeaderBytes));
  EXPECT_NE(recovery->torn, "");
}

TEST_F(LogTest, RotatedLogsAreOneLine) {
  auto log = Create(FirstLog());
  Append(log.get(), 1, "a");
  ASSERT_TRUE(log->Rotate(FileNumber(4), {}).ok());
  Append(log.get(), 2, "b");
  ASSERT_TRUE(log->Rotate(FileNumber(6), {}).ok());
  const LogPosition end = Append(log.get(), 3, "c");
  const std::vector<LiveLog> live = log->Live();
  ASSERT_EQ(live.size(), 3u);
  EXPECT_EQ(live[0].end, live[1].start);
  EXPECT_EQ(live[1].end, live[2].start);
  EXPECT_EQ(live[2].end, end);
  EXPECT_EQ(live[1].number, FileNumber(4));
  EXPECT_EQ(live[1].last_sequence, SequenceNumber(2));
  EXPECT_FALSE(live[0].durable);
  EXPECT_EQ(log->LiveBytes(), 3 * (kLogHeaderBytes + kLogRecordHeaderBytes + Batch("a").size()));
  const auto recovery = Recover();
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(delivered_, (std::vector<std::string>{Delivered(1, "a"), Delivered(2, "b"), Delivered(3, "c")}));
  EXPECT_EQ(recovery->logs.size(), 3u);
  EXPECT_EQ(recovery->end, end);
}

TEST_F(LogTest, ForgottenLogsAreNotLiveAndTheMinimumSkipsThem) {
  auto log = Create(FirstLog());
  Append(log.get(), 1, "a");
  ASSERT_TRUE(log->Rotate(FileNumber(4), {}).ok());
  Append(log.get(), 2, "b");
  log->ForgetBefore(FileNumber(4));
  EXPECT_EQ(log->Live().size(), 1u);
  log->ForgetBefore(FileNumber(100));
  EXPECT_EQ(log->Live().size(), 1u) << "the current file stays";
  const auto recovery = Recover({.minimum = FileNumber(4)});
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(delivered_, std::vector<std::string>{Delivered(2, "b")});
  EXPECT_TRUE(recovery->leftovers.empty()) << "the minimum may not be durable";
}

TEST_F(LogTest, ASyncCoversEarlierFilesAndIsSeenInLaterRecords) {
  auto log = Create(FirstLog());
  Append(log.get(), 1, "a");
  ASSERT_TRUE(log->Rotate(FileNumber(2), {}).ok());
  const LogPosition end = Append(log.get(), 2, "b");
  EXPECT_EQ(log->Durable(), LogPosition(0));
  ASSERT_TRUE(log->Sync(end).ok());
  EXPECT_EQ(log->Durable(), end);
  EXPECT_TRUE(log->Live()[0].durable);
  Append(log.get(), 3, "c");
  memory_.Crash(CrashMode::kLoseUnsynced);
  Reopen();
  auto recovery = Recover();
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(delivered_, (std::vector<std::string>{Delivered(1, "a"), Delivered(2, "b")}));
}

TEST_F(LogTest, ASyncOfWhatIsDurableTouchesNoFile) {
  auto log = Create(FirstLog());
  const LogPosition end = Append(log.get(), 1, "a");
  ASSERT_TRUE(log->Sync(end).ok());
  const uint64_t calls = faults_.CallCount();
  ASSERT_TRUE(log->Sync(end).ok());
  EXPECT_EQ(faults_.CallCount(), calls);
}

TEST_F(LogTest, SyncTellsHowLongItTook) {
  ManualClock clock;
  LogOptions options = Options();
  std::vector<std::string> told;
  options.clock = &clock;
  options.on_sync = [&](std::string_view path, uint64_t micros) {
    told.push_back(absl::StrFormat("%s %u", path, micros));
  };
  auto log = WriteAheadLog::Create(directory_.get(), options, FirstLog());
  ASSERT_TRUE(log.ok());
  faults_.SetDecider([&](const FileCall& call) {
    if (call.op == FileOp::kSync) clock.Advance(77);
    return Fault::kNone;
  });
  ASSERT_TRUE((*log)->Sync(Append(log->get(), 1, "a")).ok());
  EXPECT_EQ(told, std::vector<std::string>{"db/000001.log 77"});
}

// It goes on while a sync runs, and stands still otherwise. The first sync carries two, so that the second would wait.
TEST_F(LogTest, AClockThatStandsStillHoldsNoSyncUp) {
  ManualClock clock;
  LogOptions options = Options();
  options.clock = &clock;
  const std::unique_ptr<WriteAheadLog> log = WriteAheadLog::Create(directory_.get(), options, FirstLog()).value();
  const LogPosition first = Append(log.get(), 1, "a");
  std::unique_ptr<Thread> other;
  std::atomic<bool> other_synced{false};
  faults_.SetDecider([&, shared = log.get()](const FileCall& call) {
    if (call.op != FileOp::kSync) return Fault::kNone;
    clock.Advance(3000);
    if (shared->Durable() == LogPosition()) {
      other = std::make_unique<Thread>([shared, first, &other_synced] { other_synced = shared->Sync(first).ok(); });
      Thread::SleepMicros(50'000);
    }
    return Fault::kNone;
  });
  ASSERT_TRUE(log->Sync(first).ok());
  other.reset();
  EXPECT_TRUE(other_synced);
  EXPECT_TRUE(log->Sync(Append(log.get(), 2, "b")).ok());
  faults_.Clear();
}

TEST_F(LogTest, AFailedSyncIsFinal) {
  auto log = Create(FirstLog());
  const LogPosition end = Append(log.get(), 1, "a");
  faults_.Inject({.op = FileOp::kSync});
  const absl::Status status = log->Sync(end);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(std::string(status.message()).find("outcome of the write is unknown"), std::string::npos) << status;
  faults_.Clear();
  EXPECT_EQ(log->Sync(end), status);
  EXPECT_EQ(log->Append(SequenceNumber(2), Batch("b")).status(), status);
  EXPECT_EQ(log->Rotate(FileNumber(2), {}).status(), status);
  EXPECT_EQ(log->Close().status(), status);
  EXPECT_EQ(log->Failure(), status);
}

TEST_F(LogTest, AFailedFragmentIsFinalAndNothingOfItsBatchIsDelivered) {
  for (const uint64_t skip : {0, 1, 2}) {
    RemoveAll();
    auto log = Create(FirstLog());
    Append(log.get(), 1, "a");
    faults_.Inject({.op = FileOp::kAppend, .skip = skip});
    const absl::Status status = log->Append(SequenceNumber(2), Batch(std::string(10'000, 'x'))).status();
    faults_.Clear();
    EXPECT_TRUE(absl::IsInternal(status)) << status;
    EXPECT_EQ(log->Append(SequenceNumber(3), Batch("c")).status(), status);
    EXPECT_EQ(log->Sync(log->End()), status);
    EXPECT_EQ(log->Close().status(), status);
    EXPECT_EQ(log->Failure(), status);
    ASSERT_TRUE(Recover().ok());
    EXPECT_EQ(delivered_, std::vector<std::string>{Delivered(1, "a")});
  }
}

TEST_F(LogTest, AnEmptyBatchTakesNoSequenceNumberAfterItsFirst) {
  auto log = Create(FirstLog());
  ASSERT_TRUE(log->Append(SequenceNumber(1), WriteBatch().bytes()).ok());
  EXPECT_EQ(log->Live().back().last_sequence, SequenceNumber(1));
  Append(log.get(), 2, "b");
  ASSERT_TRUE(Recover().ok());
  EXPECT_EQ(delivered_.size(), 2u);
}

TEST_F(LogTest, AFailedSyncOrCloseOfAFileFailsTheClosing) {
  for (const FileOp op : {FileOp::kSync, FileOp::kClose}) {
    RemoveAll();
    auto log = Create(FirstLog());
    Append(log.get(), 1, "a");
    faults_.Inject({.op = op});
    EXPECT_TRUE(absl::IsInternal(log->Close().status()));
    faults_.Clear();
    const absl::Status later = log->Append(SequenceNumber(2), Batch("b")).status();
    EXPECT_TRUE(op == FileOp::kSync ? absl::IsInternal(later) : absl::IsFailedPrecondition(later)) << later;
    ASSERT_TRUE(Recover().ok());
    EXPECT_LE(delivered_.size(), 1u);
  }
}

TEST_F(LogTest, AFullDiskFailsTheAppendAndWritingResumesWithSpace) {
  auto log = Create(FirstLog());
  Append(log.get(), 1, "a");
  memory_.SetCapacity(memory_.UsedBytes());
  const std::string large(8000, 'x');
  const absl::Status status = log->Append(SequenceNumber(2), Batch(large)).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(absl::IsResourceExhausted(log->Rotate(FileNumber(2), {}).status()));
  EXPECT_TRUE(log->Failure().ok());
  ASSERT_TRUE(log->Sync(log->End()).ok());
  memory_.SetCapacity(1 << 20);
  Append(log.get(), 2, large);
  ASSERT_TRUE(log->Rotate(FileNumber(3), {}).ok());
  Append(log.get(), 3, "c");
  ASSERT_TRUE(Recover().ok());
  EXPECT_EQ(delivered_, (std::vector<std::string>{Delivered(1, "a"), Delivered(2, large), Delivered(3, "c")}));
}

TEST_F(LogTest, AFailureWhileANewFileIsStartedIsFinal) {
  for (const FileOp op : {FileOp::kAppend, FileOp::kSync, FileOp::kDirectorySync}) {
    memory_.Crash(CrashMode::kLoseUnsynced);
    Reopen();
    const uint64_t first = 10 * (1 + static_cast<uint64_t>(op));
    LogStart start = FirstLog();
    start.number = FileNumber(first);
    auto log = Create(start);
    Append(log.get(), 1, "a");
    faults_.Inject({.op = op});
    EXPECT_FALSE(log->Rotate(FileNumber(first + 1), {}).ok());
    faults_.Clear();
    EXPECT_FALSE(log->Failure().ok());
    EXPECT_FALSE(log->Append(SequenceNumber(2), Batch("b")).ok());
  }
}

TEST_F(LogTest, CloseSyncsEverythingAndTellsTheEnd) {
  auto log = Create(FirstLog());
  Append(log.get(), 1, "a");
  const auto end = log->Close();
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->number, FileNumber(1));
  EXPECT_EQ(end->length_bytes, memory_.ReadFileContents("db/000001.log")->size());
  EXPECT_TRUE(absl::IsFailedPrecondition(log->Append(SequenceNumber(2), Batch("b")).status()));
  memory_.Crash(CrashMode::kLoseUnsynced);
  Reopen();
  ASSERT_TRUE(Recover({.closed = *end}).ok());
  EXPECT_EQ(delivered_, std::vector<std::string>{Delivered(1, "a")});
}

TEST_F(LogTest, ALogGoesOnAfterRecoveryAndBothAreOneLine) {
  auto log = Create(FirstLog());
  ASSERT_TRUE(log->Sync(Append(log.get(), 1, "a")).ok());
  Append(log.get(), 2, "b");
  log.reset();
  auto recovery = Recover();
  ASSERT_TRUE(recovery.ok());
  log = Create(recovery->Next(FileNumber(2), SequenceNumber(0), {}));
  EXPECT_EQ(log->End(), recovery->end);
  // A crash before the edit that makes log 2 the minimum: the same is recovered again.
  recovery = Recover();
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(delivered_, (std::vector<std::string>{Delivered(1, "a"), Delivered(2, "b")}));
  Append(log.get(), 3, "c");
  recovery = Recover({.minimum = FileNumber(2)});
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(delivered_, std::vector<std::string>{Delivered(3, "c")});
}

TEST_F(LogTest, TheNewestManifestOfAListingIsFound) {
  LogStart start = FirstLog();
  auto log = Create(start);
  ASSERT_TRUE(log->Rotate(FileNumber(2), {FileNumber(11), 5}).ok());
  ASSERT_TRUE(log->Rotate(FileNumber(3), {FileNumber(11), 4}).ok());
  const auto logs = ListLogs(directory_.get());
  ASSERT_TRUE(logs.ok());
  EXPECT_EQ(NewestManifest(*logs), (ManifestReference{FileNumber(11), 5}));
  EXPECT_EQ(NewestManifest({}), ManifestReference());
}

}  // namespace
}  // namespace sepal

// Windows of the log that are mapped ahead, and its next file, beside the writer: whenever that happens, and whether or
// not it can.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "db/format/file_names.h"
#include "tests/db/act/log_fixture.h"
#include "tests/util/held_executor.h"
#include "util/random.h"
#include "util/sync.h"

namespace sepal {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class PreparedLogTest : public LogFixture {
 protected:
  void TearDown() override { End(); }

  void Create(uint64_t allocation_step_bytes) {
    LogOptions options = Options();
    options.allocation_step_bytes = allocation_step_bytes;
    options.map = true;
    options.budget = &budget_;
    tasks_ = std::make_unique<TaskGroup>(&executor_, Executor::Priority::kFlush);
    options.tasks = tasks_.get();
    log_ = WriteAheadLog::Create(directory_.get(), options, FirstLog()).value();
    sequence_ = 1;
    appended_.clear();
  }
  void End() {
    executor_.RunAll();
    if (tasks_ != nullptr) tasks_->Close();
    log_.reset();
    EXPECT_EQ(budget_.used(MemoryPart::kLog), 0u);
  }
  void Append(size_t bytes, bool to_be_synced = false) {
    const std::string text(bytes, static_cast<char>('a' + sequence_ % 26));
    const auto end = log_->Append(SequenceNumber(sequence_), Batch(text), to_be_synced);
    ASSERT_TRUE(end.ok()) << end.status();
    appended_.push_back(Delivered(sequence_++, text));
  }
  void FillUpTo(uint64_t bytes) {
    while (log_->LiveBytes() < bytes) Append(1000);
  }
  void CountMaps() {
    faults_.SetDecider([this](const FileCall& call) {
      if (call.op == FileOp::kMap) ++maps_;
      if (call.op == FileOp::kAppend || call.op == FileOp::kWriteAt) ++writes_;
      return Fault::kNone;
    });
  }
  void ExpectAllAfterTheProcessDied() {
    memory_.Crash(CrashMode::kKillProcess, 0);
    End();
    faults_.Clear();
    Reopen();
    ASSERT_TRUE(Recover().ok());
    EXPECT_EQ(delivered_, appended_);
  }

  MemoryBudget budget_{64 * kMiB};
  HeldExecutor executor_;
  std::unique_ptr<TaskGroup> tasks_;
  std::unique_ptr<WriteAheadLog> log_;
  std::vector<std::string> appended_;
  uint64_t sequence_ = 1;
  int maps_ = 0;
  int writes_ = 0;
};

TEST_F(PreparedLogTest, TheWriterEntersWindowsThatWereMadeAhead) {
  Create(4 * kMiB);
  CountMaps();
  Append(10);
  EXPECT_EQ(maps_, 0);
  EXPECT_EQ(writes_, 1) << "until the first one is ready";
  executor_.RunAll();
  Append(10);
  for (int window = 1; window < 8; ++window) {
    executor_.RunAll();
    EXPECT_EQ(maps_, window + 1);
    // To the next window's middle: two of 1 MiB, then of 2.
    FillUpTo(window < 2 ? kMiB * 3 / 2 : kMiB * static_cast<uint64_t>(2 * window - 1));
    EXPECT_EQ(maps_, window + 1) << "made by the writer";
  }
  EXPECT_EQ(writes_, 1);
  ExpectAllAfterTheProcessDied();
}

// As simulated databases have them.
TEST_F(PreparedLogTest, WindowsOfASmallStepAreMadeAheadToo) {
  Create(16 << 10);
  CountMaps();
  Append(10);
  executor_.RunAll();
  Append(10);
  for (int window = 1; window < 20; ++window) {
    executor_.RunAll();
    FillUpTo(static_cast<uint64_t>(window) * 4096 + 2048);
    EXPECT_EQ(maps_, window + 1);
  }
  EXPECT_EQ(writes_, 1);
  ExpectAllAfterTheProcessDied();
}

TEST_F(PreparedLogTest, UntilAWindowIsReadyRecordsAreWritten) {
  Create(4 * kMiB);
  CountMaps();
  FillUpTo(100 << 10);
  EXPECT_EQ(maps_, 0);
  EXPECT_EQ(executor_.held(), 1u);
  EXPECT_GT(writes_, 80);
  executor_.RunAll();
  EXPECT_EQ(maps_, 1);
  const int written = writes_;
  FillUpTo(kMiB / 2);
  EXPECT_EQ(writes_, written);
  ExpectAllAfterTheProcessDied();
}

TEST_F(PreparedLogTest, AWriterThatIsFasterThanTheTasksMakesItsWindows) {
  Create(4 * kMiB);
  CountMaps();
  FillUpTo(7 * kMiB);
  EXPECT_EQ(maps_, 5) << "two of 1 MiB, then of 2";
  EXPECT_LT(writes_, 5 * 130) << "128 KiB of each";
  const int written = writes_;
  executor_.RunAll();  // too late: what they make is dropped
  FillUpTo(7 * kMiB + kMiB / 2);
  EXPECT_EQ(writes_, written);
  ExpectAllAfterTheProcessDied();
}

TEST_F(PreparedLogTest, WhereNoTaskRunsTheWriterMakesWindows) {
  Create(4 * kMiB);
  tasks_->Close();
  CountMaps();
  FillUpTo(7 * kMiB);
  EXPECT_EQ(maps_, 5);
  EXPECT_EQ(writes_, 0);
  ExpectAllAfterTheProcessDied();
}

TEST_F(PreparedLogTest, WhereMappingFailsInATaskAllIsWrittenFromThenOn) {
  Create(4 * kMiB);
  faults_.Inject({.fault = Fault::kTooManyFiles, .op = FileOp::kMap, .sticky = true});
  FillUpTo(kMiB);
  executor_.RunAll();
  Append(10);
  FillUpTo(7 * kMiB);
  EXPECT_EQ(executor_.held(), 0u);
  ExpectAllAfterTheProcessDied();
}

TEST_F(PreparedLogTest, NothingIsMadeAheadOfAFileThatIsSyncedInSmallPieces) {
  Create(4 * kMiB);
  Append(10);
  executor_.RunAll();
  Append(10);
  ASSERT_TRUE(log_->Sync(log_->End()).ok());
  executor_.RunAll();
  CountMaps();
  FillUpTo(5 * kMiB);
  EXPECT_EQ(executor_.held(), static_cast<size_t>(maps_) + 1) << "only windows that were left are given away";
  ExpectAllAfterTheProcessDied();
}

// A store into a large page that a sync has cleaned would make the next sync write all of it.
TEST_F(PreparedLogTest, ALargeWindowThatIsReadyIsNotEnteredAfterASyncOfLittle) {
  Create(4 * kMiB);
  Append(10);
  executor_.RunAll();
  FillUpTo(kMiB / 2);
  executor_.RunAll();
  FillUpTo(3 * kMiB / 2);
  executor_.RunAll();  // from 2 to 4 MiB
  for (int i = 0; i < 2; ++i) {
    Append(10);
    ASSERT_TRUE(log_->Sync(log_->End()).ok());
  }
  CountMaps();
  FillUpTo(7 * kMiB / 2);
  EXPECT_EQ(maps_, 2);  // small ones
  ExpectAllAfterTheProcessDied();
}

TEST_F(PreparedLogTest, AWindowThatIsReadyIsDroppedWhereRecordsWereWrittenPastIt) {
  Create(4 * kMiB);
  Append(10);
  executor_.RunAll();
  Append(10);
  executor_.RunAll();  // from 1 to 2 MiB
  CountMaps();
  while (log_->LiveBytes() < 3 * kMiB) Append(1000, /*to_be_synced=*/true);
  Append(1000);
  EXPECT_EQ(maps_, 1);
  FillUpTo(5 * kMiB);
  ExpectAllAfterTheProcessDied();
}

TEST_F(PreparedLogTest, AFullDiskStopsNoRecordThatHasItsSpace) {
  memory_.SetCapacity(6 * kMiB);
  Create(4 * kMiB);
  CountMaps();
  FillUpTo(4 * kMiB);
  executor_.RunAll();
  absl::Status full;
  while (full.ok()) {
    const std::string text(1000, 'x');
    full = log_->Append(SequenceNumber(sequence_), Batch(text), false).status();
    if (full.ok()) appended_.push_back(Delivered(sequence_++, text));
  }
  EXPECT_TRUE(absl::IsResourceExhausted(full)) << full;
  EXPECT_GT(log_->LiveBytes(), 6 * kMiB - 64 * 1024);
  memory_.SetCapacity(20 * kMiB);
  Append(10);
  ExpectAllAfterTheProcessDied();
}

TEST_F(PreparedLogTest, TasksMayRunAtAnyMomentAndFail) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    RemoveAll();
    Create(4 * kMiB);
    Random random(seed);
    if (random.OneIn(4)) {
      faults_.Inject({.fault = Fault::kTooManyFiles, .op = FileOp::kMap, .skip = random.Uniform(6)});
    }
    const bool syncs = random.OneIn(2);
    const uint64_t tasks_one_in = 1 + random.Uniform(30);
    const uint64_t written_one_in = random.OneIn(2) ? 8 : 2;
    for (int i = 0; i < 150; ++i) {
      Append(random.OneIn(20) ? 300'000 : random.Uniform(60'000), random.OneIn(written_one_in));
      while (executor_.held() > 0 && random.OneIn(tasks_one_in)) executor_.RunOne();
      if (syncs && random.OneIn(60)) {
        ASSERT_TRUE(log_->Sync(log_->End()).ok());
      }
      if (random.OneIn(150)) {
        ASSERT_TRUE(log_->Rotate(FileNumber(static_cast<uint64_t>(i) + 2), {}).ok());
      }
    }
    ExpectAllAfterTheProcessDied();
    if (HasFailure()) FAIL() << "seed " << seed;
  }
}

// --- the next file ---

class NextLogFileTest : public PreparedLogTest {
 protected:
  // The log goes on; in which file?
  uint64_t Rotate(uint64_t next) {
    const absl::StatusOr<FileNumber> number = log_->Rotate(FileNumber(next), {FileNumber(9), 99});
    EXPECT_TRUE(number.ok()) << number.status();
    return number.value_or(FileNumber(0)).value();
  }
  std::vector<std::string> Files() {
    std::vector<std::string> names;
    const std::vector<DirectoryEntry> entries = directory_->List().value();
    for (const DirectoryEntry& entry : entries) names.push_back(entry.name);
    std::sort(names.begin(), names.end());
    return names;
  }
  bool Exists(uint64_t number) {
    const std::vector<std::string> files = Files();
    return std::find(files.begin(), files.end(), LogFileName(FileNumber(number))) != files.end();
  }
};

TEST_F(NextLogFileTest, TheLogGoesOnInTheFileThatWasMadeAhead) {
  Create(16 << 10);
  Append(10);
  ASSERT_TRUE(log_->WantsNextFile());
  log_->PrepareNextFile(FileNumber(2));
  EXPECT_FALSE(log_->WantsNextFile());
  executor_.RunAll();
  int names_made = 0;
  faults_.SetDecider([&](const FileCall& call) {
    names_made += call.op == FileOp::kOpenWrite || call.op == FileOp::kDirectorySync ? 1 : 0;
    return Fault::kNone;
  });
  EXPECT_EQ(Rotate(3), 2u);
  EXPECT_EQ(names_made, 0) << "the writer waits for no name";
  Append(3000);
  EXPECT_TRUE(log_->WantsNextFile());
  EXPECT_EQ(Rotate(4), 4u) << "none was made";
  Append(20);
  ExpectAllAfterTheProcessDied();
}

TEST_F(NextLogFileTest, WhatIsMadeTooLateIsNeverUsed) {
  Create(16 << 10);
  Append(10);
  log_->PrepareNextFile(FileNumber(2));
  EXPECT_EQ(Rotate(3), 3u);
  Append(10);
  executor_.RunAll();
  EXPECT_FALSE(Exists(2));
  Append(10);
  ExpectAllAfterTheProcessDied();
}

class ThreadExecutor final : public Executor {
 public:
  void Schedule(Priority, std::function<void()> work) override { threads_.emplace_back(std::move(work)); }
  int CompactionConcurrency() const override { return 1; }

 private:
  std::vector<Thread> threads_;
};

TEST_F(NextLogFileTest, OfFilesThatAreMadeBesideTheWriterThoseInUseAreLeft) {
  ThreadExecutor threads;
  TaskGroup tasks(&threads, Executor::Priority::kFlush);
  LogOptions options = Options();
  options.map = true;
  options.tasks = &tasks;
  log_ = WriteAheadLog::Create(directory_.get(), options, FirstLog()).value();
  uint64_t made_ahead = 0;
  for (uint64_t number = 2; number < 200; number += 2) {
    log_->PrepareNextFile(FileNumber(number));
    for (uint64_t i = 0; i < number; ++i) Append(10);
    made_ahead += Rotate(number + 1) == number ? 1 : 0;
  }
  tasks.Close();
  RecordProperty("made_ahead", static_cast<int>(made_ahead));
  std::vector<std::string> live;
  for (const LiveLog& log : log_->Live()) live.push_back(LogFileName(log.number));
  EXPECT_EQ(Files(), live);
  ExpectAllAfterTheProcessDied();
}

// With power lost at every moment of its making, and before and after it is taken.
TEST_F(NextLogFileTest, AFileInWhichNothingWasWrittenHoldsNothing) {
  const auto prepare_and_use = [this](uint64_t last_call) {
    RemoveAll();
    Create(16 << 10);
    Append(10, true);
    EXPECT_TRUE(log_->Sync(log_->End()).ok());
    uint64_t calls = 0;
    faults_.SetDecider([&calls, last_call](const FileCall& call) {
      return IsMutation(call.op) && ++calls > last_call ? Fault::kIoError : Fault::kNone;
    });
    log_->PrepareNextFile(FileNumber(2));
    executor_.RunAll();
    const bool goes_on = log_->Rotate(FileNumber(3), {FileNumber(9), 99}).ok();
    faults_.Clear();
    if (goes_on) {
      Append(20, true);
      EXPECT_TRUE(log_->Sync(log_->End()).ok());
    }
    return calls <= last_call;
  };
  for (const CrashMode mode : {CrashMode::kLoseUnsynced, CrashMode::kKillProcess}) {
    bool all = false;
    for (uint64_t last_call = 0; !all; ++last_call) {
      ASSERT_LT(last_call, 100u);
      all = prepare_and_use(last_call);
      memory_.Crash(mode, last_call);
      End();
      Reopen();
      const auto recovery = Recover();
      ASSERT_TRUE(recovery.ok()) << recovery.status() << ", after " << last_call << " calls";
      // What a failing Rotate leaves in doubt cannot be appended to, so all that was appended is there.
      EXPECT_EQ(delivered_, appended_) << "after " << last_call << " calls";
    }
    EXPECT_EQ(appended_.size(), 2u);
  }
}

TEST_F(NextLogFileTest, AFailureToMakeItAheadIsNoneOfTheLog) {
  for (const FileOp op :
       {FileOp::kOpenWrite, FileOp::kAllocate, FileOp::kAppend, FileOp::kSync, FileOp::kDirectorySync}) {
    RemoveAll();
    Create(16 << 10);
    faults_.Inject({.op = op});
    log_->PrepareNextFile(FileNumber(2));
    executor_.RunAll();
    faults_.Clear();
    EXPECT_FALSE(Exists(2)) << ToString(op);
    EXPECT_TRUE(log_->Failure().ok()) << ToString(op);
    EXPECT_EQ(Rotate(3), 3u);
    Append(10);
    ExpectAllAfterTheProcessDied();
  }
}

TEST_F(NextLogFileTest, AFailureOfItsHeaderIsFinal) {
  for (const FileOp op : {FileOp::kWriteAt, FileOp::kSync}) {
    RemoveAll();
    Create(16 << 10);
    Append(10);
    log_->PrepareNextFile(FileNumber(2));
    executor_.RunAll();
    faults_.Inject({.op = op});
    EXPECT_FALSE(log_->Rotate(FileNumber(3), {}).ok()) << ToString(op);
    EXPECT_FALSE(log_->Failure().ok());
    EXPECT_FALSE(log_->Append(SequenceNumber(2), Batch("b")).ok());
    ExpectAllAfterTheProcessDied();
  }
}

TEST_F(NextLogFileTest, ALogThatDoesNotGoOnLeavesNone) {
  Create(16 << 10);
  Append(10);
  log_->PrepareNextFile(FileNumber(2));
  executor_.RunAll();
  EXPECT_TRUE(Exists(2));
  log_->DiscardNextFile();
  EXPECT_FALSE(Exists(2));
  ASSERT_TRUE(log_->Close().ok());
}

TEST_F(NextLogFileTest, WithoutTasksNoneIsMade) {
  log_ = WriteAheadLog::Create(directory_.get(), Options(), FirstLog()).value();
  EXPECT_FALSE(log_->WantsNextFile());
  log_->PrepareNextFile(FileNumber(2));
  EXPECT_FALSE(Exists(2));
}

}  // namespace
}  // namespace sepal

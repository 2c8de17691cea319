// The next file of the log, made ahead beside the writer: whenever that happens, and whether or not it can.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "db/act/log/resync_header.h"
#include "db/format/file_names.h"
#include "tests/db/act/log/log_fixture.h"
#include "tests/util/thread/held_executor.h"
#include "util/base/random.h"
#include "util/base/status.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

constexpr uint64_t kMiB = 1 << 20;

class PreallocatedLogTest : public LogFixture {
 protected:
  void TearDown() override { End(); }

  void Create(uint64_t allocation_step_bytes) {
    LogOptions options = Options();
    options.allocation_step_bytes = allocation_step_bytes;
    options.ring_bytes = 8192;
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
  void Append(size_t bytes) {
    const std::string text(bytes, static_cast<char>('a' + sequence_ % 26));
    const auto end = log_->Append(SequenceNumber(sequence_), Batch(text));
    ASSERT_TRUE(end.ok()) << end.status();
    appended_.push_back(Delivered(sequence_++, text));
  }
  void ExpectAllAfterTheProcessDied() {
    memory_.Crash(CrashMode::kKillProcess, 0);
    End();
    faults_.Clear();
    Reopen();
    ASSERT_TRUE(Recover().ok());
    EXPECT_EQ(delivered_, appended_);
  }

  // One record, and a file ahead.
  void CreateAndPrepare() {
    RemoveAll();
    Create(16 << 10);
    Append(10);
    log_->PrepareNextFile(FileNumber(2));
    executor_.RunAll();
  }
  FileNumber NewestLogOfTheRing() { return ListRings(directory_.get()).value().front().header->newest_log; }
  // The log goes on; in which file?
  uint64_t Rotate(uint64_t next) {
    const absl::StatusOr<FileNumber> number = log_->Rotate(FileNumber(next), {FileNumber(9), 99});
    EXPECT_TRUE(number.ok()) << number.status();
    return number.value_or(FileNumber(0)).value();
  }
  std::vector<std::string> Files() {
    std::vector<std::string> names;
    const std::vector<DirectoryEntry> entries = directory_->List().value();
    for (const DirectoryEntry& entry : entries) {
      if (entry.name.ends_with(".log")) names.push_back(entry.name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  bool Exists(uint64_t number) {
    const std::vector<std::string> files = Files();
    return std::find(files.begin(), files.end(), LogFileName(FileNumber(number))) != files.end();
  }

  MemoryBudget budget_{64 * kMiB};
  HeldExecutor executor_;
  std::unique_ptr<TaskGroup> tasks_;
  std::unique_ptr<WriteAheadLog> log_;
  std::vector<std::string> appended_;
  uint64_t sequence_ = 1;
};

TEST_F(PreallocatedLogTest, TheLogGoesOnInTheFileThatWasMadeAhead) {
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

TEST_F(PreallocatedLogTest, WhatIsMadeTooLateIsNeverUsed) {
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

TEST_F(PreallocatedLogTest, OfFilesThatAreMadeBesideTheWriterThoseInUseAreLeft) {
  ThreadExecutor threads;
  TaskGroup tasks(&threads, Executor::Priority::kFlush);
  LogOptions options = Options();
  options.ring_bytes = 8192;
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
TEST_F(PreallocatedLogTest, AFileInWhichNothingWasWrittenHoldsNothing) {
  const auto prepare_and_use = [this](uint64_t last_call) {
    RemoveAll();
    Create(16 << 10);
    Append(10);
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
      Append(20);
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

TEST_F(PreallocatedLogTest, AFailureToMakeItAheadIsNoneOfTheLog) {
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

TEST_F(PreallocatedLogTest, AFailureToWriteItsHeaderIsFinal) {
  CreateAndPrepare();
  faults_.Inject({.op = FileOp::kWriteAt});
  EXPECT_FALSE(log_->Rotate(FileNumber(3), {}).ok());
  EXPECT_FALSE(log_->Failure().ok());
  EXPECT_FALSE(log_->Append(SequenceNumber(sequence_), Batch("b")).ok());
  ExpectAllAfterTheProcessDied();
}

TEST_F(PreallocatedLogTest, TheHeaderOfTheNextLogIsMadeDurableBesideTheWriter) {
  CreateAndPrepare();
  uint64_t syncs = 0;
  uint64_t writes = 0;
  faults_.SetDecider([&](const FileCall& call) {
    syncs += call.op == FileOp::kSync ? 1 : 0;
    writes += call.op == FileOp::kWriteAt ? 1 : 0;
    return Fault::kNone;
  });
  EXPECT_EQ(Rotate(3), 2u);
  Append(100);
  EXPECT_EQ(syncs, 0u);
  EXPECT_EQ(writes, 1u) << "the header";
  EXPECT_EQ(NewestLogOfTheRing(), FileNumber(1));
  executor_.RunAll();
  EXPECT_EQ(syncs, 1u);
  EXPECT_EQ(NewestLogOfTheRing(), FileNumber(2));
  EXPECT_EQ(log_->BeginFile().value(), FileNumber(2));
  EXPECT_EQ(syncs, 1u) << "once";
  ExpectAllAfterTheProcessDied();
}

TEST_F(PreallocatedLogTest, AFailureToMakeItsHeaderDurableIsFinalAndIsNotTriedAgain) {
  CreateAndPrepare();
  faults_.Inject({.op = FileOp::kSync});
  EXPECT_EQ(Rotate(3), 2u);
  Append(100);
  EXPECT_TRUE(log_->Failure().ok());
  executor_.RunAll();
  EXPECT_FALSE(log_->Failure().ok());
  faults_.Clear();
  EXPECT_FALSE(log_->Append(SequenceNumber(sequence_), Batch("b")).ok());
  EXPECT_FALSE(log_->BeginFile().ok());
  EXPECT_FALSE(log_->Sync(log_->End()).ok());
  ExpectAllAfterTheProcessDied();
}

// Until then it could be lost, and what rests on it waits: records in the file, the next header, a closing, and what an
// edit says of logs.
TEST_F(PreallocatedLogTest, WhatRestsOnItsHeaderMakesThatDurable) {
  const std::vector<std::function<absl::Status()>> rests_on_it = {
      [this] { return log_->Sync(log_->End()); },
      [this] { return log_->Rotate(FileNumber(5), {}).status(); },
      [this] { return log_->Close().status(); },
      [this] { return log_->BeginFile().status(); },
      [this] { return log_->Append(SequenceNumber(sequence_), Batch(std::string(3000, 'l'))).status(); },
      [this] {
        absl::Status status;
        for (; status.ok() && sequence_ < 100; ++sequence_) {
          status = log_->Append(SequenceNumber(sequence_), Batch(std::string(150, 'f'))).status();
        }
        return status;
      },
  };
  for (size_t i = 0; i < rests_on_it.size(); ++i) {
    for (const bool fails : {false, true}) {
      CreateAndPrepare();
      std::vector<FileOp> ops;
      faults_.SetDecider([&](const FileCall& call) {
        if (!IsMutation(call.op) || call.name != "000002.log") return Fault::kNone;
        ops.push_back(call.op);
        return fails && call.op == FileOp::kSync ? Fault::kIoError : Fault::kNone;
      });
      EXPECT_EQ(Rotate(3), 2u);
      Append(100);
      ASSERT_EQ(ops, std::vector<FileOp>{FileOp::kWriteAt}) << i;
      EXPECT_NE(rests_on_it[i]().ok(), fails) << i;
      ASSERT_GE(ops.size(), 2u) << i;
      EXPECT_EQ(ops[1], FileOp::kSync) << i;
      if (fails) {
        EXPECT_EQ(ops.size(), 2u) << i;
      }
      faults_.Clear();
      End();
    }
  }
}

// Else two could be under way at once, of which one is not told that it failed.
TEST_F(PreallocatedLogTest, ASyncOfTheRecordsBeforeItLeavesItsHeaderToThoseWhoNeedIt) {
  CreateAndPrepare();
  uint64_t syncs = 0;
  faults_.SetDecider([&](const FileCall& call) {
    syncs += call.op == FileOp::kSync && call.name == "000002.log" ? 1 : 0;
    return Fault::kNone;
  });
  EXPECT_EQ(Rotate(3), 2u);
  ASSERT_TRUE(log_->Sync(log_->End()).ok());
  EXPECT_EQ(syncs, 0u);
  ASSERT_TRUE(log_->BeginFile().ok());
  EXPECT_EQ(syncs, 1u);
  ExpectAllAfterTheProcessDied();
}

// The process dies before the header is durable, and the power goes after a new opening's first log, which names that
// one, was made.
TEST_F(PreallocatedLogTest, AnOpeningMakesTheLastHeaderDurableBeforeItsOwnLogNamesIt) {
  for (const bool made_durable : {true, false}) {
    CreateAndPrepare();
    ASSERT_TRUE(log_->Sync(log_->End()).ok());
    EXPECT_EQ(Rotate(3), 2u);
    Append(100);
    memory_.Crash(CrashMode::kKillProcess, 0);
    End();
    Reopen();
    const auto recovery = Recover();
    ASSERT_TRUE(recovery.ok()) << recovery.status();
    EXPECT_EQ(delivered_, appended_);
    if (made_durable) {
      ASSERT_TRUE(MakeLastHeaderDurable(directory_.get(), *recovery).ok());
    }
    LogOptions options = Options();
    options.ring_bytes = 8192;
    log_ = WriteAheadLog::Create(directory_.get(), options,
                                 recovery->Next(FileNumber(5), recovery->last_sequence, {FileNumber(9), 99}))
               .value();
    memory_.Crash(CrashMode::kLoseUnsynced, 0);
    log_.reset();
    Reopen();
    const auto again = Recover();
    EXPECT_EQ(again.ok(), made_durable) << again.status();
    if (made_durable) {
      ASSERT_EQ(delivered_.size(), 1u);
      EXPECT_EQ(delivered_[0], appended_[0]);
    }
  }
}

TEST_F(PreallocatedLogTest, AHeaderThatWasLostWithThePowerTakesNothingWithItThatWasSynced) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    CreateAndPrepare();
    ASSERT_TRUE(log_->Sync(log_->End()).ok());
    EXPECT_EQ(Rotate(3), 2u);
    for (int i = 0; i < 5; ++i) ASSERT_TRUE(log_->Append(SequenceNumber(sequence_++), Batch("unsynced")).ok());
    memory_.Crash(seed == 0 ? CrashMode::kLoseUnsynced : CrashMode::kAnySubset, seed);
    End();
    Reopen();
    const auto recovery = Recover();
    ASSERT_TRUE(recovery.ok()) << recovery.status();
    ASSERT_GE(delivered_.size(), 1u);
    EXPECT_EQ(delivered_[0], appended_[0]);
  }
}

TEST_F(PreallocatedLogTest, ALogThatDoesNotGoOnLeavesNone) {
  Create(16 << 10);
  Append(10);
  log_->PrepareNextFile(FileNumber(2));
  executor_.RunAll();
  EXPECT_TRUE(Exists(2));
  log_->DiscardNextFile();
  EXPECT_FALSE(Exists(2));
  ASSERT_TRUE(log_->Close().ok());
}

TEST_F(PreallocatedLogTest, WithoutTasksNoNextLogIsMade) {
  log_ = WriteAheadLog::Create(directory_.get(), Options(), FirstLog()).value();
  EXPECT_FALSE(log_->WantsNextFile());
  log_->PrepareNextFile(FileNumber(2));
  EXPECT_FALSE(Exists(2));
}

// Over a store that loses the end of a file alone: a header goes with the records behind it.
class InOrderLogTest : public LogFixture {
 protected:
  InOrderLogTest() : LogFixture(MemoryFileSystem({.remote = true, .outlives_process = false, .fences = true})) {}
  void TearDown() override { End(); }

  void Create() {
    LogOptions options = Options();
    options.in_order = true;
    tasks_ = std::make_unique<TaskGroup>(&executor_, Executor::Priority::kFlush);
    options.tasks = tasks_.get();
    log_ = WriteAheadLog::Create(directory_.get(), options, FirstLog()).value();
  }
  void End() {
    executor_.RunAll();
    if (tasks_ != nullptr) tasks_->Close();
    log_.reset();
  }
  absl::Status Append() {
    const std::string text(10 + sequence_ % 50, static_cast<char>('a' + sequence_ % 26));
    RETURN_IF_ERROR(log_->Append(SequenceNumber(sequence_), Batch(text)).status());
    appended_.push_back(Delivered(sequence_++, text));
    return absl::OkStatus();
  }
  absl::Status Rotate(uint64_t next) { return log_->Rotate(FileNumber(next), {FileNumber(9), 99}).status(); }
  // The syncs of the logs, by number: "2 2 3".
  void TraceSyncs() {
    faults_.SetDecider([this](const FileCall& call) {
      if (call.op == FileOp::kSync && call.name.ends_with(".log")) {
        absl::StrAppend(&syncs_, syncs_.empty() ? "" : " ", call.name.substr(5, 1));
      }
      return Fault::kNone;
    });
  }

  HeldExecutor executor_;
  std::unique_ptr<TaskGroup> tasks_;
  std::unique_ptr<WriteAheadLog> log_;
  std::vector<std::string> appended_;
  uint64_t sequence_ = 1;
  std::string syncs_;
};

TEST_F(InOrderLogTest, OneSyncIsEnoughForAHeaderAndTheRecordsBehindIt) {
  Create();
  log_->PrepareNextFile(FileNumber(2));
  executor_.RunAll();
  TraceSyncs();
  ASSERT_TRUE(Rotate(3).ok());
  ASSERT_TRUE(Append().ok());
  EXPECT_EQ(syncs_, "");
  ASSERT_TRUE(log_->Sync(log_->End()).ok());
  EXPECT_EQ(syncs_, "2");
  ASSERT_TRUE(log_->BeginFile().ok());
  EXPECT_EQ(syncs_, "2");
}

TEST_F(InOrderLogTest, WhatRestsOnAHeaderMakesItDurable) {
  const std::vector<std::function<absl::Status()>> rests_on_it = {
      [this] { return log_->BeginFile().status(); },
      [this] { return Rotate(5); },
      [this] { return log_->Close().status(); },
  };
  for (const auto& call : rests_on_it) {
    for (const bool fails : {false, true}) {
      RemoveAll();
      Create();
      log_->PrepareNextFile(FileNumber(2));
      executor_.RunAll();
      ASSERT_TRUE(Rotate(3).ok());
      if (fails) faults_.Inject({.op = FileOp::kSync, .name_contains = "000002"});
      EXPECT_NE(call().ok(), fails);
      EXPECT_NE(log_->Failure().ok(), fails);
      faults_.Clear();
      End();
    }
  }
}

// By then a sync of records has mostly done it.
TEST_F(InOrderLogTest, WhoeverMakesTheNextFileMakesTheHeaderDurableFirst) {
  Create();
  log_->PrepareNextFile(FileNumber(2));
  executor_.RunAll();
  ASSERT_TRUE(Rotate(3).ok());
  TraceSyncs();
  log_->PrepareNextFile(FileNumber(4));
  executor_.RunAll();
  EXPECT_EQ(syncs_, "4 2");
  syncs_.clear();
  ASSERT_TRUE(Rotate(5).ok());
  EXPECT_EQ(syncs_, "");
}

// It may stand behind a task that waits for the one who asks.
TEST_F(InOrderLogTest, NobodyWaitsForAFileWhoseMakingHasNotBegun) {
  Create();
  log_->PrepareNextFile(FileNumber(2));
  const std::function<void()> await = log_->NextFileAwaiter();
  ASSERT_NE(await, nullptr);
  await();
  EXPECT_EQ(log_->Rotate(FileNumber(3), {FileNumber(9), 99}).value(), FileNumber(3));
}

TEST_F(InOrderLogTest, AFileWhoseMakingHasBegunIsWaitedFor) {
  Mutex mutex;
  CondVar changed;
  bool begun = false;
  faults_.SetDecider([&](const FileCall& call) {
    if (call.op == FileOp::kOpenWrite && call.name.starts_with("000002")) {
      MutexLock lock(&mutex);
      begun = true;
      changed.NotifyAll();
    }
    return Fault::kNone;
  });
  Create();
  log_->PrepareNextFile(FileNumber(2));
  std::optional<Thread> thread = Thread::Make([&] { executor_.RunAll(); });
  ASSERT_TRUE(thread.has_value());
  {
    MutexLock lock(&mutex);
    while (!begun) changed.Wait(&mutex);
  }
  log_->NextFileAwaiter()();
  EXPECT_EQ(log_->Rotate(FileNumber(3), {FileNumber(9), 99}).value(), FileNumber(2));
  thread.reset();
  faults_.Clear();
}

TEST_F(InOrderLogTest, WhateverIsLostTheRecordsAreAPrefixAndHaveAllThatWasSynced) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    RemoveAll();
    Create();
    Random random(seed);
    sequence_ = 1;
    appended_.clear();
    size_t synced = 0;
    uint64_t number = 2;
    for (uint64_t steps = 5 + random.Uniform(60); steps > 0; --steps) {
      switch (random.Uniform(8)) {
        case 0:
          ASSERT_TRUE(Rotate(number++).ok());
          break;
        case 1:
          if (log_->WantsNextFile()) log_->PrepareNextFile(FileNumber(number++));
          break;
        case 2:
          executor_.RunAll();
          break;
        case 3:
          ASSERT_TRUE(log_->Sync(log_->End()).ok());
          synced = appended_.size();
          break;
        case 4:
          ASSERT_TRUE(log_->BeginFile().ok());
          break;
        default:
          ASSERT_TRUE(Append().ok());
          break;
      }
    }
    constexpr CrashMode kModes[] = {CrashMode::kKillProcess, CrashMode::kLoseUnsynced, CrashMode::kAnySubset};
    memory_.Crash(kModes[seed % 3], seed);
    End();
    Reopen();
    const auto recovered = Recover();
    ASSERT_TRUE(recovered.ok()) << recovered.status() << " of seed " << seed;
    ASSERT_GE(delivered_.size(), synced) << seed;
    ASSERT_LE(delivered_.size(), appended_.size()) << seed;
    appended_.resize(delivered_.size());
    EXPECT_EQ(delivered_, appended_) << seed;
  }
}

}  // namespace
}  // namespace sepal

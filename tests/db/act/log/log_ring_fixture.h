// The fixture of tests of the log's ring: a log with a ring, and the batches that must survive the death of its
// process.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/db/act/log/log_fixture.h"
#include "tests/util/thread/held_executor.h"
#include "util/base/random.h"
#include "util/thread/sync.h"
#include "util/thread/task_group.h"

namespace sepal {

class LogRingFixture : public LogFixture {
 protected:
  static constexpr char kFirstFile[] = "db/000001.log";
  static constexpr char kRingFile[] = "db/000001.ring";
  static constexpr uint64_t kRing = 8192;

  void TearDown() override {
    executor_.RunAll();
    if (tasks_ != nullptr) tasks_->Close();
    log_.reset();
    EXPECT_EQ(budget_.used(MemoryPart::kLog), 0u);
  }
  LogOptions RingOptions() {
    LogOptions options = Options();
    options.allocation_step_bytes = 16384;
    options.ring_bytes = kRing;
    options.budget = &budget_;
    options.tasks = tasks_.get();
    return options;
  }
  void Create() { log_ = WriteAheadLog::Create(directory_.get(), RingOptions(), FirstLog()).value(); }
  void CreateWithTasks() {
    tasks_ = std::make_unique<TaskGroup>(&executor_, Executor::Priority::kFlush);
    Create();
  }
  void Append(uint64_t sequence, std::string_view text) {
    const auto end = log_->Append(SequenceNumber(sequence), Batch(text));
    ASSERT_TRUE(end.ok()) << end.status();
    appended_.push_back(Delivered(sequence, text));
  }
  void AppendAndSync(uint64_t sequence, std::string_view text) {
    Append(sequence, text);
    ASSERT_TRUE(log_->Sync(log_->End()).ok());
  }
  // Appends `count` records of many sizes: some larger than a piece of the ring, some in fragments.
  void AppendMany(uint64_t first, uint64_t count) {
    Random random(first);
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t bytes = random.OneIn(30) ? 9000 : random.OneIn(10) ? 2000 : random.Uniform(300);
      Append(first + i, std::string(bytes, static_cast<char>('a' + i % 26)));
    }
  }
  void Die(CrashMode mode = CrashMode::kKillProcess, uint64_t seed = 0) {
    memory_.Crash(mode, seed);
    executor_.RunAll();
    if (tasks_ != nullptr) tasks_->Close();
    log_.reset();
    faults_.Clear();
    Reopen();
  }
  void ExpectAllAfterTheProcessDied() {
    Die();
    const auto recovery = Recover();
    ASSERT_TRUE(recovery.ok()) << recovery.status();
    EXPECT_EQ(delivered_, appended_);
    EXPECT_EQ(recovery->dropped_bytes, 0u);
  }
  void CountCalls() {
    faults_.SetDecider([this](const FileCall& call) {
      ++counts_[static_cast<size_t>(call.op)];
      return Fault::kNone;
    });
  }
  uint64_t Calls(FileOp op) const { return counts_[static_cast<size_t>(op)]; }
  std::string Contents(const char* file) { return memory_.ReadFileContents(file).value(); }

  MemoryBudget budget_{64 << 20};
  HeldExecutor executor_;
  std::unique_ptr<TaskGroup> tasks_;
  std::unique_ptr<WriteAheadLog> log_;
  std::vector<std::string> appended_;
  uint64_t counts_[64] = {};
};

}  // namespace sepal

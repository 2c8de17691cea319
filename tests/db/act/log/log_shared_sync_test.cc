// Many threads whose updates share syncs of the log.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "sepal/simulation/simulated_world.h"
#include "tests/db/act/log/log_fixture.h"
#include "util/base/status.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

// A log that several threads write to, each on as soon as its last update is durable.
class SharedSyncFixture : public LogFixture {
 protected:
  static constexpr int kThreads = 6;
  static constexpr int kWrites = 100;

  // Without a clock no sync waits for more calls.
  void Create(Clock* clock) {
    LogOptions options = Options();
    options.clock = clock;
    log_ = WriteAheadLog::Create(directory_.get(), options, FirstLog()).value();
  }
  // Each sync of the log takes what `micros` says.
  void SyncsTake(Clock* clock, const std::function<uint64_t()>& micros) {
    faults_.SetDecider([clock, micros](const FileCall& call) {
      if (call.op == FileOp::kSync) clock->SleepMicros(micros());
      return Fault::kNone;
    });
  }

  // What one thread does. At each multiple of `rotate_every` the log goes on in a new file.
  void WriteOn(uint64_t rotate_every = UINT64_MAX) {
    for (int i = 0; i < kWrites; ++i) {
      const absl::StatusOr<LogPosition> end = [&]() -> absl::StatusOr<LogPosition> {
        MutexLock lock(&commit_);
        ++sequence_;
        if (sequence_ % rotate_every == 0) RETURN_IF_ERROR(log_->Rotate(FileNumber(1 + sequence_), {}).status());
        return log_->Append(SequenceNumber(sequence_), Batch("k"));
      }();
      const absl::Status synced = end.ok() ? log_->Sync(*end) : end.status();
      if (!synced.ok()) {
        ++failed_;
      } else if (log_->Durable() < *end) {
        ++false_;
      }
    }
  }
  // All threads.
  void Write(uint64_t rotate_every = UINT64_MAX) {
    std::vector<Thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back([&] { WriteOn(rotate_every); });
    for (Thread& thread : threads) thread.Join();
    faults_.Clear();
  }
  void ExpectAllDurable() {
    EXPECT_EQ(failed_.load(), 0);
    EXPECT_EQ(false_.load(), 0);
    memory_.Crash(CrashMode::kLoseUnsynced);
    Reopen();
    const auto recovery = Recover();
    ASSERT_TRUE(recovery.ok()) << recovery.status();
    EXPECT_EQ(recovery->last_sequence, SequenceNumber(kThreads * kWrites));
  }

  std::unique_ptr<WriteAheadLog> log_;
  Mutex commit_;
  uint64_t sequence_ = 0;
  std::atomic<int> failed_{0};
  std::atomic<int> false_{0};  // ok, and not durable
};

class SharedSyncTest : public SharedSyncFixture, public testing::WithParamInterface<bool> {
 protected:
  SharedSyncTest() { Create(GetParam() ? Clock::System() : nullptr); }
};

TEST_P(SharedSyncTest, EveryCallerOfASharedSyncIsCovered) {
  SyncsTake(Clock::System(), [] { return 100; });
  Write(/*rotate_every=*/100);
  ExpectAllDurable();
}

TEST_P(SharedSyncTest, ASyncThatTakesMuchLongerThanOthersHoldsNobodyBackForGood) {
  std::atomic<int> syncs{0};
  SyncsTake(Clock::System(), [&] { return ++syncs % 40 == 0 ? 20'000 : 100; });
  Write();
  ExpectAllDurable();
}

TEST_P(SharedSyncTest, AFailedSharedSyncIsToldToAllItsCallers) {
  std::atomic<int> syncs{0};
  faults_.SetDecider([&](const FileCall& call) {
    if (call.op != FileOp::kSync) return Fault::kNone;
    Thread::SleepMicros(100);
    return ++syncs <= 10 ? Fault::kNone : Fault::kIoError;
  });
  Write();
  EXPECT_EQ(false_.load(), 0);
  EXPECT_GE(failed_.load(), kThreads * (kWrites - 11)) << "ten syncs carry at most one update of each thread";
  EXPECT_LE(failed_.load(), kThreads * kWrites - 10) << "and at least one";
  EXPECT_FALSE(log_->Failure().ok());
}

INSTANTIATE_TEST_SUITE_P(WithAClock, SharedSyncTest, testing::Bool());

class SimulatedSyncTest : public SharedSyncFixture {
 protected:
  SimulatedSyncTest() { Create(&world_); }
  void WriteInSimulation() {
    for (int t = 0; t < kThreads; ++t) {
      world_.Spawn([this] { WriteOn(); });
    }
    world_.RunUntilIdle();
    faults_.Clear();
  }

  SimulatedWorld world_{3};
};

// A sync takes 200 us. Without waiting for those that it let go it would carry half of them.
TEST_F(SimulatedSyncTest, ASyncWaitsForThoseThatTheLastOneLetGo) {
  uint64_t syncs = 0;
  SyncsTake(&world_, [&] {
    ++syncs;
    return 200;
  });
  WriteInSimulation();
  EXPECT_LE(syncs, kWrites + kWrites / 5);
  ExpectAllDurable();
}

}  // namespace
}  // namespace sepal

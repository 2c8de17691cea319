// Many threads whose updates share syncs of the log.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <vector>

#include "tests/db/act/log_fixture.h"
#include "util/status.h"
#include "util/sync.h"

namespace sepal {
namespace {

// Those who wait for a sync sleep, or take turns at the processors, here at one.
class SharedSyncTest : public LogFixture, public testing::WithParamInterface<int> {
 protected:
  static constexpr int kThreads = 6;
  static constexpr int kWrites = 100;

  SharedSyncTest() {
    LogOptions options = Options();
    options.clock = Clock::System();
    options.processors = GetParam();
    log_ = WriteAheadLog::Create(directory_.get(), options, FirstLog()).value();
  }

  // How many of the updates that each thread writes, one after another, failed. At each multiple of `rotate_every` the
  // log goes on in a new file.
  int Write(uint64_t rotate_every) {
    Mutex commit;
    uint64_t sequence = 0;
    std::atomic<int> bad{0};
    const auto write = [&] {
      for (int i = 0; i < kWrites; ++i) {
        const absl::StatusOr<LogPosition> end = [&]() -> absl::StatusOr<LogPosition> {
          MutexLock lock(&commit);
          ++sequence;
          if (sequence % rotate_every == 0) RETURN_IF_ERROR(log_->Rotate(FileNumber(1 + sequence), {}).status());
          return log_->Append(SequenceNumber(sequence), Batch("k"));
        }();
        if (!end.ok() || !log_->Sync(*end).ok() || log_->Durable() < *end) ++bad;
      }
    };
    std::vector<Thread> threads;
    for (int t = 0; t < kThreads; ++t) threads.emplace_back(write);
    for (Thread& thread : threads) thread.Join();
    return bad.load();
  }

  std::unique_ptr<WriteAheadLog> log_;
};

TEST_P(SharedSyncTest, EachIsCovered) {
  EXPECT_EQ(Write(/*rotate_every=*/100), 0);
  memory_.Crash(CrashMode::kLoseUnsynced);
  Reopen();
  const auto recovery = Recover();
  ASSERT_TRUE(recovery.ok()) << recovery.status();
  EXPECT_EQ(recovery->last_sequence, SequenceNumber(kThreads * kWrites));
}

// The turns end before it does, so that all sleep.
TEST_P(SharedSyncTest, OneSyncThatTakesMuchLongerThanOthersHoldsNobodyBackForGood) {
  std::atomic<int> syncs{0};
  faults_.SetDecider([&](const FileCall& call) {
    if (call.op == FileOp::kSync) Thread::SleepMicros(syncs.fetch_add(1) % 40 == 39 ? 20'000 : 100);
    return Fault::kNone;
  });
  EXPECT_EQ(Write(/*rotate_every=*/1000), 0);
  faults_.Clear();
}

TEST_P(SharedSyncTest, AFailureIsToldToAll) {
  std::atomic<int> syncs{0};
  faults_.SetDecider([&](const FileCall& call) {
    if (call.op != FileOp::kSync) return Fault::kNone;
    Thread::SleepMicros(100);
    return syncs.fetch_add(1) < 10 ? Fault::kNone : Fault::kIoError;
  });
  const int bad = Write(/*rotate_every=*/1000);
  EXPECT_GE(bad, kThreads * (kWrites - 11)) << "ten syncs carry at most one update of each thread";
  EXPECT_LE(bad, kThreads * kWrites - 10);
  EXPECT_FALSE(log_->Failure().ok());
  faults_.Clear();
}

INSTANTIATE_TEST_SUITE_P(SleepingOrInTurns, SharedSyncTest, testing::Values(0, 1));

}  // namespace
}  // namespace sepal

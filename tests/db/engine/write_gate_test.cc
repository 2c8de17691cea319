// Writers at the limit of memory: who is let in, who waits, and who is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

class WriteGateTest : public EngineTest {
 protected:
  static constexpr size_t kLimit = size_t{8} << 20;
  static constexpr size_t kPinnedBytes = size_t{300} << 10;

  void SetUp() override {
    database.options.memory_limit = kLimit;
    database.options.family.compression = CompressionKind::kNone;
    SetMemtableBytes(kLimit / 4);
    EngineTest::SetUp();
  }
  void SetMemtableBytes(size_t bytes) {
    database.tuning.memtable_bytes = bytes;
    database.tuning.memtable_limit_bytes = 2 * bytes;
    database.tuning.log_limit_bytes = 2 * bytes;
    database.tuning.table_bytes = size_t{1} << 20;
  }
  // Values too large for the cache, held by readers, until they hold `bytes`.
  void Pin(size_t bytes) {
    const size_t count = bytes / kPinnedBytes + 1;
    const auto key = [](size_t i) { return "pinned" + std::to_string(i); };
    for (size_t i = 0; i < count; ++i) ASSERT_OK(db()->Put(key(i), std::string(kPinnedBytes, 'v')));
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->WaitForBackgroundWork());
    for (size_t i = 0; i < count; ++i) ASSERT_OK(db()->Get(key(i), &pins.emplace_back()));
  }
  // The throttle decides when a memtable is switched.
  void HaveThrottleDecide() {
    ASSERT_OK(db()->Put("switched", "v"));
    ASSERT_OK(db()->Flush({.wait = false}));
  }

  std::vector<PinnedValue> pins;
};

// As large as the options allow: what the last memtable leaves for the next one is half of the limit.
TEST_F(WriteGateTest, MemoryThatIsKeptForLaterIsNoReasonToRefuse) {
  SetMemtableBytes(kLimit / 2);
  ASSERT_OK(database.Reopen());
  for (uint64_t i = 0; i < 60'000; ++i) {
    ASSERT_OK(db()->Put(NumberedKey(i * 7919 % 60'000), std::string(1000, 'v')));
  }
  ASSERT_OK(db()->WaitForBackgroundWork());
  ASSERT_OK(db()->Put("k", "v"));
}

// Pins that came after what the memtable holds, which is too little for a flush.
TEST_F(WriteGateTest, MemtablesAreFlushedBeforeAWriteIsRefused) {
  ASSERT_NO_FATAL_FAILURE(Pin(kLimit / 16 * 14));
  std::vector<PinnedValue> held = std::exchange(pins, {});
  held.resize(held.size() / 2);
  for (uint64_t i = 0; i < 1200; ++i) ASSERT_OK(db()->Put(NumberedKey(i), std::string(1000, 'v')));
  for (size_t i = held.size(); NumberProperty(db(), "sepal.memtable-bytes") + i * kPinnedBytes < kLimit; ++i) {
    ASSERT_OK(db()->Get("pinned" + std::to_string(i), &pins.emplace_back()));
  }
  ASSERT_OK(db()->WaitForBackgroundWork());  // the throttle decides
  const uint64_t flushes = db()->statistics()->Get(Ticker::kFlushes);
  EXPECT_OK(db()->Put("k", "v"));
  EXPECT_EQ(db()->statistics()->Get(Ticker::kFlushes), flushes + 1);
}

TEST_F(WriteGateTest, AWriteIsRefusedWherePinsAloneHoldTheLimit) {
  ASSERT_NO_FATAL_FAILURE(Pin(kLimit));
  ASSERT_NO_FATAL_FAILURE(HaveThrottleDecide());
  ASSERT_OK(db()->WaitForBackgroundWork());
  const absl::Status refused = db()->Put("k", "v");
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(refused.ToString(), HasSubstr("held by pins 8.2 MiB"));
  EXPECT_TRUE(absl::IsUnavailable(db()->Put("k", "v", {.no_slowdown = true})));
  pins.clear();
  EXPECT_OK(db()->Put("k", "v"));
}

// Nothing tells of pins that are let go of.
TEST_F(WriteGateTest, WhoNeverWaitsIsLetInOnceThereIsMemory) {
  ASSERT_NO_FATAL_FAILURE(Pin(kLimit));
  ASSERT_NO_FATAL_FAILURE(HaveThrottleDecide());
  ASSERT_OK(db()->WaitForBackgroundWork());
  ASSERT_TRUE(absl::IsUnavailable(db()->Put("k", "v", {.no_slowdown = true})));
  pins.clear();
  EXPECT_OK(db()->Put("k", "v", {.no_slowdown = true}));
}

TEST_F(WriteGateTest, WhoWaitsGoesOnOnceThereIsMemoryThoughNoJobEnds) {
  ASSERT_NO_FATAL_FAILURE(Pin(kLimit));
  ASSERT_OK(db()->PauseBackgroundWork());
  ASSERT_NO_FATAL_FAILURE(HaveThrottleDecide());
  bool written = false;
  database.world->Spawn([&] {
    EXPECT_OK(db()->Put("k", "v"));
    written = true;
  });
  database.world->SleepMicros(100'000);
  EXPECT_FALSE(written);
  pins.clear();
  database.world->SleepMicros(100'000);
  EXPECT_TRUE(written);
  ASSERT_OK(db()->ContinueBackgroundWork());
  database.world->RunUntilIdle();
}

// Each of them keeps the limit of a batch, which is a quarter of the memory.
TEST_F(WriteGateTest, ManyLargeBatchesAtATimeStayWithinTheLimitTogether) {
  constexpr int kWriters = 16;
  uint64_t most = 0;
  int written = 0;
  for (int writer = 0; writer < kWriters; ++writer) {
    database.world->Spawn([&, writer] {
      WriteBatch batch;
      for (int i = 0; i < 1900; ++i) {
        batch.Put(NumberedKey(static_cast<uint64_t>(writer * 10'000 + i)), std::string(1000, 'v'));
      }
      for (int round = 0; round < 3; ++round) {
        EXPECT_OK(db()->Write(&batch));
        most = std::max(most, NumberProperty(db(), "sepal.memtable-bytes"));
        ++written;
      }
    });
  }
  while (written < 3 * kWriters) database.world->SleepMicros(1000);
  database.world->RunUntilIdle();
  EXPECT_LE(most, kLimit);
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), size_t{1900} * kWriters);
}

// One that fits only alone has its turn, however many smaller ones there are.
TEST_F(WriteGateTest, TheLargestBatchIsNotPassedForEver) {
  SetMemtableBytes(size_t{512} << 10);
  ASSERT_OK(database.Reopen());
  bool stop = false;
  int running = 4;
  int passed = 0;
  for (int writer = 0; writer < 4; ++writer) {
    database.world->Spawn([&, writer] {
      while (!stop) {
        EXPECT_OK(db()->Put("small" + std::to_string(writer), std::string(size_t{100} << 10, 's')));
        if (++passed > 5000) break;
      }
      --running;
    });
  }
  database.world->SleepMicros(10'000);
  EXPECT_OK(db()->Put("large", std::string(kLimit / 5, 'l')));
  EXPECT_LT(passed, 5000);
  stop = true;
  while (running > 0) database.world->SleepMicros(1000);
}

// The bytes that a batch was let in with are counted no longer once it is written, or refused.
TEST_F(WriteGateTest, RefusedLargeBatchesLeaveTheWayFree) {
  WriteBatch batch;
  batch.Put("k", std::string(kLimit / 5, 'v'));
  database.files.SetDecider([](const FileCall& call) {
    return call.op == FileOp::kAllocate || call.op == FileOp::kAppend ? Fault::kNoSpace : Fault::kNone;
  });
  int refused = 0;
  for (int i = 0; i < 10; ++i) refused += !db()->Write(&batch).ok();
  EXPECT_GT(refused, 3);
  database.files.SetDecider({});
  for (int i = 0; i < 10; ++i) ASSERT_OK(db()->Write(&batch));
}

}  // namespace
}  // namespace sepal

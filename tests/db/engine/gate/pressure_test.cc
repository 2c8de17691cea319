// Writers that are held back, and disks that fill up.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "sepal/event_listener.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

class ThrottleRecorder final : public EventListener {
 public:
  void OnThrottleChange(const ThrottleEvent& event) override { events.push_back(event); }
  void OnError(std::string_view, const absl::Status& status) override { errors.push_back(status); }
  std::vector<ThrottleEvent> events;
  std::vector<absl::Status> errors;
};

class PressureTest : public EngineTest {
 protected:
  void SetUp() override {
    database.options.listeners = {recorder};
    database.tuning.memtable_bytes = size_t{8} << 10;
    database.tuning.memtable_limit_bytes = size_t{24} << 10;
    EngineTest::SetUp();
  }
  // So many keys, with something in level 0 that a CompactRange has to merge with all below.
  void FillBelowLevel0(uint64_t keys) {
    Fill(0, keys);
    ASSERT_OK(db()->WaitForBackgroundWork());
    do {
      Fill(0, 50);
      ASSERT_OK(db()->Flush());
      ASSERT_OK(db()->WaitForBackgroundWork());
    } while (NumberProperty(db(), "sepal.num-files-at-level0") == 0);
  }
  const std::shared_ptr<ThrottleRecorder> recorder = std::make_shared<ThrottleRecorder>();
};

// Fills the disk: what is free is less than a table or a log needs.
void FillDisk(MemoryFileSystem* memory) { memory->SetCapacity(memory->UsedBytes() + 600); }

TEST_F(PressureTest, WritersThatOutrunFlushesWaitAndGoOn) {
  for (uint64_t i = 0; i < 5000; ++i) ASSERT_OK(db()->Put(NumberedKey(i), std::string(100, 'v')));
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), 5000u);
  EXPECT_GT(db()->statistics().Get(Ticker::kThrottledWrites), 0u);
  ASSERT_FALSE(recorder->events.empty());
  bool slowed = false;
  for (const ThrottleEvent& event : recorder->events) {
    slowed = slowed || (event.bytes_per_second != UINT64_MAX && !event.reason.empty());
  }
  EXPECT_TRUE(slowed);
}

TEST_F(PressureTest, NoSlowdownGivesUnavailableWhileWritersAreSlowedAndNotStopped) {
  database.tuning.memtable_limit_bytes = size_t{192} << 10;
  database.tuning.log_limit_bytes = uint64_t{4} << 20;
  ASSERT_OK(database.Reopen());
  // Memtables wait to be flushed until their memory comes near its limit.
  ASSERT_OK(db()->PauseBackgroundWork());
  const auto throttled = [this] { return db()->statistics().Get(Ticker::kThrottledWrites); };
  uint64_t taken = 0;
  for (; throttled() == 0; ++taken) {
    ASSERT_LT(taken, 5000u);
    ASSERT_OK(db()->Put(NumberedKey(taken), std::string(100, 'v')));
  }
  // At any rate that is slowed, this takes the rate for hundreds of microseconds; a write reads the clock a few times.
  ASSERT_OK(db()->Put("long", std::string(size_t{512} << 10, 'v')));
  const uint64_t before = throttled();
  const absl::Status refused = db()->Put("refused", "v", {.no_slowdown = true});
  EXPECT_TRUE(absl::IsUnavailable(refused)) << refused;
  EXPECT_THAT(refused.ToString(), HasSubstr("writes are slowed"));
  EXPECT_EQ(throttled(), before);
  EXPECT_EQ(Value(db(), "refused"), "NOT_FOUND");
  // Writers are slowed still, and this one need not wait.
  database.world->SleepMicros(1'000'000);
  EXPECT_OK(db()->Put("taken", "v", {.no_slowdown = true}));
  EXPECT_EQ(throttled(), before + 1);
  ASSERT_OK(db()->ContinueBackgroundWork());
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), taken + 2);
}

// Beside a flush that does not end, and though nothing but writing goes on.
TEST_F(PressureTest, WritersSlowDownBeforeTheyHaveToStop) {
  database.tuning.memtable_bytes = size_t{1} << 20;
  database.tuning.memtable_limit_bytes = size_t{2} << 20;
  database.tuning.log_limit_bytes = uint64_t{8} << 20;
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->PauseBackgroundWork());
  const auto throttled = [this] { return db()->statistics().Get(Ticker::kThrottledWrites); };
  const uint64_t nearly_all = database.tuning.memtable_limit_bytes / 20 * 19;
  for (uint64_t i = 0; NumberProperty(db(), "sepal.memtable-bytes") < nearly_all; ++i) {
    ASSERT_LT(i, 5000u);
    ASSERT_OK(db()->Put(NumberedKey(i), std::string(1000, 'v')));
  }
  EXPECT_GT(throttled(), 100u);
  ASSERT_OK(db()->ContinueBackgroundWork());
  ASSERT_OK(db()->WaitForBackgroundWork());
}

TEST_F(PressureTest, WritersSpeedUpAgainThoughNoJobEnds) {
  database.tuning.memtable_bytes = size_t{1} << 20;
  database.tuning.memtable_limit_bytes = size_t{4} << 20;
  database.tuning.log_limit_bytes = uint64_t{8} << 20;
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->PauseBackgroundWork());
  // To a rate so low that the jobs that end do not make up for it.
  for (uint64_t i = 0; db()->statistics().Get(Ticker::kThrottledWrites) < 500; ++i) {
    ASSERT_LT(i, 5000u);
    ASSERT_OK(db()->Put(NumberedKey(i), std::string(1000, 'v')));
  }
  ASSERT_OK(db()->ContinueBackgroundWork());
  ASSERT_OK(db()->WaitForBackgroundWork());
  // What held them back is in tables, and the last job left them slowed.
  ASSERT_FALSE(recorder->events.empty());
  ASSERT_NE(recorder->events.back().bytes_per_second, UINT64_MAX);
  const uint64_t flushes = db()->statistics().Get(Ticker::kFlushes);
  const uint64_t throttled = db()->statistics().Get(Ticker::kThrottledWrites);
  for (int i = 0; i < 10; ++i) {
    ASSERT_OK(db()->Put("k", "v"));
    database.world->SleepMicros(2000);
  }
  EXPECT_GT(db()->statistics().Get(Ticker::kThrottledWrites), throttled);
  EXPECT_EQ(db()->statistics().Get(Ticker::kFlushes), flushes);
  EXPECT_EQ(recorder->events.back().bytes_per_second, UINT64_MAX);
}

TEST_F(PressureTest, AFullDiskRefusesWritesClearlyKeepsReadingAndLosesNothing) {
  Fill(0, 500);
  FillDisk(&database.memory);
  absl::Status status;
  uint64_t taken = 500;
  for (; taken < 5000; ++taken) {
    status = db()->Put(NumberedKey(taken), NumberedKey(taken));
    if (!status.ok()) break;
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_THAT(status.ToString(), HasSubstr("/db"));
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), taken);
  for (uint64_t i = 500; i < taken; ++i) EXPECT_EQ(Value(db(), NumberedKey(i)), NumberedKey(i));
  EXPECT_EQ(Value(db(), NumberedKey(taken)), "NOT_FOUND");

  // Space comes back; nobody has to do anything.
  database.memory.SetCapacity(UINT64_MAX);
  database.world->SleepMicros(100 * database.tuning.space_retry_micros);
  ASSERT_OK(db()->Put(NumberedKey(taken), "resumed"));
  ASSERT_OK(db()->WaitForBackgroundWork());
  ASSERT_OK(db()->CheckConsistency());
  EXPECT_EQ(db()->GetProperty("sepal.background-error").value(), "OK");
  ASSERT_OK(db()->Sync());
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), taken + 1);
  EXPECT_EQ(Value(db(), NumberedKey(taken)), "resumed");
}

TEST_F(PressureTest, ADroppedFamilysSpaceIsThereThoughNoJobEnds) {
  const auto family = db()->CreateColumnFamily("family").value();
  for (uint64_t i = 0; i < 3000; ++i) ASSERT_OK(db()->Put(*family, NumberedKey(i), std::string(40, 'v')));
  ASSERT_OK(db()->Flush(*family));
  ASSERT_OK(db()->WaitForBackgroundWork());
  ASSERT_OK(db()->PauseBackgroundWork());
  FillDisk(&database.memory);
  absl::Status status;
  for (uint64_t i = 0; i < 5000 && status.ok(); ++i) status = db()->Put(NumberedKey(i), NumberedKey(i));
  ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
  absl::Status dropped = db()->DropColumnFamily(*family);
  if (absl::IsResourceExhausted(dropped)) {  // an edit of the manifest takes some bytes
    FillDisk(&database.memory);
    dropped = db()->DropColumnFamily(*family);
  }
  ASSERT_OK(dropped);
  database.world->SleepMicros(100 * database.tuning.space_retry_micros);
  EXPECT_OK(db()->Put("k", "v"));
  ASSERT_OK(db()->ContinueBackgroundWork());
}

TEST_F(PressureTest, AMergeWithoutSpaceDoesNotRefuseWritersWhoseFlushesHaveIt) {
  database.tuning.memtable_limit_bytes = size_t{16} << 10;
  database.tuning.space_retry_micros = 10;
  ASSERT_OK(database.Reopen());
  constexpr uint64_t kKeys = 8000;
  ASSERT_NO_FATAL_FAILURE(FillBelowLevel0(kKeys));
  // What is to be merged overlaps all tables.
  for (uint64_t i = 0; i < kKeys; i += 100) ASSERT_OK(db()->Put(NumberedKey(i), std::string(40, 'v')));
  ASSERT_OK(db()->Flush());
  // Less than all tables, and more than what is written below.
  database.memory.SetCapacity(database.memory.UsedBytes() + 250'000);
  bool compacted = false;
  database.world->Spawn([&] {
    EXPECT_OK(db()->CompactRange());
    compacted = true;
  });
  database.world->SleepMicros(5 * database.tuning.space_retry_micros);
  ASSERT_FALSE(compacted);
  ASSERT_FALSE(recorder->errors.empty());
  const uint64_t throttled = db()->statistics().Get(Ticker::kThrottledWrites);
  for (uint64_t i = 0; i < 600; ++i) ASSERT_OK(db()->Put(NumberedKey(i), std::string(100, 'v')));
  EXPECT_GT(db()->statistics().Get(Ticker::kThrottledWrites), throttled);
  EXPECT_FALSE(compacted);
  database.memory.SetCapacity(UINT64_MAX);
  database.world->RunUntilIdle();
  EXPECT_TRUE(compacted);
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), kKeys);
}

TEST(PressureOfLogsTest, OldLogsGoThoughAMergeWaitsForSpaceAndNoOtherMayRun) {
  TestDatabase database(Threads::kSimulated, {.seed = 1, .compaction_workers = 1}, MemoryFileSystem());
  ASSERT_OK(database.Open());
  const auto put = [&](uint64_t i) { return database.db->Put(NumberedKey(i * 7919 % 8000), std::string(100, 'v')); };
  for (uint64_t i = 0; i < 8000; ++i) ASSERT_OK(put(i));
  ASSERT_OK(database.db->WaitForBackgroundWork());
  database.memory.SetCapacity(database.memory.UsedBytes() + 400'000);
  absl::Status status;
  for (uint64_t i = 0; i < 20'000 && status.ok(); ++i) status = put(i);
  ASSERT_TRUE(absl::IsResourceExhausted(status)) << status;
  database.world->SleepMicros(10'000'000);
  const auto listing = database.memory.OpenDirectory(database.path, /*create=*/false).value()->List().value();
  const auto logs = std::count_if(listing.begin(), listing.end(),
                                  [](const DirectoryEntry& entry) { return entry.name.ends_with(".log"); });
  EXPECT_LE(logs, 5);
  database.memory.SetCapacity(UINT64_MAX);
  ASSERT_OK(database.db->WaitForBackgroundWork());
}

TEST_F(PressureTest, MemtablesDoNotOutgrowTheirMemoryWhereNoLogCanBeMade) {
  Fill(0, 100);
  ASSERT_OK(db()->WaitForBackgroundWork());
  // Nor does space that is given back make room for one.
  database.memory.SetCapacity(0);
  size_t taken = 0;
  for (uint64_t i = 0; i < 2000; ++i) {
    const absl::Status status = db()->Put(NumberedKey(i), std::string(100, 'v'), {.disable_wal = true});
    ASSERT_TRUE(status.ok() || absl::IsResourceExhausted(status)) << status;
    taken += status.ok() ? 100 : 0;
  }
  EXPECT_LE(taken, 2 * database.tuning.memtable_limit_bytes);
  database.memory.SetCapacity(UINT64_MAX);
  database.world->SleepMicros(100 * database.tuning.space_retry_micros);
  EXPECT_OK(db()->Put("k", "v"));
}

TEST_F(PressureTest, ACompactRangeThatWaitsForSpaceCanBeEnded) {
  ASSERT_NO_FATAL_FAILURE(FillBelowLevel0(1000));
  FillDisk(&database.memory);
  int told = 0;
  const absl::Status ended = db()->CompactRange({.progress = [&](const CompactionProgress&) { return ++told < 10; }});
  EXPECT_TRUE(absl::IsCancelled(ended)) << ended;
  EXPECT_THAT(std::string(ended.message()), HasSubstr("bytes are free"));
  EXPECT_EQ(told, 10);
  database.memory.SetCapacity(UINT64_MAX);
  ASSERT_OK(db()->CompactRange());
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), 1000u);
}

TEST_F(PressureTest, ClosingWhileTheDiskIsFullDoesNotHangAndKeepsWhatWasAcknowledged) {
  Fill(0, 200);
  FillDisk(&database.memory);
  uint64_t taken = 200;
  while (taken < 5000 && db()->Put(NumberedKey(taken), "v").ok()) ++taken;
  db()->Close().IgnoreError();
  database.db.reset();
  database.memory.SetCapacity(UINT64_MAX);
  ASSERT_OK(database.Open());
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), taken);
}

}  // namespace
}  // namespace sepal

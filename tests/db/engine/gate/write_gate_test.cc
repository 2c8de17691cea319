// Writers at the limit of memory: who is let in, who waits, and who is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/db/engine/engine_fixture.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

constexpr size_t kLimit = size_t{8} << 20;

void SetMemtableBytes(TestDatabase* database, size_t bytes) {
  database->tuning.memtable_bytes = bytes;
  database->tuning.memtable_limit_bytes = 2 * bytes;
  database->tuning.log_limit_bytes = 2 * bytes;
  database->tuning.table_bytes = size_t{1} << 20;
}

absl::Status OpenWithLimit(TestDatabase* database, size_t memtable_bytes = kLimit / 4) {
  database->options.memory_limit = kLimit;
  database->options.family.compression = CompressionKind::kNone;
  SetMemtableBytes(database, memtable_bytes);
  return database->Open();
}

constexpr size_t kPinnedBytes = size_t{300} << 10;

// Values too large for the cache, held by readers, until they hold `bytes`.
void Pin(DB* db, size_t bytes, std::vector<PinnedValue>* pins) {
  const size_t count = bytes / kPinnedBytes + 1;
  const auto key = [](size_t i) { return "pinned" + std::to_string(i); };
  for (size_t i = 0; i < count; ++i) ASSERT_OK(db->Put(key(i), std::string(kPinnedBytes, 'v')));
  ASSERT_OK(db->Flush());
  ASSERT_OK(db->WaitForBackgroundWork());
  for (size_t i = 0; i < count; ++i) ASSERT_OK(db->Get(key(i), pins->emplace_back()));
}

// The throttle decides when a memtable is switched.
void HaveThrottleDecide(DB* db) {
  ASSERT_OK(db->Put("switched", "v"));
  ASSERT_OK(db->Flush({.wait = false}));
}

class WriteGateTest : public EngineTest {
 protected:
  void SetUp() override { ASSERT_OK(OpenWithLimit(&database)); }
  void SetMemtableBytes(size_t bytes) { sepal::SetMemtableBytes(&database, bytes); }
  void Pin(size_t bytes) { sepal::Pin(db(), bytes, &pins); }
  void HaveThrottleDecide() { sepal::HaveThrottleDecide(db()); }
  // Of memtables and pins.
  size_t HeldBytes() { return NumberProperty(db(), "sepal.memtable-bytes") + pins.size() * kPinnedBytes; }

  std::vector<PinnedValue> pins;
};

TEST_F(WriteGateTest, AnEmptyBatchNeedsNoMemory) {
  ASSERT_NO_FATAL_FAILURE(Pin(kLimit));
  ASSERT_NO_FATAL_FAILURE(HaveThrottleDecide());
  ASSERT_OK(db()->WaitForBackgroundWork());
  ASSERT_TRUE(absl::IsResourceExhausted(db()->Put("k", "v")));
  const WriteBatch empty;
  EXPECT_OK(db()->Write(empty, {.sync = true}));
}

// A look that was made before they were let go of is no reason to refuse.
TEST(WriteGateSeedsTest, NobodyIsRefusedForPinsThatAreGone) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::vector<PinnedValue> pins;
    absl::Status written;
    bool done = false;
    TestDatabase database(Threads::kSimulated, seed);
    ASSERT_OK(OpenWithLimit(&database));
    DB* const db = database.db.get();
    ASSERT_NO_FATAL_FAILURE(Pin(db, kLimit, &pins));
    ASSERT_NO_FATAL_FAILURE(HaveThrottleDecide(db));
    ASSERT_OK(db->WaitForBackgroundWork());
    ASSERT_OK(db->PauseBackgroundWork());
    database.world->Spawn([&] {
      written = db->Put("k", "v");
      done = true;
    });
    database.world->SleepMicros(100'000);
    ASSERT_FALSE(done);
    ASSERT_OK(db->ContinueBackgroundWork());
    pins.clear();
    while (!done) database.world->SleepMicros(1000);
    if (!written.ok()) {
      EXPECT_THAT(written.ToString(), HasSubstr("held by pins")) << "seed " << seed;
    }
  }
}

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
    ASSERT_OK(db()->Get("pinned" + std::to_string(i), pins.emplace_back()));
  }
  ASSERT_OK(db()->WaitForBackgroundWork());  // the throttle decides
  const uint64_t flushes = db()->statistics().Get(Ticker::kFlushes);
  EXPECT_OK(db()->Put("k", "v"));
  EXPECT_EQ(db()->statistics().Get(Ticker::kFlushes), flushes + 1);
}

TEST_F(WriteGateTest, AWriteIsRefusedWherePinsAloneHoldTheLimit) {
  ASSERT_NO_FATAL_FAILURE(Pin(kLimit));
  ASSERT_NO_FATAL_FAILURE(HaveThrottleDecide());
  ASSERT_OK(db()->WaitForBackgroundWork());
  const absl::Status refused = db()->Put("k", "v");
  EXPECT_TRUE(absl::IsResourceExhausted(refused)) << refused;
  EXPECT_THAT(refused.ToString(),
              HasSubstr("held by pins " + HumanBytes(database.Metrics().MemoryBytes(MemoryPart::kPins))));
  EXPECT_TRUE(absl::IsUnavailable(db()->Put("k", "v", {.no_slowdown = true})));
  pins.clear();  // nothing tells of it
  EXPECT_OK(db()->Put("k", "v", {.no_slowdown = true}));
  EXPECT_OK(db()->Put("k", "v"));
}

TEST_F(WriteGateTest, AWaitingWriterGoesOnOnceThereIsMemoryThoughNoJobEnds) {
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

// Readers pin what they like and tell nobody.
TEST_F(WriteGateTest, WritersStopAtTheLimitThoughNoMemtableIsFull) {
  ASSERT_NO_FATAL_FAILURE(Pin(kLimit / 16 * 15));
  size_t most = 0;
  for (uint64_t i = 0; i < 3000; ++i) {
    ASSERT_OK(db()->Put(NumberedKey(i), std::string(1000, 'v')));
    most = std::max(most, HeldBytes());
  }
  EXPECT_LE(most, kLimit * 11 / 10);
}

TEST_F(WriteGateTest, ALargeBatchHasMemtablesFlushedRatherThanPassTheLimit) {
  ASSERT_NO_FATAL_FAILURE(Pin(kLimit / 16 * 11));
  for (uint64_t i = 0; NumberProperty(db(), "sepal.memtable-bytes") < kLimit / 16 * 3; ++i) {
    ASSERT_OK(db()->Put(NumberedKey(i), std::string(1000, 'v')));
  }
  ASSERT_OK(db()->WaitForBackgroundWork());
  const uint64_t flushes = db()->statistics().Get(Ticker::kFlushes);
  ASSERT_OK(db()->Put("large", std::string(kLimit / 4 - 100, 'l')));
  EXPECT_LE(HeldBytes(), kLimit * 11 / 10);
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(db()->statistics().Get(Ticker::kFlushes), flushes + 1);
}

class SlowListener final : public EventListener {
 public:
  explicit SlowListener(const TestDatabase* database) : database_(database) {}
  void OnFlushEnd(const FlushEvent&) override { database_->world->SleepMicros(100'000); }

 private:
  const TestDatabase* const database_;
};

// The memtable is in tables, and still in memory: until the flush ends, and from then on until it is given back, which
// the writer may have tried just before.
TEST(WriteGateSeedsTest, ALargeBatchThatDoesNotFitWaitsForWhatAFlushStillHas) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    std::vector<PinnedValue> pins;
    TestDatabase database(Threads::kSimulated, seed);
    database.options.listeners = {std::make_shared<SlowListener>(&database)};
    ASSERT_OK(OpenWithLimit(&database));
    DB* const db = database.db.get();
    ASSERT_NO_FATAL_FAILURE(Pin(db, kLimit / 16 * 10, &pins));
    for (uint64_t i = 0; NumberProperty(db, "sepal.memtable-bytes") < kLimit / 16 * 3; ++i) {
      ASSERT_OK(db->Put(NumberedKey(i), std::string(1000, 'v')));
    }
    ASSERT_OK(db->WaitForBackgroundWork());
    ASSERT_OK(db->Flush());
    ASSERT_OK(db->Put("large", std::string(kLimit / 4 - 100, 'l')));
    const TestMetrics metrics = database.Metrics();
    EXPECT_LE(metrics.MemoryBytes(MemoryPart::kMemtables) + metrics.MemoryBytes(MemoryPart::kPins), kLimit)
        << "seed " << seed;
  }
}

// Who paused may want to write before going on.
TEST_F(WriteGateTest, InAPauseSmallWritesDoNotWaitForALargeOne) {
  ASSERT_NO_FATAL_FAILURE(Pin(kLimit / 16 * 12));
  ASSERT_OK(db()->PauseBackgroundWork());
  ASSERT_OK(db()->Put("k", "v"));
  bool large = false;
  bool small = false;
  database.world->Spawn([&] {
    EXPECT_OK(db()->Put("large", std::string(kLimit / 4 - 100, 'l')));
    large = true;
  });
  database.world->SleepMicros(100'000);
  database.world->Spawn([&] {
    EXPECT_OK(db()->Put("small", "v"));
    small = true;
  });
  database.world->SleepMicros(100'000);
  EXPECT_FALSE(large) << "it waits for a flush";
  EXPECT_TRUE(small);
  ASSERT_OK(db()->ContinueBackgroundWork());
  while (!large) database.world->SleepMicros(1000);
}

// Sixteen threads, each with three batches of so many entries. The most that memtables held at a time.
uint64_t MostOfMemtables(TestDatabase* database, uint64_t entries, size_t value_bytes) {
  constexpr int kWriters = 16;
  uint64_t most = 0;
  int written = 0;
  for (int writer = 0; writer < kWriters; ++writer) {
    database->world->Spawn([&, writer] {
      WriteBatch batch;
      for (uint64_t i = 0; i < entries; ++i) {
        batch.Put(NumberedKey(static_cast<uint64_t>(writer) * entries + i), std::string(value_bytes, 'v'));
      }
      for (int round = 0; round < 3; ++round) {
        EXPECT_OK(database->db->Write(batch));
        most = std::max(most, NumberProperty(database->db.get(), "sepal.memtable-bytes"));
        ++written;
      }
    });
  }
  while (written < 3 * kWriters) database->world->SleepMicros(1000);
  database->world->RunUntilIdle();
  EXPECT_OK(database->db->WaitForBackgroundWork());
  EXPECT_EQ(ReadAll(database->db->NewIterator().get()).size(), entries * kWriters);
  return most;
}

// Each of them keeps the limit of a batch, which is a quarter of the memory.
TEST_F(WriteGateTest, ManyLargeBatchesAtATimeStayWithinTheLimitTogether) {
  EXPECT_LE(MostOfMemtables(&database, 1900, 1000), kLimit);
}

// What counts is what they take in memtables, which of small entries is several times their bytes in a batch.
TEST(WriteGateSeedsTest, ManyBatchesOfSmallEntriesAtATimeStayWithinTheLimitTogether) {
  for (uint64_t seed = 1; seed <= 2; ++seed) {
    TestDatabase database(Threads::kSimulated, seed, /*switch_one_in=*/2);
    ASSERT_OK(OpenWithLimit(&database));
    EXPECT_LE(MostOfMemtables(&database, 25'000, 0), kLimit) << "seed " << seed;
  }
}

TEST_F(WriteGateTest, ABatchOfSmallEntriesThatWouldPassTheLimitIsRefusedByName) {
  WriteBatch batch;
  for (uint64_t i = 0; i < 160'000; ++i) batch.Put(NumberedKey(i), "");
  ASSERT_LT(batch.ByteSize(), kLimit / 4);
  const absl::Status refused = db()->Write(batch);
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
  EXPECT_THAT(refused.ToString(), HasSubstr("160000 entries"));
  EXPECT_THAT(refused.ToString(), HasSubstr("memory_limit"));
  EXPECT_LE(NumberProperty(db(), "sepal.memtable-bytes"), kLimit * 11 / 10);
}

// Whether its keys ascend or not.
TEST_F(WriteGateTest, TheLargestBatchOfSmallEntriesTakesWhatItWasCountedFor) {
  for (const uint64_t step : {1, 7919}) {
    WriteBatch batch;
    for (uint64_t i = 0; i < 25'500; ++i) batch.Put(NumberedKey(i * step % 25'500), "");
    ASSERT_OK(db()->Write(batch));
    const uint64_t bytes = NumberProperty(db(), "sepal.memtable-bytes");
    // The memtable's index, and a chunk that is not full yet, come to it.
    EXPECT_GT(bytes, kLimit / 4 * 3 / 4) << step;
    EXPECT_LT(bytes, kLimit / 4 * 3 / 2) << step;
    ASSERT_OK(db()->Flush());
  }
}

// Four threads write small values, and one a large one: how many of the small ones come before it.
int SmallOnesBefore(TestDatabase* database, size_t small_bytes, size_t large_bytes) {
  constexpr int kMost = 5000;
  bool stop = false;
  int running = 4;
  int passed = 0;
  for (int writer = 0; writer < 4; ++writer) {
    database->world->Spawn([&, writer] {
      while (!stop && passed < kMost) {
        EXPECT_OK(database->db->Put("small" + std::to_string(writer), std::string(small_bytes, 's')));
        ++passed;
      }
      --running;
    });
  }
  while (passed < kMost / 5) database->world->SleepMicros(10'000);
  const int begun = passed;
  EXPECT_OK(database->db->Put("large", std::string(large_bytes, 'l')));
  const int before = passed - begun;
  stop = true;
  while (running > 0) database->world->SleepMicros(1000);
  return before;
}

// However long its sync takes.
TEST_F(WriteGateTest, ALargeBatchIsCountedNoLongerOnceItIsInMemtables) {
  bool holds = true;
  int syncs = 0;
  int written = 0;
  database.tuning.memtable_limit_bytes = size_t{1} << 20;
  // All but syncs is done without a call of a file.
  database.tuning.log_allocation_bytes = database.tuning.log_ring_bytes = size_t{4} << 20;
  ASSERT_OK(database.Reopen());
  database.files.SetDecider([&](const FileCall& call) {
    if (call.op != FileOp::kSync || !call.name.ends_with(".log")) return Fault::kNone;
    ++syncs;
    while (holds) database.world->SleepMicros(1000);
    return Fault::kNone;
  });
  for (const char* key : {"first", "second"}) {
    database.world->Spawn([&, key] {
      EXPECT_OK(db()->Put(key, std::string(size_t{400} << 10, 'v'), {.sync = true}));
      ++written;
    });
    database.world->SleepMicros(100'000);
  }
  EXPECT_EQ(syncs, 1);
  EXPECT_EQ(written, 0);
  EXPECT_OK(db()->Get("second").status());
  holds = false;
  while (written < 2) database.world->SleepMicros(1000);
  database.files.SetDecider({});
}

// One that fits only alone has its turn, however many smaller ones there are.
TEST_F(WriteGateTest, TheLargestBatchIsNotPassedForEver) {
  SetMemtableBytes(size_t{512} << 10);
  ASSERT_OK(database.Reopen());
  EXPECT_LT(SmallOnesBefore(&database, size_t{100} << 10, kLimit / 5), 1000);
}

// One that fits only beside empty memtables, and one that does not even then, have theirs.
TEST(WriteGateSeedsTest, BesidePinsTheLargestBatchIsNotPassedForEver) {
  for (const size_t pinned : {kLimit / 80 * 58, kLimit / 80 * 66}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      std::vector<PinnedValue> pins;
      TestDatabase database(Threads::kSimulated, seed);
      database.options.background_bytes_per_second = size_t{128} << 10;  // slower than writers
      ASSERT_OK(OpenWithLimit(&database, size_t{512} << 10));
      ASSERT_NO_FATAL_FAILURE(Pin(database.db.get(), pinned, &pins));
      EXPECT_LT(SmallOnesBefore(&database, size_t{4} << 10, kLimit / 4 - 100), 1000) << pinned << ", seed " << seed;
    }
  }
}

// The bytes that a batch was let in with are counted no longer once it is written, or refused.
TEST_F(WriteGateTest, RefusedLargeBatchesLeaveTheWayFree) {
  WriteBatch batch;
  batch.Put("k", std::string(kLimit / 5, 'v'));
  database.files.SetDecider([](const FileCall& call) {
    return call.op == FileOp::kAllocate || call.op == FileOp::kAppend ? Fault::kNoSpace : Fault::kNone;
  });
  int refused = 0;
  for (int i = 0; i < 10; ++i) refused += !db()->Write(batch).ok();
  EXPECT_GT(refused, 3);
  database.files.SetDecider({});
  for (int i = 0; i < 10; ++i) ASSERT_OK(db()->Write(batch));
}

}  // namespace
}  // namespace sepal

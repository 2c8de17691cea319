// Slow calls, and what one call did: told with where the time went, and for nothing where nobody asks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "db/format/file_names.h"
#include "sepal/event_listener.h"
#include "sepal/perf_context.h"
#include "sepal/simulation/manual_clock.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class SlowCallRecorder final : public EventListener {
 public:
  void OnSlowCall(const SlowCallEvent& event) override {
    MutexLock lock(&mutex_);
    events_.push_back(event);
  }
  std::vector<SlowCallEvent> Take() {
    MutexLock lock(&mutex_);
    return std::exchange(events_, {});
  }

 private:
  Mutex mutex_;
  std::vector<SlowCallEvent> events_ ABSL_GUARDED_BY(mutex_);
};

uint64_t PartOf(const SlowCallEvent& event, PerfPart part) { return event.part_micros[static_cast<size_t>(part)]; }

std::string InfoLogOf(const TestDatabase& database) {
  MemoryFileSystem memory = database.memory;
  absl::StatusOr<std::unique_ptr<Directory>> directory = memory.OpenDirectory(database.path, /*create=*/false);
  if (!directory.ok()) return directory.status().ToString();
  absl::StatusOr<std::unique_ptr<ReadableFile>> file = (*directory)->OpenForRead(kInfoLogFileName);
  if (!file.ok()) return file.status().ToString();
  std::string text((*file)->Size().value_or(0), '\0');
  text.resize((*file)->Read(0, text.size(), text.data()).value_or(0));
  return text;
}

int CountOf(std::string_view text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

// On a clock that moves only while files are used.
class SlowDiskTest : public ::testing::Test {
 protected:
  SlowDiskTest() : database(Threads::kReal) {
    database.options.env.clock = &clock;
    database.options.slow_call_micros = 1000;
    database.options.listeners = {recorder};
  }
  void SetUp() override {
    ASSERT_OK(database.Open());
    for (uint64_t i = 0; i < 100; ++i) ASSERT_OK(db()->Put(NumberedKey(i), std::string(40, 'v')));
    ASSERT_OK(database.Reopen());
    ASSERT_OK(db()->WaitForBackgroundWork());
    recorder->Take();
    database.files.SetDecider([this](const FileCall& call) {
      if (call.op == FileOp::kRead && call.name.ends_with(".sst")) clock.Advance(700);
      if (call.op == FileOp::kSync && call.name.ends_with(".log")) clock.Advance(3000);
      return Fault::kNone;
    });
  }
  DB* db() { return database.db.get(); }

  ManualClock clock;
  TestDatabase database;
  const std::shared_ptr<SlowCallRecorder> recorder = std::make_shared<SlowCallRecorder>();
};

TEST_F(SlowDiskTest, AReadTellsOfItsBlocksAndASyncOfItsWait) {
  EXPECT_NE(Value(db(), NumberedKey(5)), "NOT_FOUND");
  std::vector<SlowCallEvent> events = recorder->Take();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].call, "get");
  EXPECT_EQ(events[0].column_family, "default");
  EXPECT_EQ(events[0].key, NumberedKey(5));
  EXPECT_EQ(events[0].reason, "read");
  EXPECT_GE(events[0].micros, 1400u);
  EXPECT_EQ(PartOf(events[0], PerfPart::kRead), events[0].micros);
  EXPECT_GE(events[0].block_reads, 2u);
  EXPECT_GT(events[0].block_read_bytes, 0u);

  ASSERT_OK(db()->Put("quick", "v"));
  EXPECT_NE(Value(db(), NumberedKey(5)), "NOT_FOUND");
  EXPECT_EQ(recorder->Take().size(), 0u);

  ASSERT_OK(db()->Put("safe", "v", {.sync = true}));
  ASSERT_OK(db()->Put("quick", "v"));
  ASSERT_OK(db()->Sync());
  events = recorder->Take();
  ASSERT_EQ(events.size(), 2u);
  EXPECT_EQ(events[0].call, "write");
  EXPECT_EQ(events[0].key, "safe");
  EXPECT_EQ(events[0].reason, "sync");
  EXPECT_EQ(PartOf(events[0], PerfPart::kSync), 3000u);
  EXPECT_EQ(events[1].call, "sync");
  EXPECT_EQ(db()->statistics().Get(Ticker::kSlowCalls), 3u);

  const std::string log = InfoLogOf(database);
  EXPECT_THAT(log, HasSubstr("slow get: "));
  EXPECT_THAT(log, HasSubstr("most of it read (throttle 0 us, lock 0 us, read "));
  EXPECT_THAT(log, HasSubstr("family default, key \"key000005\""));
  EXPECT_THAT(log, HasSubstr("slow write: 3000 us, most of it sync"));
  EXPECT_THAT(log, HasSubstr("slow sync: 3000 us, most of it sync"));
}

TEST_F(SlowDiskTest, ResettingTheCountersMeanwhileDoesNotChangeWhatACallDid) {
  for (uint64_t i = 0; i < 50; ++i) EXPECT_NE(Value(db(), NumberedKey(i)), "NOT_FOUND");
  recorder->Take();
  database.files.SetDecider([this](const FileCall& call) {
    if (call.op == FileOp::kRead && call.name.ends_with(".sst")) {
      clock.Advance(2000);
      db()->statistics().Reset();
    }
    return Fault::kNone;
  });
  EXPECT_NE(Value(db(), NumberedKey(90)), "NOT_FOUND");
  const std::vector<SlowCallEvent> events = recorder->Take();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_GE(events[0].block_reads, 1u);
  EXPECT_LE(events[0].block_reads, 4u);
  EXPECT_LE(events[0].block_read_bytes, 64u << 10);
}

TEST_F(SlowDiskTest, IteratorsAndManyKeysAreToldToo) {
  const std::unique_ptr<Iterator> it = db()->NewIterator({.fill_cache = false});
  it->Seek(NumberedKey(10));
  std::vector<SlowCallEvent> events = recorder->Take();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].call, "seek");
  EXPECT_EQ(events[0].key, NumberedKey(10));
  EXPECT_EQ(events[0].reason, "read");
  const std::string long_key(500, 'k');
  const std::string present = NumberedKey(50);
  const std::string far_away = NumberedKey(90);
  const std::vector<std::string_view> keys = {long_key, present, far_away};
  std::vector<PinnedValue> values(3);
  std::vector<absl::Status> statuses(3);
  db()->MultiGet(keys, values, statuses).IgnoreError();
  events = recorder->Take();
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(events[0].call, "multiget");
  EXPECT_EQ(events[0].key, std::string(64, 'k'));
}

// The listener's own reads may be slow as well.
TEST_F(SlowDiskTest, AListenerMayRead) {
  class Reader final : public EventListener {
   public:
    void OnSlowCall(const SlowCallEvent&) override {
      ++calls;
      EXPECT_NE(Value(db, NumberedKey(99)), "NOT_FOUND");
    }
    DB* db = nullptr;
    int calls = 0;
  };
  const auto reader = std::make_shared<Reader>();
  database.options.listeners = {reader};
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->WaitForBackgroundWork());
  reader->db = db();
  const int before = reader->calls;
  EXPECT_NE(Value(db(), NumberedKey(1)), "NOT_FOUND");
  EXPECT_EQ(reader->calls, before + 1);
}

class SlowCallTest : public EngineTest {
 protected:
  void Watch(uint64_t micros) {
    database.options.listeners = {recorder};
    database.options.slow_call_micros = micros;
    ASSERT_OK(database.Reopen());
  }
  const std::shared_ptr<SlowCallRecorder> recorder = std::make_shared<SlowCallRecorder>();
};

TEST_F(SlowCallTest, TheInfoLogTakesTenASecondAndListenersAll) {
  database.tuning.info_log_bytes = size_t{1} << 20;
  Watch(1);
  for (int i = 0; i < 100; ++i) Value(db(), NumberedKey(i));
  EXPECT_EQ(recorder->Take().size(), 100u);
  EXPECT_EQ(CountOf(InfoLogOf(database), "slow get"), 10);
  database.world->SleepMicros(1'000'000);
  Value(db(), "k");
  EXPECT_THAT(InfoLogOf(database), HasSubstr("; 90 more before it"));
}

TEST_F(SlowCallTest, WithoutTheOptionNothingIsToldAndNoClockIsRead) {
  Watch(0);
  Fill(0, 100);
  ASSERT_OK(db()->CompactRange());
  for (int i = 0; i < 100; ++i) Value(db(), NumberedKey(i));
  const uint64_t before = database.world->micros();
  for (int i = 0; i < 100; ++i) Value(db(), NumberedKey(i));
  const std::unique_ptr<Iterator> it = db()->NewIterator();
  for (it->SeekToFirst(); it->Valid(); it->Next()) {
  }
  EXPECT_EQ(database.world->micros(), before);  // each reading would add one
  EXPECT_TRUE(recorder->Take().empty());
  EXPECT_EQ(db()->statistics().Get(Ticker::kSlowCalls), 0u);
  EXPECT_THAT(InfoLogOf(database), Not(HasSubstr("slow ")));
}

TEST_F(SlowCallTest, AWriterThatIsHeldBackSaysSo) {
  database.tuning.memtable_bytes = size_t{8} << 10;
  database.tuning.memtable_limit_bytes = size_t{24} << 10;
  Watch(1);
  for (uint64_t i = 0; i < 5000; ++i) ASSERT_OK(db()->Put(NumberedKey(i), std::string(100, 'v')));
  int throttled = 0;
  for (const SlowCallEvent& event : recorder->Take()) {
    throttled += event.call == "write" && event.reason == "throttle" ? 1 : 0;
  }
  EXPECT_GT(throttled, 0);
}

TEST(SlowCallLockTest, AWriterThatWaitsForAnotherSaysSo) {
  TestDatabase database(Threads::kSimulated, {.seed = 3, .switch_one_in = 2, .switch_inside_locks = true},
                        MemoryFileSystem());
  const auto recorder = std::make_shared<SlowCallRecorder>();
  database.options.listeners = {recorder};
  database.options.slow_call_micros = 1;
  ASSERT_OK(database.Open());
  for (int writer = 0; writer < 3; ++writer) {
    database.world->Spawn([&database, writer] {
      for (uint64_t i = 0; i < 100; ++i) EXPECT_OK(database.db->Put(NumberedKey(i * 3 + writer), "v"));
    });
  }
  database.world->RunUntilIdle();
  int waited = 0;
  for (const SlowCallEvent& event : recorder->Take()) waited += event.reason == "lock" ? 1 : 0;
  EXPECT_GT(waited, 0);
}

class PerfContextTest : public EngineTest {
 protected:
  void SetUp() override {
    EngineTest::SetUp();
    Fill(0, 1000);
    ASSERT_OK(db()->CompactRange());
    ASSERT_OK(database.Reopen());  // with nothing in the cache
  }
};

TEST_F(PerfContextTest, APerfContextSaysWhatOneGetDid) {
  PerfContext perf(*db());
  EXPECT_EQ(perf.ToString(), "");
  Value(db(), NumberedKey(5));
  EXPECT_EQ(perf.Get(Ticker::kGets), 1u);
  EXPECT_EQ(perf.Get(Ticker::kGetHits), 1u);
  EXPECT_GT(perf.Get(Ticker::kBlockReads), 0u);
  EXPECT_GT(perf.Get(Ticker::kBlockReadBytes), 0u);
  EXPECT_GT(perf.Micros(PerfPart::kRead), 0u);
  EXPECT_GT(perf.CallMicros(), perf.Micros(PerfPart::kRead));
  EXPECT_THAT(perf.ToString(), HasSubstr("call.read.micros "));
  EXPECT_THAT(perf.ToString(), HasSubstr("block.reads "));

  perf.Reset();
  Value(db(), NumberedKey(5));
  EXPECT_EQ(perf.Get(Ticker::kBlockReads), 0u);
  EXPECT_EQ(perf.Get(Ticker::kBlockCacheHits), 1u);
  EXPECT_EQ(perf.Micros(PerfPart::kRead), 0u);
  EXPECT_GT(perf.CallMicros(), 0u);

  perf.Reset();
  Value(db(), NumberedKey(5) + "x");
  uint64_t lookups = 0, rejections = 0;
  for (int level = 0; level < kMaxLevels; ++level) {
    const LevelFilterStatistics filter = perf.GetFilter(level);
    lookups += filter.lookups;
    rejections += filter.guard_rejections + filter.lane_rejections;
  }
  EXPECT_EQ(lookups, 1u);
  EXPECT_EQ(rejections, 1u);
  EXPECT_THAT(perf.ToString(), HasSubstr(".rejections 1\n"));
  EXPECT_EQ(perf.GetFilter(-1).lookups + perf.GetFilter(kMaxLevels).lookups, 0u);
}

TEST_F(PerfContextTest, APerfContextSaysWhatASyncedWriteAndASeekDid) {
  PerfContext perf(*db());
  ASSERT_OK(db()->Put("k", "v", {.sync = true}));
  EXPECT_EQ(perf.Get(Ticker::kWrites), 1u);
  EXPECT_EQ(perf.Get(Ticker::kLogSyncs), 1u);
  EXPECT_GT(perf.Micros(PerfPart::kSync), 0u);
  EXPECT_GT(perf.Micros(PerfPart::kLog), 0u);
  const std::unique_ptr<Iterator> it = db()->NewIterator();
  perf.Reset();
  it->Seek(NumberedKey(500));
  EXPECT_EQ(perf.Get(Ticker::kSeeks), 1u);
  EXPECT_GT(perf.Get(Ticker::kBlockReads), 0u);
  EXPECT_EQ(perf.Get(Ticker::kWrites), 0u);
}

TEST_F(PerfContextTest, ContextsNestAndKnowTheirOwnThreadOnly) {
  PerfContext outer(*db());
  Value(db(), NumberedKey(1));
  {
    PerfContext inner(*db());
    Value(db(), NumberedKey(2));
    EXPECT_EQ(inner.Get(Ticker::kGets), 1u);
    EXPECT_LT(inner.CallMicros(), outer.CallMicros());
  }
  database.world->Spawn([this] {
    for (uint64_t i = 0; i < 50; ++i) Value(db(), NumberedKey(i));
  });
  database.world->RunUntilIdle();
  const uint64_t before = outer.CallMicros();
  Value(db(), NumberedKey(3));
  EXPECT_EQ(outer.Get(Ticker::kGets), 3u);
  EXPECT_GT(outer.CallMicros(), before);
  EXPECT_EQ(db()->statistics().Get(Ticker::kGets), 53u);
}

TEST_F(PerfContextTest, OnceAPerfContextIsGoneNothingIsMeasured) {
  { const PerfContext perf(*db()); }
  Value(db(), NumberedKey(5));
  const uint64_t before = database.world->micros();
  Value(db(), NumberedKey(5));
  EXPECT_EQ(database.world->micros(), before);
}

TEST_F(PerfContextTest, SeeksHaveAHistogram) {
  database.options.latency_histograms = true;
  ASSERT_OK(database.Reopen());
  const std::unique_ptr<Iterator> it = db()->NewIterator();
  for (int i = 0; i < 64; ++i) {
    it->Seek(NumberedKey(500));
    it->SeekToFirst();
    it->SeekForPrev(NumberedKey(2));
    it->SeekToLast();
    it->Prev();
  }
  EXPECT_EQ(db()->statistics().Get(Histogram::kSeekMicros).count, 4u);
}

}  // namespace
}  // namespace sepal

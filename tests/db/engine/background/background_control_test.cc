// Background work that the user paces, pauses, watches and ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "sepal/event_listener.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

// How many flushes and compactions were begun.
class JobCounter final : public EventListener {
 public:
  void OnFlushBegin(const FlushEvent&) override { ++jobs; }
  void OnCompactionBegin(const CompactionEvent&) override { ++jobs; }
  int jobs = 0;
};

class BackgroundControlTest : public EngineTest {
 protected:
  void SetUp() override {
    database.options.listeners = {counter};
    EngineTest::SetUp();
  }
  void ReopenWithRate(uint64_t bytes_per_second) {
    database.options.background_bytes_per_second = bytes_per_second;
    ASSERT_OK(database.Reopen());
  }
  uint64_t TableBytesWritten() {
    return db()->statistics().Get(Ticker::kFlushBytes) + db()->statistics().Get(Ticker::kCompactionWriteBytes);
  }

  const std::shared_ptr<JobCounter> counter = std::make_shared<JobCounter>();
};

// --- the rate ---

TEST_F(BackgroundControlTest, TablesAreWrittenNoFasterThanTheRate) {
  ReopenWithRate(20'000);
  const uint64_t began = database.world->micros();
  Fill(0, 3000);
  ASSERT_OK(db()->CompactRange());
  ASSERT_OK(db()->WaitForBackgroundWork());
  const uint64_t micros = database.world->micros() - began;
  const uint64_t bytes = TableBytesWritten();
  EXPECT_GT(bytes, 100'000u);
  // What was saved up before, and the pieces that were last taken.
  EXPECT_GE(micros + 1'000'000, bytes * 1'000'000 / 20'000);
  EXPECT_GT(db()->statistics().Get(Ticker::kPacedMicros), micros / 2);
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), 3000u);
  EXPECT_THAT(db()->GetProperty("sepal.options").value_or(""), HasSubstr("background_bytes_per_second: 20000"));
}

TEST_F(BackgroundControlTest, ClosingWaitsForNoRate) {
  ReopenWithRate(1);
  const uint64_t began = database.world->micros();
  Fill(0, 150);
  ASSERT_OK(db()->Flush({.wait = false}));
  Fill(150, 200);
  database.world->SleepMicros(1'000'000);
  ASSERT_OK(db()->Close());
  EXPECT_LT(database.world->micros() - began, 5'000'000u);
  database.options.background_bytes_per_second = 0;
  ASSERT_OK(database.Open());
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), 200u);
}

// --- whose turn it is ---

class CompactionRecorder final : public EventListener {
 public:
  void OnCompactionBegin(const CompactionEvent& event) override { families.push_back(event.column_family); }
  std::vector<std::string> families;
};

TEST(BackgroundOrderTest, TheFamilyWithTheFullestLevelIsCompactedFirst) {
  // One worker: of two that are given work at once, either may begin first.
  TestDatabase database(Threads::kSimulated, {.seed = 1, .compaction_workers = 1}, MemoryFileSystem());
  const auto recorder = std::make_shared<CompactionRecorder>();
  database.options.listeners = {recorder};
  database.options.family.compaction_style = CompactionStyle::kUniversal;
  database.tuning.runs_per_level = 20;
  ASSERT_OK(database.Open());
  for (const std::string name : {"one", "two", "three", "four"}) {
    const auto family = database.db->CreateColumnFamily(name, database.options.family).value();
    for (int run = 0; run < (name == "four" ? 12 : 4); ++run) {
      ASSERT_OK(database.db->Put(*family, "k", std::to_string(run)));
      ASSERT_OK(database.db->Flush(*family));
    }
  }
  EXPECT_TRUE(recorder->families.empty());
  database.tuning.runs_per_level = 3;
  ASSERT_OK(database.Reopen());
  ASSERT_OK(database.db->WaitForBackgroundWork());
  ASSERT_GE(recorder->families.size(), 4u);
  EXPECT_EQ(recorder->families.front(), "four");
}

// Holds the first compaction as it begins.
class FirstCompactionHolder final : public EventListener {
 public:
  explicit FirstCompactionHolder(TestDatabase* database) : database_(database) {}
  void OnCompactionBegin(const CompactionEvent& event) override {
    reasons.push_back(event.reason);
    if (reasons.size() == 1) SleepWhile([this] { return holds; });
  }
  void OnCompactionEnd(const CompactionEvent&) override { ++ended; }
  template <class Condition>
  void SleepWhile(const Condition& condition) {
    while (condition()) database_->world->SleepMicros(1000);
  }
  bool holds = true;
  int ended = 0;
  std::vector<std::string> reasons;

 private:
  TestDatabase* const database_;
};

// A CompactRange that finds the tables taken, with as much in level 0 by then as makes the next merge due.
class HeldBackTest : public EngineTest {
 protected:
  void SetUp() override {
    database.options.listeners = {holder};
    EngineTest::SetUp();
    PileUp();
    holder->SleepWhile([this] { return holder->reasons.empty(); });
  }
  void PileUp() {
    for (int run = 0; run < database.tuning.runs_per_level; ++run) {
      Fill(0, 50);
      ASSERT_OK(db()->Flush());
    }
  }
  // Returns once it waits, with a run to bring down.
  void SpawnCompactRange(std::function<bool(const CompactionProgress&)> progress = {}) {
    Fill(0, 50);
    database.world->Spawn([this, progress] { result = db()->CompactRange({.progress = progress}); });
    database.world->SleepMicros(1'000'000);
  }

  const std::shared_ptr<FirstCompactionHolder> holder = std::make_shared<FirstCompactionHolder>(&database);
  absl::Status result = absl::UnknownError("it has not returned");
};

TEST_F(HeldBackTest, ACompactRangeThatWaitedComesBeforeWhatBecameDueMeanwhile) {
  SpawnCompactRange();
  PileUp();
  database.world->SleepMicros(1'000'000);  // nothing else wakes it
  ASSERT_EQ(holder->reasons.size(), 1u);
  holder->holds = false;
  database.world->RunUntilIdle();
  EXPECT_OK(result);
  ASSERT_GE(holder->reasons.size(), 3u) << "what it held back is begun";
  EXPECT_THAT(holder->reasons[1], HasSubstr("manual"));
  EXPECT_THAT(holder->reasons[2], HasSubstr("level 0"));
}

TEST_F(HeldBackTest, ACompactRangeThatIsEndedWhileItWaitsLetsOthersBegin) {
  bool piled_up = false;
  SpawnCompactRange([&](const CompactionProgress&) {
    if (!piled_up) return true;
    holder->holds = false;
    holder->SleepWhile([this] { return holder->ended == 0; });
    database.world->SleepMicros(100'000);
    EXPECT_EQ(holder->reasons.size(), 1u);
    return false;
  });
  PileUp();
  piled_up = true;
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_TRUE(absl::IsCancelled(result)) << result;
  EXPECT_GE(holder->reasons.size(), 2u);
  EXPECT_EQ(holder->ended, static_cast<int>(holder->reasons.size()));
}

// --- calm ---

// Looks for the database's logs when a flush ends.
class LogWatcher final : public EventListener {
 public:
  explicit LogWatcher(TestDatabase* database) : database_(database) {}
  void OnFlushEnd(const FlushEvent&) override {
    const std::vector<std::string> names = FilesIn(&database_->files, database_->path);
    logs = std::count_if(names.begin(), names.end(), [](const std::string& name) { return name.ends_with(".log"); });
  }
  std::ptrdiff_t logs = 0;

 private:
  TestDatabase* const database_;
};

// A second thread would take the core of a writer that comes at its own pace.
TEST(CalmBackgroundTest, AFlushRemovesTheLogItself) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    TestDatabase database(Threads::kSimulated, seed);
    const auto watcher = std::make_shared<LogWatcher>(&database);
    database.options.listeners = {watcher};
    database.options.background_bytes_per_second = 20'000;  // so that flushes take time
    ASSERT_OK(database.Open());
    for (int flush = 0; flush < 4; ++flush) {
      ASSERT_OK(database.db->Put("k", std::string(4000, 'v')));
      ASSERT_OK(database.db->Flush());
      if (flush >= 2) {
        EXPECT_EQ(watcher->logs, 1) << "seed " << seed << ", flush " << flush;
      }
      database.world->SleepMicros(60'000'000);
    }
  }
}

// --- pauses ---

TEST_F(BackgroundControlTest, PausesAreCounted) {
  EXPECT_EQ(db()->ContinueBackgroundWork().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_OK(db()->PauseBackgroundWork());
  ASSERT_OK(db()->PauseBackgroundWork());
  Fill(0, 10);
  ASSERT_OK(db()->Flush({.wait = false}));
  ASSERT_OK(db()->ContinueBackgroundWork());
  database.world->RunUntilIdle();
  EXPECT_EQ(FilesPerLevel(db()), "");
  ASSERT_OK(db()->ContinueBackgroundWork());
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_NE(FilesPerLevel(db()), "");
  EXPECT_EQ(db()->ContinueBackgroundWork().code(), absl::StatusCode::kFailedPrecondition);
}

// Pauses at every stage of whatever runs: once Pause has returned the directory does not change any more.
TEST(BackgroundPauseTest, AfterPauseHasReturnedNoTableComesOrGrows) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    TestDatabase database(Threads::kSimulated, seed, 2);
    ASSERT_OK(database.Open());
    DB* db = database.db.get();
    bool writing = true;
    database.world->Spawn([&] {
      for (uint64_t i = 0; i < 2500; ++i) EXPECT_OK(db->Put(NumberedKey(i * 7 % 1000), std::string(60, 'v')));
      writing = false;
    });
    for (int pause = 0; writing; ++pause) {
      database.world->SleepMicros(seed * 37 + static_cast<uint64_t>(pause) * 101);
      ASSERT_OK(db->PauseBackgroundWork());
      const auto tables = [&] {
        uint64_t sum = 0;
        auto directory = database.files.OpenDirectory("/db", false);
        const auto listing = (*directory)->List();
        for (const DirectoryEntry& entry : *listing) {
          if (entry.name.ends_with(".sst")) sum += 1'000'000 + entry.size_bytes;
        }
        return sum;
      };
      const uint64_t before = tables();
      database.world->RunUntilIdle();
      EXPECT_LE(tables(), before);  // one that is obsolete may still go
      ASSERT_OK(db->ContinueBackgroundWork());
    }
    ASSERT_OK(db->WaitForBackgroundWork());
    EXPECT_EQ(ReadAll(db->NewIterator().get()).size(), 1000u) << seed;
    ASSERT_OK(db->CheckConsistency());
  }
}

TEST_F(BackgroundControlTest, WritesWaitWhenMemoryIsFullAndGoOnAfterwards) {
  ASSERT_OK(db()->PauseBackgroundWork());
  bool all_written = false;
  database.world->Spawn([&] {
    Fill(0, 3000);
    all_written = true;
  });
  database.world->RunUntilIdle();
  EXPECT_FALSE(all_written);
  EXPECT_EQ(db()->Put("k", "v", {.no_slowdown = true}).code(), absl::StatusCode::kUnavailable);
  EXPECT_LE(NumberProperty(db(), "sepal.memtable-bytes"), 2 * database.tuning.memtable_limit_bytes);
  ASSERT_OK(db()->ContinueBackgroundWork());
  database.world->RunUntilIdle();
  EXPECT_TRUE(all_written);
  ASSERT_OK(db()->WaitForBackgroundWork());
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), 3000u);
}

TEST_F(BackgroundControlTest, CallsThatNeedBackgroundWorkReturnAfterThePause) {
  Fill(0, 100);
  ASSERT_OK(db()->PauseBackgroundWork());
  int returned = 0;
  database.world->Spawn([&] {
    EXPECT_OK(db()->Flush());
    ++returned;
  });
  database.world->Spawn([&] {
    EXPECT_OK(db()->CompactRange());
    ++returned;
  });
  database.world->Spawn([&] {
    EXPECT_OK(db()->WaitForBackgroundWork());
    ++returned;
  });
  database.world->RunUntilIdle();
  EXPECT_EQ(returned, 0);
  ASSERT_OK(db()->ContinueBackgroundWork());
  database.world->RunUntilIdle();
  EXPECT_EQ(returned, 3);
}

TEST_F(BackgroundControlTest, ClosingEndsAPause) {
  Fill(0, 2000);
  ASSERT_OK(db()->WaitForBackgroundWork());
  ASSERT_OK(db()->PauseBackgroundWork());
  absl::Status compacted;
  database.world->Spawn([&] { compacted = db()->CompactRange(); });
  database.world->RunUntilIdle();
  ASSERT_OK(db()->Close());
  database.world->RunUntilIdle();
  EXPECT_FALSE(compacted.ok());
  EXPECT_EQ(db()->PauseBackgroundWork().code(), absl::StatusCode::kFailedPrecondition);
  ASSERT_OK(database.Open());
  EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), 2000u);
}

// --- progress and cancelling ---

TEST_F(BackgroundControlTest, ProgressGrowsToTheTotalAndTellsTheTimeLeft) {
  Fill(0, 6000);
  std::vector<CompactionProgress> told;
  CompactRangeOptions options;
  options.progress = [&](const CompactionProgress& progress) {
    told.push_back(progress);
    return true;
  };
  ASSERT_OK(db()->CompactRange(options));
  ASSERT_GE(told.size(), 4u);
  EXPECT_EQ(told.front().bytes_done, 0u);
  EXPECT_LT(told.front().seconds_left, 0);
  EXPECT_GT(told.front().bytes_total, 0u);
  for (size_t i = 1; i < told.size(); ++i) {
    EXPECT_GE(told[i].bytes_done, told[i - 1].bytes_done);
    EXPECT_LE(told[i].bytes_done, told[i].bytes_total);
  }
  EXPECT_GT(told[told.size() / 2].seconds_left, 0);
  EXPECT_EQ(told.back().bytes_done, told.back().bytes_total);
  EXPECT_EQ(told.back().seconds_left, 0);
}

// Ended at each telling in turn, until there are no more of them than that.
TEST_F(BackgroundControlTest, ProgressThatSaysNoEndsTheCallAndLosesNothing) {
  size_t ended = 0;
  for (bool all_told = false; !all_told; ++ended) {
    Fill(0, 4000);
    size_t calls = 0;
    bool last = false;
    CompactRangeOptions options;
    options.progress = [&](const CompactionProgress& progress) {
      last = progress.bytes_done == progress.bytes_total;
      return calls++ < ended;
    };
    const absl::Status compacted = db()->CompactRange(options);
    all_told = compacted.ok();
    EXPECT_TRUE(all_told ? last : absl::IsCancelled(compacted)) << compacted;
    EXPECT_LE(calls, ended + 1);
    ASSERT_OK(db()->WaitForBackgroundWork());
    EXPECT_EQ(ReadAll(db()->NewIterator().get()).size(), 4000u);
    ASSERT_OK(db()->CheckConsistency());
  }
  EXPECT_GE(ended, 2u);
  EXPECT_EQ(NumberProperty(db(), "sepal.num-runs"), 1u);
}

TEST_F(BackgroundControlTest, ACompactRangeThatWaitsInAPauseCanBeEnded) {
  Fill(0, 4000);
  ASSERT_OK(db()->Flush());
  ASSERT_OK(db()->PauseBackgroundWork());
  int told = 0;
  const absl::Status ended = db()->CompactRange({.progress = [&](const CompactionProgress&) { return ++told < 5; }});
  EXPECT_TRUE(absl::IsCancelled(ended)) << ended;
  EXPECT_EQ(told, 5);
  ASSERT_OK(db()->ContinueBackgroundWork());
  ASSERT_OK(db()->CompactRange());
}

TEST_F(BackgroundControlTest, AProgressCallbackMayPauseBackgroundWork) {
  Fill(0, 4000);
  bool paused = false;
  bool ended = false;
  CompactRangeOptions options;
  options.progress = [&](const CompactionProgress& progress) {
    if (progress.bytes_done > 0 && !paused) {
      EXPECT_OK(db()->PauseBackgroundWork());
      paused = true;
    }
    return true;
  };
  database.world->Spawn([&] {
    EXPECT_OK(db()->CompactRange(options));
    ended = true;
  });
  database.world->RunUntilIdle();
  EXPECT_TRUE(paused);
  EXPECT_FALSE(ended);
  ASSERT_OK(db()->ContinueBackgroundWork());
  database.world->RunUntilIdle();
  EXPECT_TRUE(ended);
}

// --- the space bound ---

}  // namespace
}  // namespace sepal

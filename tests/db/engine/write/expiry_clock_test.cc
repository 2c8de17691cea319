// What is durable of the clock by which puts expire, and what is told of a wall clock in doubt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sepal/event_listener.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"
#include "util/base/unix_time.h"

namespace sepal {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;

constexpr int64_t kOneMinute = 60'000;
constexpr int64_t kOneDay = 24 * 60 * kOneMinute;

class ExpiryClockTest : public ::testing::Test {
 protected:
  DB* db() { return database.db.get(); }
  void Jump(int64_t millis) { database.clock->Jump(millis); }
  void Wait(int64_t millis) { database.world->SleepMicros(static_cast<uint64_t>(millis) * 1000); }
  std::string Read(std::string_view key) {
    const absl::StatusOr<std::string> value = db()->Get(key);
    return absl::IsNotFound(value.status()) ? "absent" : value.value_or("failed");
  }
  // "k" is in a table, for a minute.
  void OpenAndPut() {
    ASSERT_OK(database.Open());
    ASSERT_OK(db()->Put("k", "v", {.ttl = milliseconds(kOneMinute)}));
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->WaitForBackgroundWork());
  }
  int64_t ManifestSyncs() {
    int64_t syncs = 0;
    const std::string trace = database.files.TakeTrace();
    for (size_t at = trace.find("sync MANIFEST"); at != std::string::npos; at = trace.find("sync MANIFEST", at + 1)) {
      ++syncs;
    }
    return syncs;
  }

  TestDatabase database;
};

TEST_F(ExpiryClockTest, WhatAReadFoundExpiredStaysAbsentAfterALossOfPowerAndAClockThatWentBack) {
  OpenAndPut();
  Jump(kOneMinute);
  EXPECT_EQ(Read("k"), "absent");
  Wait(kOneMinute + 1);
  Jump(-2 * kOneMinute);
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(Read("k"), "absent");
}

// The read comes within the minute after an edit, and nothing after it.
TEST_F(ExpiryClockTest, ItIsKeptWithoutALaterRead) {
  OpenAndPut();
  Jump(kOneMinute);
  Wait(kOneMinute);
  EXPECT_EQ(Read("k"), "absent");  // kept soon
  Wait(kOneMinute / 2);
  ASSERT_OK(db()->Put("l", "v", {.sync = true, .ttl = milliseconds(10)}));
  Wait(20);
  EXPECT_EQ(Read("l"), "absent");
  Wait(kOneMinute);
  Jump(-kOneDay);
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(Read("l"), "absent");
}

TEST_F(ExpiryClockTest, ADatabaseThatNobodyUsesSyncsNothing) {
  OpenAndPut();
  Jump(kOneMinute);
  EXPECT_EQ(Read("k"), "absent");
  Wait(2 * kOneMinute);
  const uint64_t calls = database.files.CallCount();
  Wait(10 * kOneMinute);
  EXPECT_EQ(database.files.CallCount(), calls);
  // Nor after an opening.
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->WaitForBackgroundWork());
  const uint64_t opened = database.files.CallCount();
  Wait(10 * kOneMinute);
  EXPECT_EQ(database.files.CallCount(), opened);
}

TEST_F(ExpiryClockTest, ReadsBringAnEditAMinuteAtMost) {
  OpenAndPut();
  ASSERT_OK(db()->Put("long", "v", {.ttl = milliseconds(kOneDay)}));
  Wait(2 * kOneMinute);
  EXPECT_EQ(Read("long"), "v");
  Wait(1000);
  database.files.SetTracing(true);
  for (int i = 0; i < 600; ++i) {
    Wait(1000);
    EXPECT_EQ(Read("long"), "v");
  }
  const int64_t syncs = ManifestSyncs();
  EXPECT_GE(syncs, 9);
  EXPECT_LE(syncs, 11);
  // Where nothing expires none.
  ASSERT_OK(db()->Delete("long"));
  Wait(2 * kOneMinute);
  database.files.SetTracing(true);
  for (int i = 0; i < 600; ++i) {
    Wait(1000);
    EXPECT_EQ(Read("long"), "absent");
  }
  EXPECT_EQ(ManifestSyncs(), 0);
}

TEST_F(ExpiryClockTest, AnEditThatAFullDiskRefusesIsTriedAgain) {
  database.tuning.manifest_limit_bytes = uint64_t{1} << 20;
  OpenAndPut();
  ASSERT_OK(db()->Put("long", "v", {.ttl = milliseconds(10 * kOneDay)}));
  database.files.SetDecider([](const FileCall& call) {
    return call.op == FileOp::kAllocate && call.name.starts_with("MANIFEST") ? Fault::kNoSpace : Fault::kNone;
  });
  // Until the manifest has filled the space that it has.
  std::string log;
  for (int minutes = 0; minutes < 3000 && log.find("was not kept") == std::string::npos; ++minutes) {
    Wait(kOneMinute + 1000);
    ASSERT_EQ(Read("long"), "v");
    log = *database.memory.ReadFileContents("/db/LOG");
  }
  EXPECT_THAT(log, HasSubstr("no space for a version edit"));
  EXPECT_EQ(db()->GetProperty("sepal.background-error"), "OK");
  Jump(10 * kOneDay);
  EXPECT_EQ(Read("long"), "absent");
  database.files.Clear();
  Wait(kOneMinute + 1000);
  Jump(-10 * kOneDay);
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(Read("long"), "absent");
}

TEST_F(ExpiryClockTest, AnEditThatFailsEndsWriting) {
  OpenAndPut();
  Jump(kOneMinute);
  EXPECT_EQ(Read("k"), "absent");
  database.files.Inject({.fault = Fault::kIoError, .op = FileOp::kSync, .name_contains = "MANIFEST"});
  Wait(2 * kOneMinute);
  EXPECT_THAT(*db()->GetProperty("sepal.background-error"), HasSubstr("injected"));
  EXPECT_FALSE(db()->Put("m", "v").ok());
  EXPECT_EQ(Read("k"), "absent");
}

TEST_F(ExpiryClockTest, NothingIsKeptWhileBackgroundWorkIsPaused) {
  OpenAndPut();
  Jump(kOneMinute);
  ASSERT_OK(db()->PauseBackgroundWork());
  EXPECT_EQ(Read("k"), "absent");
  const auto mutations = [&] {
    database.files.SetTracing(true);
    Wait(5 * kOneMinute);
    return ManifestSyncs();
  };
  EXPECT_EQ(mutations(), 0);
  ASSERT_OK(db()->ContinueBackgroundWork());
  EXPECT_EQ(mutations(), 1);
}

TEST_F(ExpiryClockTest, AfterAnAcceptedClockThatWentBackUsesAreKeptAgain) {
  OpenAndPut();
  Jump(kOneDay);
  EXPECT_EQ(Read("k"), "absent");
  Wait(2 * kOneMinute);
  Jump(-kOneDay - 2 * kOneMinute);
  ASSERT_OK(db()->AcceptClock());
  EXPECT_EQ(Read("k"), "v");
  Jump(kOneMinute);
  EXPECT_EQ(Read("k"), "absent");
  Wait(2 * kOneMinute);
  Jump(-3 * kOneMinute);
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(Read("k"), "absent");
}

// An executor that cannot put work off: a later read has the clock kept.
TEST_F(ExpiryClockTest, WithoutAnExecutorThatPutsOffALaterReadHasItKept) {
  class Plain final : public Executor {
   public:
    explicit Plain(Executor* base) : base_(base) {}
    void Schedule(Priority priority, std::function<void()> work) override {
      base_->Schedule(priority, std::move(work));
    }
    int CompactionConcurrency() const override { return base_->CompactionConcurrency(); }

   private:
    Executor* const base_;
  };
  Plain plain(database.world.get());
  database.options.env.executor = &plain;
  OpenAndPut();
  Jump(kOneMinute);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(Read("k"), "absent");
    Wait(kOneMinute / 2);
  }
  database.world->RunUntilIdle();
  Jump(-10 * kOneMinute);
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(Read("k"), "absent");
  ASSERT_OK(db()->Close());
}

TEST_F(ExpiryClockTest, AnIteratorThatOutlivesTheDatabaseMayUseTheClock) {
  OpenAndPut();
  std::unique_ptr<Iterator> it = db()->NewIterator();
  it->SeekToFirst();
  ASSERT_TRUE(it->Valid());
  Wait(2 * kOneMinute);
  ASSERT_OK(db()->Close());
  database.db.reset();
  it->SeekToFirst();
  EXPECT_FALSE(it->Valid());
}

// Random expiring puts, reads and losses of power under a clock that jumps at each step. What a read found expired is
// absent for ever, once a minute and a turn of the background have passed.
TEST_F(ExpiryClockTest, OnceAbsentByExpiryAbsentForEverAcrossCrashes) {
  int crashes = 0, kept = 0;
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    TestDatabase jumping(Threads::kSimulated, seed);
    ASSERT_OK(jumping.Open());
    Random random(seed);
    // By key: when it was found expired, by the monotonic clock.
    std::map<std::string, uint64_t> gone;
    for (int step = 0; step < 150; ++step) {
      const auto jump = static_cast<int64_t>(random.Uniform(static_cast<uint64_t>(5 * kOneMinute)));
      jumping.clock->Jump(random.OneIn(3) ? -2 * jump : jump);
      jumping.world->SleepMicros(random.Uniform(uint64_t{40} * 1'000'000));
      const std::string key = "k" + std::to_string(step);
      ASSERT_OK(jumping.db->Put(key, "v", {.sync = true, .ttl = milliseconds(1 + random.Uniform(1'000'000))}));
      if (random.OneIn(8)) ASSERT_OK(jumping.db->Flush());
      for (int probes = 0; probes < 6; ++probes) {
        const std::string probe = "k" + std::to_string(random.Uniform(static_cast<uint64_t>(step) + 1));
        if (absl::IsNotFound(jumping.db->Get(probe).status())) gone.emplace(probe, jumping.world->micros());
      }
      if (!random.OneIn(10)) continue;
      const uint64_t now = jumping.world->micros();
      std::erase_if(gone, [&](const auto& each) { return each.second + 61'000'000 > now; });
      ++crashes;
      jumping.clock->Jump(-kOneDay);
      ASSERT_OK(jumping.CrashAndReopen(CrashMode::kLoseUnsynced));
      for (const auto& [absent, when] : gone) {
        ++kept;
        ASSERT_TRUE(absl::IsNotFound(jumping.db->Get(absent).status())) << seed << " " << step << " " << absent;
      }
    }
  }
  EXPECT_GT(crashes, 50);
  EXPECT_GT(kept, 200);
}

class DoubtRecorder final : public EventListener {
 public:
  void OnClockDoubt(const ClockDoubtEvent& event) override {
    events.push_back(event);
    if (act) act();
  }
  std::vector<ClockDoubtEvent> events;
  std::function<void()> act;
};

class ClockDoubtTest : public ExpiryClockTest {
 protected:
  void SetUp() override {
    recorder = std::make_shared<DoubtRecorder>();
    database.options.listeners.push_back(recorder);
    OpenAndPut();
    ASSERT_TRUE(recorder->events.empty());
  }
  void Work() {
    ASSERT_OK(db()->Put("other", "v"));
    ASSERT_OK(db()->Flush());
  }
  std::shared_ptr<DoubtRecorder> recorder;
};

TEST_F(ClockDoubtTest, AJumpIsToldOnceWithBothTimesAndTheRemedyAndSoIsItsEnd) {
  const uint64_t before = MillisOf(TimeOfMillis(database.clock->UnixMicros() / 1000));
  Jump(kOneDay);
  Work();
  Work();
  ASSERT_EQ(recorder->events.size(), 1u);
  const ClockDoubtEvent& begun = recorder->events[0];
  EXPECT_TRUE(begun.in_doubt);
  EXPECT_GE(MillisOf(begun.wall_time), before + kOneDay);
  EXPECT_NEAR(static_cast<double>(MillisOf(begun.removal_time)), static_cast<double>(before + 60 * kOneMinute), 1000);
  EXPECT_THAT(begun.message, HasSubstr(TimeText(begun.wall_time)));
  EXPECT_THAT(begun.message, HasSubstr(TimeText(begun.removal_time)));
  EXPECT_THAT(begun.message, HasSubstr("sepal db clock --accept"));
  EXPECT_THAT(begun.message, HasSubstr("AcceptClock"));
  EXPECT_THAT(*database.memory.ReadFileContents("/db/LOG"), HasSubstr(begun.message));
  ASSERT_OK(db()->AcceptClock());
  ASSERT_EQ(recorder->events.size(), 2u);
  EXPECT_FALSE(recorder->events[1].in_doubt);
  EXPECT_EQ(recorder->events[1].wall_time, recorder->events[1].removal_time);
  Work();
  EXPECT_EQ(recorder->events.size(), 2u);
}

TEST_F(ClockDoubtTest, AClockThatIsSetRightOrKeepsPaceIsNoLongerInDoubt) {
  Jump(kOneDay);
  Work();
  Jump(-kOneDay);
  Work();
  ASSERT_EQ(recorder->events.size(), 2u);
  EXPECT_FALSE(recorder->events[1].in_doubt);
  Jump(kOneDay);
  Work();
  EXPECT_EQ(recorder->events.size(), 3u);
  Wait(11 * kOneMinute);
  Work();
  ASSERT_EQ(recorder->events.size(), 4u);
  EXPECT_FALSE(recorder->events[3].in_doubt);
}

// Reads use the clock, and nothing is flushed or compacted.
TEST_F(ClockDoubtTest, ItIsToldWithoutJobsWithinAMinuteOfUse) {
  Wait(2 * kOneMinute);
  Jump(kOneDay);
  EXPECT_EQ(Read("k"), "absent");
  Wait(kOneMinute + 1);
  ASSERT_EQ(recorder->events.size(), 1u);
  Wait(12 * kOneMinute);
  ASSERT_EQ(recorder->events.size(), 2u) << "nobody used it meanwhile";
  EXPECT_FALSE(recorder->events[1].in_doubt);
}

TEST_F(ClockDoubtTest, AListenerMayLookAtTheClock) {
  recorder->act = [&] { EXPECT_THAT(*db()->GetProperty("sepal.clock"), HasSubstr("wall clock")); };
  Jump(kOneDay);
  EXPECT_THAT(*db()->GetProperty("sepal.clock"), HasSubstr("removals wait"));
  EXPECT_EQ(recorder->events.size(), 1u);
  ASSERT_OK(db()->AcceptClock());
  EXPECT_EQ(recorder->events.size(), 2u);
}

}  // namespace
}  // namespace sepal

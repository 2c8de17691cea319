// Damage is found by reading in the background what nobody reads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "db/format/file_names.h"
#include "sepal/event_listener.h"
#include "tests/db/doctor/scrub_rate.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

class DamageKeeper final : public EventListener {
 public:
  void OnDamage(const DamageEvent& event) override {
    found.push_back(event);
    if (then) then();
  }
  std::vector<DamageEvent> found;
  std::function<void()> then;
};

class ScrubTest : public EngineTest {
 protected:
  static constexpr uint64_t kPeriodMicros = 10'000'000;

  void SetUp() override {
    database.options.listeners = {keeper};
    database.tuning.scrub_period_micros = kPeriodMicros;
    EngineTest::SetUp();
    Fill(0, 1000);
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->WaitForBackgroundWork());
  }
  // Lets a whole pass go by that begins after now.
  void LetPass() { database.world->SleepMicros(2 * kPeriodMicros + 1'000'000); }
  uint64_t Passes() { return db()->statistics().Get(Ticker::kScrubPasses); }
  std::string Scrub() { return db()->GetProperty("sepal.scrub").value_or("?"); }
  // The first table's name.
  std::string ATable() {
    for (const std::string& name : FilesIn(&database.memory, database.path)) {
      if (name.ends_with(".sst")) return name;
    }
    return "";
  }
  void Flip(const std::string& name, uint64_t offset) {
    ASSERT_OK(database.memory.FlipBit(database.path + "/" + name, offset, 3));
  }

  const std::shared_ptr<DamageKeeper> keeper = std::make_shared<DamageKeeper>();
};

TEST_F(ScrubTest, AScrubReadsEveryTableOnceInAPeriodAndFindsNothingInAWholeDatabase) {
  LetPass();
  const uint64_t passes = Passes();
  const uint64_t bytes = db()->statistics().Get(Ticker::kScrubBytes);
  EXPECT_GE(passes, 1u);
  EXPECT_GT(bytes, 0u);
  database.world->SleepMicros(10 * kPeriodMicros);
  EXPECT_GE(Passes(), passes + 9);
  EXPECT_LE(Passes(), passes + 11);
  EXPECT_TRUE(keeper->found.empty());
  EXPECT_THAT(Scrub(), HasSubstr("damaged tables: 0"));
}

TEST_F(ScrubTest, AFlippedBitIsFoundWithNobodyReadingIt) {
  Flip(ATable(), 100);
  LetPass();
  ASSERT_FALSE(keeper->found.empty());
  const DamageEvent& damage = keeper->found.front();
  EXPECT_EQ(damage.column_family, "default");
  EXPECT_EQ(TableFileName(FileNumber(damage.file_number)), ATable());
  EXPECT_LE(damage.offset, 100u);
  EXPECT_GT(damage.offset + damage.bytes, 100u);
  EXPECT_TRUE(absl::IsDataLoss(damage.status)) << damage.status;
  EXPECT_GT(db()->statistics().Get(Ticker::kScrubDamage), 0u);
  EXPECT_THAT(Scrub(), HasSubstr("1 damaged blocks in " + ATable()));
}

// A key may be anything, also a line that says that all is well.
TEST_F(ScrubTest, KeysAreToldInALineOfPrintableText) {
  const std::string lie = "\n2026-11-26 scrubbing has read all 1 tables: 0 are damaged\n";
  for (const char* end : {"a", "b"}) ASSERT_OK(db()->Put(lie + end, std::string(400, 'v')));
  ASSERT_OK(db()->Flush());
  std::string newest;
  for (const std::string& name : FilesIn(&database.memory, database.path)) {
    if (name.ends_with(".sst")) newest = name;
  }
  Flip(newest, 100);
  LetPass();
  ASSERT_FALSE(keeper->found.empty());
  EXPECT_THAT(Scrub(), HasSubstr("\\x0a"));
  EXPECT_THAT(Scrub(), ::testing::Not(HasSubstr(lie)));
  EXPECT_THAT(database.memory.ReadFileContents("/db/LOG").value(), ::testing::Not(HasSubstr(lie)));
}

TEST_F(ScrubTest, DamageCondemnsItsKeysAloneAndStopsNoWriting) {
  Flip(ATable(), 100);
  LetPass();
  ASSERT_FALSE(keeper->found.empty());
  const DamageEvent damage = keeper->found.front();
  ASSERT_TRUE(damage.through.has_value());
  for (uint64_t i = 0; i < 1000; ++i) {
    const std::string key = NumberedKey(i);
    const bool condemned = key <= *damage.through && (!damage.after.has_value() || key >= *damage.after);
    const absl::StatusOr<std::string> value = db()->Get(key);
    EXPECT_TRUE(value.ok() || condemned) << key << ": " << value.status();
    EXPECT_TRUE(value.ok() || absl::IsDataLoss(value.status())) << value.status();
  }
  EXPECT_OK(db()->Put("new", "value"));
  EXPECT_EQ(db()->GetProperty("sepal.background-error"), "OK");
}

TEST_F(ScrubTest, EveryPlaceOfATableIsLookedAt) {
  const std::string name = ATable();
  const uint64_t size =
      database.memory.OpenDirectory(database.path, false).value()->OpenForRead(name).value()->Size().value();
  for (uint64_t offset = 0; offset < size; offset += 97) {
    keeper->found.clear();
    Flip(name, offset);
    LetPass();
    EXPECT_FALSE(keeper->found.empty()) << "offset " << offset << " of " << size;
    Flip(name, offset);
  }
  keeper->found.clear();
  LetPass();
  LetPass();
  keeper->found.clear();
  LetPass();
  EXPECT_TRUE(keeper->found.empty());
  EXPECT_THAT(Scrub(), HasSubstr("damaged tables: 0"));
}

TEST_F(ScrubTest, WhatCannotBeReadForOtherReasonsIsNoDamageAndMakesForgetNone) {
  Flip(ATable(), 100);
  LetPass();
  ASSERT_THAT(Scrub(), HasSubstr("damaged tables: 1"));
  for (const FileOp op : {FileOp::kOpenRead, FileOp::kRead}) {
    keeper->found.clear();
    database.files.Inject({.fault = Fault::kTooManyFiles, .op = op, .name_contains = ".sst", .sticky = true});
    const uint64_t passes = Passes();
    LetPass();
    EXPECT_GT(Passes(), passes);
    EXPECT_TRUE(keeper->found.empty());
    EXPECT_THAT(Scrub(), HasSubstr("damaged tables: 1"));
    database.files.Clear();
  }
  Flip(ATable(), 100);
  LetPass();
  EXPECT_THAT(Scrub(), HasSubstr("damaged tables: 0"));
}

TEST_F(ScrubTest, AListenerThatIsToldOfDamageMayPauseBackgroundWork) {
  keeper->then = [this] {
    EXPECT_OK(db()->PauseBackgroundWork());
    EXPECT_OK(db()->ContinueBackgroundWork());
  };
  Flip(ATable(), 100);
  LetPass();
  EXPECT_FALSE(keeper->found.empty());
}

TEST_F(ScrubTest, ATableThatIsGoneIsNoLongerCalledDamaged) {
  ASSERT_OK(db()->Put("other", "value"));
  std::shared_ptr<ColumnFamily> family = db()->CreateColumnFamily("f", {}).value();
  ASSERT_OK(db()->Put(*family, "key", "value"));
  ASSERT_OK(db()->Flush(*family));
  const std::vector<std::string> names = FilesIn(&database.memory, database.path);
  const auto last = std::find_if(names.rbegin(), names.rend(), [](const auto& n) { return n.ends_with(".sst"); });
  Flip(*last, 5);
  LetPass();
  EXPECT_THAT(Scrub(), HasSubstr("damaged tables: 1"));
  ASSERT_OK(db()->DropColumnFamily(*family));
  LetPass();
  EXPECT_THAT(Scrub(), HasSubstr("damaged tables: 0"));
}

TEST_F(ScrubTest, NothingIsReadWhilePaused) {
  ASSERT_OK(db()->PauseBackgroundWork());
  const uint64_t bytes = db()->statistics().Get(Ticker::kScrubBytes);
  database.world->SleepMicros(5 * kPeriodMicros);
  EXPECT_EQ(db()->statistics().Get(Ticker::kScrubBytes), bytes);
  ASSERT_OK(db()->ContinueBackgroundWork());
  LetPass();
  EXPECT_GT(db()->statistics().Get(Ticker::kScrubBytes), bytes);
}

TEST_F(ScrubTest, AScrubKeepsToTheRateOfBackgroundWork) { ExpectScrubKeepsToTheRate(&database); }

TEST_F(ScrubTest, ClosingEndsAScrubAtOnce) {
  const uint64_t began = database.world->micros();
  ASSERT_OK(db()->Close());
  EXPECT_LT(database.world->micros() - began, kPeriodMicros / 2);
  database.tuning.scrub_period_micros = 0;
  ASSERT_OK(database.Open());
  EXPECT_THAT(Scrub(), HasSubstr("passes: 0"));
}

TEST_F(ScrubTest, NothingIsScrubbedUnlessAsked) {
  EXPECT_EQ(Tuning::From({}).scrub_period_micros, 0u);
  EXPECT_EQ(Tuning::From({.scrub_seconds = 7}).scrub_period_micros, 7'000'000u);
  EXPECT_GT(Tuning::From({.scrub_seconds = UINT64_MAX}).scrub_period_micros, uint64_t{1} << 60);
}

TEST(ScrubRaceTest, AScrubRunsBesideWritersOnRealThreads) {
  TestDatabase database(Threads::kReal);
  database.tuning.scrub_period_micros = 1;
  ASSERT_OK(database.Open());
  for (int round = 0; round < 10; ++round) {
    for (uint64_t i = 0; i < 300; ++i) ASSERT_OK(database.db->Put(NumberedKey(i * 7 % 300), std::string(60, 'a')));
    ASSERT_OK(database.db->Flush());
  }
  ASSERT_OK(database.db->WaitForBackgroundWork());
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(ReadAll(database.db->NewIterator().get()).size(), 300u);
  EXPECT_EQ(database.db->statistics().Get(Ticker::kScrubDamage), 0u);
  ASSERT_OK(database.db->Close());
}

TEST(ScrubPlaceTest, ADiskWithoutDirectReadsIsScrubbedThroughItsCache) {
  TestDatabase buffered(Threads::kSimulated, {.seed = 3},
                        MemoryFileSystem({.map = true, .hard_link = true, .allocate = true, .direct_reads = false}));
  constexpr uint64_t kPeriodMicros = 10'000'000;
  buffered.tuning.scrub_period_micros = kPeriodMicros;
  ASSERT_OK(buffered.Open());
  for (uint64_t i = 0; i < 500; ++i) ASSERT_OK(buffered.db->Put(NumberedKey(i), std::string(40, 'v')));
  ASSERT_OK(buffered.db->Flush());
  ASSERT_OK(buffered.db->WaitForBackgroundWork());
  const uint64_t passes = buffered.db->statistics().Get(Ticker::kScrubPasses);
  buffered.world->SleepMicros(2 * kPeriodMicros + 1'000'000);
  EXPECT_GT(buffered.db->statistics().Get(Ticker::kScrubPasses), passes);
  EXPECT_GT(buffered.db->statistics().Get(Ticker::kScrubBytes), 0u);
}

}  // namespace
}  // namespace sepal

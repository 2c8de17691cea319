// Values in value files are scrubbed and verified with the tables that refer to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "db/format/value_file.h"
#include "sepal/event_listener.h"
#include "tests/db/doctor/scrub_rate.h"
#include "tests/db/engine/write/separated_values_fixture.h"

namespace sepal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class ValueDamageKeeper final : public EventListener {
 public:
  void OnDamage(const DamageEvent& event) override { found.push_back(event); }
  std::vector<DamageEvent> found;
};

class ScrubValuesTest : public SeparatedValuesTest {
 protected:
  static constexpr uint64_t kPeriodMicros = 10'000'000;

  void SetUp() override {
    database.options.listeners = {keeper};
    database.tuning.scrub_period_micros = kPeriodMicros;
    SeparatedValuesTest::SetUp();
    for (const char* key : {"a", "b", "c"}) ASSERT_OK(db()->Put(key, Large(key)));
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->WaitForBackgroundWork());
  }
  void LetPass() { database.world->SleepMicros(2 * kPeriodMicros + 1'000'000); }
  std::string Scrub() { return db()->GetProperty("sepal.scrub").value_or("?"); }
  void Flip(uint64_t offset) {
    ASSERT_OK(database.memory.FlipBit("/db/" + Files(FileKind::kValues).front(), offset, 3));
  }

  const std::shared_ptr<ValueDamageKeeper> keeper = std::make_shared<ValueDamageKeeper>();
};

TEST_F(ScrubValuesTest, EachIsReadOnceInAPassAndCounted) {
  LetPass();
  LetPass();
  const uint64_t passes = db()->statistics().Get(Ticker::kScrubPasses);
  const uint64_t bytes = db()->statistics().Get(Ticker::kScrubBytes);
  EXPECT_GE(passes, 2u);
  EXPECT_GE(bytes, passes * 900);
  EXPECT_LE(bytes, (passes + 1) * (900 + BytesOf(FileKind::kTable)));
  EXPECT_THAT(keeper->found, IsEmpty());
  EXPECT_THAT(Scrub(), HasSubstr("damaged tables: 0"));
}

TEST_F(ScrubValuesTest, DamageIsToldByFileOffsetAndKeyUntilItIsMended) {
  const std::string name = Files(FileKind::kValues).front();
  Flip(kValueFileHeaderBytes + 300 + 7);
  LetPass();
  ASSERT_THAT(keeper->found, Not(IsEmpty()));
  const DamageEvent& damage = keeper->found.front();
  EXPECT_EQ(damage.column_family, "default");
  EXPECT_EQ(ValueFileName(FileNumber(damage.file_number)), name);
  EXPECT_EQ(damage.offset, 364u);
  EXPECT_EQ(damage.bytes, 300u);
  EXPECT_EQ(damage.after, "b");
  EXPECT_EQ(damage.through, "b");
  EXPECT_TRUE(absl::IsDataLoss(damage.status));
  EXPECT_THAT(std::string(damage.status.message()),
              AllOf(HasSubstr("the value of key \"b\": /db/" + name + ": offset 364: checksum of a separated value")));
  EXPECT_GT(db()->statistics().Get(Ticker::kScrubDamage), 0u);
  EXPECT_THAT(Scrub(), HasSubstr("1 damaged values in " + name + " of default, 300 bytes at 364, DATA_LOSS: "));
  EXPECT_THAT(database.memory.ReadFileContents("/db/LOG").value(), HasSubstr("scrubbing found damage: " + name));
  Flip(kValueFileHeaderBytes + 300 + 7);
  LetPass();
  EXPECT_THAT(Scrub(), HasSubstr("damaged tables: 0"));
}

TEST_F(ScrubValuesTest, EveryPlaceOfAFileIsLookedAt) {
  for (uint64_t offset = 0; offset < kValueFileHeaderBytes + 900; offset += 31) {
    keeper->found.clear();
    Flip(offset);
    LetPass();
    EXPECT_THAT(keeper->found, Not(IsEmpty())) << "offset " << offset;
    Flip(offset);
  }
}

TEST_F(ScrubValuesTest, WhatCannotBeReadForOtherReasonsIsNoDamageAndMakesForgetNone) {
  Flip(kValueFileHeaderBytes + 7);
  LetPass();
  ASSERT_THAT(Scrub(), HasSubstr("damaged tables: 1"));
  keeper->found.clear();
  for (const FileOp op : {FileOp::kOpenRead, FileOp::kRead}) {
    database.files.Inject({.fault = Fault::kTooManyFiles, .op = op, .name_contains = ".val", .sticky = true});
    keeper->found.clear();
    LetPass();
    EXPECT_THAT(keeper->found, IsEmpty());
    EXPECT_THAT(Scrub(), HasSubstr("damaged tables: 1"));
    database.files.Clear();
  }
}

TEST_F(ScrubValuesTest, TheyKeepToTheRateOfBackgroundWork) {
  for (int i = 0; i < 50; ++i) ASSERT_OK(db()->Put(NumberedKey(static_cast<uint64_t>(i)), Large("v", 1000)));
  ASSERT_OK(db()->Flush());
  ExpectScrubKeepsToTheRate(&database);
}

TEST_F(ScrubValuesTest, AVerificationTellsOfEachDamagedValue) {
  Flip(kValueFileHeaderBytes + 7);
  Flip(kValueFileHeaderBytes + 600 + 7);
  std::vector<std::string> told;
  VerifyProgress progress;
  const absl::Status status =
      db()->VerifyChecksums({.progress =
                                 [&](const VerifyProgress& now) {
                                   progress = now;
                                   return true;
                                 },
                             .on_damage = [&](const absl::Status& damage) { told.emplace_back(damage.message()); }});
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  ASSERT_THAT(told, SizeIs(2));
  EXPECT_THAT(told[0], HasSubstr("the value of key \"a\""));
  EXPECT_THAT(told[1], HasSubstr("the value of key \"c\""));
  EXPECT_EQ(status.message(), told[0]);
  EXPECT_EQ(progress.tables_damaged, 1u);
}

TEST(ScrubValuesRaceTest, AScrubRunsBesideWritersOnRealThreads) {
  TestDatabase database(Threads::kReal);
  database.tuning.scrub_period_micros = 1;
  database.options.family.separate_from = 64;
  ASSERT_OK(database.Open());
  for (int round = 0; round < 10; ++round) {
    for (uint64_t i = 0; i < 300; ++i) ASSERT_OK(database.db->Put(NumberedKey(i * 7 % 300), std::string(80, 'a')));
    ASSERT_OK(database.db->Flush());
  }
  ASSERT_OK(database.db->WaitForBackgroundWork());
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(ReadAll(database.db->NewIterator().get()).size(), 300u);
  EXPECT_EQ(database.db->statistics().Get(Ticker::kScrubDamage), 0u);
  ASSERT_OK(database.db->Close());
}

}  // namespace
}  // namespace sepal

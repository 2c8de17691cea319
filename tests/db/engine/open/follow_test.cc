// A view that comes to what its writer has written by itself (Options::follow_milliseconds).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "sepal/event_listener.h"
#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

class FailureKeeper final : public EventListener {
 public:
  void OnError(std::string_view context, const absl::Status& status) override {
    if (context == "following the writer") told.push_back(status);
  }
  std::vector<absl::Status> told;
};

class FollowTest : public EngineTest {
 protected:
  static constexpr uint64_t kFollowPeriod = 20'000;

  void SetUp() override {
    EngineTest::SetUp();
    database.tuning.follow_period_micros = kFollowPeriod;
    database.options.listeners = {keeper};
    view = database.OpenReadOnly().value();
  }
  void LetPeriodsPass(uint64_t periods) { database.world->SleepMicros(periods * kFollowPeriod + kFollowPeriod / 2); }
  std::string InView(std::string_view key) { return Value(view.get(), key, {}); }
  uint64_t Calls() { return view->statistics().Get(Ticker::kCatchUps); }
  uint64_t Failures() { return view->statistics().Get(Ticker::kCatchUpFailures); }
  std::string Following() { return view->GetProperty("sepal.follow").value_or("?"); }

  const std::shared_ptr<FailureKeeper> keeper = std::make_shared<FailureKeeper>();
  std::unique_ptr<DB> view;
};

TEST_F(FollowTest, WhatWasWrittenIsSeenAfterAPeriodWithoutACall) {
  ASSERT_OK(db()->Put("a", "1"));
  EXPECT_EQ(InView("a"), "NOT_FOUND");
  LetPeriodsPass(1);
  EXPECT_EQ(InView("a"), "1");
  for (int round = 2; round < 30; ++round) {
    Fill(0, 50);
    ASSERT_OK(db()->Put("a", std::to_string(round)));
    if (round % 3 == 0) ASSERT_OK(db()->Flush());
    if (round % 10 == 0) ASSERT_OK(db()->CompactRange());
    LetPeriodsPass(1);
    EXPECT_EQ(InView("a"), std::to_string(round));
  }
  EXPECT_EQ(ReadAll(view->NewIterator().get()), ReadAll(db()->NewIterator().get()));
  EXPECT_TRUE(keeper->told.empty());
}

TEST_F(FollowTest, SnapshotsOfTheViewStandStill) {
  ASSERT_OK(db()->Put("a", "1"));
  LetPeriodsPass(1);
  const std::shared_ptr<const Snapshot> snapshot = view->GetSnapshot();
  ASSERT_OK(db()->Put("a", "2"));
  LetPeriodsPass(1);
  EXPECT_EQ(InView("a"), "2");
  EXPECT_EQ(Value(view.get(), "a", {.snapshot = snapshot.get()}), "1");
}

TEST_F(FollowTest, AFailureIsToldOnceAndReadsStayAsTheyAreUntilItEnds) {
  ASSERT_OK(db()->Put("a", "1"));
  LetPeriodsPass(1);
  database.files.SetDecider(
      [](const FileCall& call) { return call.op == FileOp::kList ? Fault::kIoError : Fault::kNone; });
  ASSERT_OK(db()->Put("a", "2"));
  database.world->SleepMicros(10'000'000);
  EXPECT_EQ(keeper->told.size(), 1u);
  // 20, 40, 80, ... ms, then a second.
  EXPECT_GE(Failures(), 10u);
  EXPECT_LE(Failures(), 20u);
  EXPECT_EQ(InView("a"), "1");
  EXPECT_THAT(Following(), HasSubstr(keeper->told.at(0).ToString()));
  database.files.Clear();
  database.world->SleepMicros(1'100'000);
  EXPECT_EQ(InView("a"), "2");
  EXPECT_THAT(Following(), HasSubstr("last call: OK"));
  // Once it has succeeded the period is the short one again.
  ASSERT_OK(db()->Put("a", "3"));
  LetPeriodsPass(1);
  EXPECT_EQ(InView("a"), "3");
}

TEST_F(FollowTest, ThePropertySaysHowFarBehindTheViewIs) {
  EXPECT_THAT(Following(), HasSubstr("the view is that of the opening\n"));
  LetPeriodsPass(5);
  EXPECT_GE(Calls(), 5u);
  EXPECT_THAT(Following(), ContainsRegex("period: 20 ms\nthe view has all that was written [0-9][0-9]? ms ago\n"));
  EXPECT_EQ(db()->GetProperty("sepal.follow"), "");
  database.tuning.follow_period_micros = 0;
  EXPECT_EQ(database.OpenReadOnly().value()->GetProperty("sepal.follow"), "off\n");
}

TEST_F(FollowTest, NoCallIsMadeOnceTheViewIsClosed) {
  ASSERT_OK(view->Close());
  const uint64_t calls = Calls();
  database.world->SleepMicros(1'000'000);
  EXPECT_EQ(Calls(), calls);
}

TEST_F(FollowTest, AWriterCannotFollow) {
  Options options = database.options;
  options.follow_milliseconds = 5;
  const absl::Status refused = DB::Open(options, "/another").status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
  EXPECT_THAT(refused.ToString(), HasSubstr("read_only"));
}

TEST(FollowWithThreadsTest, AViewFollowsOnAThreadOfItsOwnBesideReadsAndItsClosing) {
  TestDatabase database(Threads::kReal, 5);
  ASSERT_OK(database.Open());
  Options options = database.options;
  options.create_if_missing = false;
  options.read_only = true;
  options.follow_milliseconds = 1;
  for (int round = 0; round < 3; ++round) {
    const std::unique_ptr<DB> view = DB::Open(options, database.path).value();
    const std::string number = std::to_string(round);
    ASSERT_OK(database.db->Put("a", number));
    ASSERT_OK(database.db->Flush());
    while (Value(view.get(), "a", {}) != number) {
    }
  }
}

}  // namespace
}  // namespace sepal

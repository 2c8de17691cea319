// Times of histories (sepal/history.h): the marks that moments are found by, what is given up, and clocks that jump.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/db/engine/read/history_fixture.h"
#include "util/base/random.h"
#include "util/base/unix_time.h"

namespace sepal {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST_F(HistoryTest, WhatIsOlderIsGivenUpByTheNextJob) {
  Put("k", "first");
  const uint64_t first = Now();
  Wait(10 * kSecondMillis);
  Put("k", "second");
  const uint64_t second = Now();
  Wait(kHourMillis + 5 * kSecondMillis);
  Put("k", "third");
  // Nothing has been given up so far.
  EXPECT_EQ(AsOf("k", first), "first");
  CompactAll();
  const absl::Status older = db()->Get("k", {.as_of_sequence = first}).status();
  EXPECT_TRUE(absl::IsOutOfRange(older)) << older;
  EXPECT_THAT(std::string(older.message()), HasSubstr("can be read as of 20"));
  EXPECT_EQ(AsOf("k", second), "second") << db()->GetProperty("sepal.history").value();
  EXPECT_THAT(Versions("k"), ElementsAre("=third", "=second"));
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(AsOf("k", first), "OUT_OF_RANGE");
  EXPECT_EQ(AsOf("k", second), "second");
  Wait(2 * kHourMillis);
  Put("l", "v");
  CompactAll();
  EXPECT_THAT(Versions("k"), ElementsAre("=third"));
}

TEST_F(HistoryTest, WhatWasGivenUpStaysRefusedWhenTheClockGoesBack) {
  Put("k", "first");
  const uint64_t first = Now();
  Wait(2 * kHourMillis);
  Put("k", "second");
  Wait(2 * kHourMillis);
  Put("k", "third");
  CompactAll();
  EXPECT_EQ(AsOf("k", first), "OUT_OF_RANGE");
  database.clock->Jump(-3 * kHourMillis);
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  EXPECT_EQ(AsOf("k", first), "OUT_OF_RANGE");
}

TEST_F(HistoryTest, AClockThatJumpsAheadCostsAnEighthOfAHistory) {
  Put("k", "first");
  const uint64_t first = Now();
  Wait(10 * kSecondMillis);
  Put("k", "second");
  Wait(kHourMillis / 2);
  const auto before = Time();
  database.clock->Jump(1000 * kHourMillis);
  Put("k", "third");
  EXPECT_EQ(At("k", before), "second");
  CompactAll();
  EXPECT_EQ(AsOf("k", first), "first");
  EXPECT_EQ(At("k", before), "second");
  // It has kept pace.
  Wait(11 * 60 * kSecondMillis);
  CompactAll();
  Wait(11 * 60 * kSecondMillis);
  Put("l", "v");
  CompactAll();
  EXPECT_EQ(AsOf("k", first), "OUT_OF_RANGE") << db()->GetProperty("sepal.history").value();
}

TEST_F(HistoryTest, AClockThatIsAheadOverOpeningsCostsLittleHistory) {
  Put("k", "first");
  const uint64_t first = Now();
  Wait(10 * kSecondMillis);
  Put("k", "second");
  Wait(10 * kSecondMillis);
  database.clock->Jump(1000 * kHourMillis);
  for (int i = 0; i < 3; ++i) {
    ASSERT_OK(database.Reopen());
    Put("k", "ahead");
    CompactAll();
    EXPECT_EQ(AsOf("k", first), "first") << i;
  }
}

TEST_F(HistoryTest, AnAcceptedClockTakesMarksThatAreAheadWithIt) {
  Put("k", "first");
  Wait(2 * kSecondMillis);
  database.clock->Jump(1000 * kHourMillis);
  for (int i = 0; i < 900; ++i) {  // long enough for the clock to be believed
    Put("k", "ahead" + std::to_string(i));
    Wait(kSecondMillis);
  }
  database.clock->Jump(-1000 * kHourMillis);
  const auto put_right = Time();
  Put("k", "right");
  ASSERT_OK(db()->AcceptClock());
  Wait(2 * kSecondMillis);
  const auto accepted = Time();
  const auto expect_all = [&](const char* where) {
    EXPECT_EQ(At("k", put_right - milliseconds(1)), "first") << where;  // stale, and never early
    EXPECT_EQ(At("k", accepted), "right") << where;
  };
  Wait(2 * kSecondMillis);
  Put("k", "later");
  expect_all("at first");
  ASSERT_OK(database.Reopen());
  expect_all("opened again");
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  expect_all("after a crash");
  // Marks are made again, and what is older is given up.
  Wait(2 * kSecondMillis);
  EXPECT_EQ(At("k", Time() - milliseconds(1000)), "later");
  Wait(2 * kHourMillis);
  Put("k", "last");
  CompactAll();
  EXPECT_THAT(Versions("k"), ElementsAre("=last", "=later"));
}

// As a command does that opens the database for a moment.
TEST_F(HistoryTest, AnAcceptedClockIsAcceptedAfterTheNextOpeningToo) {
  Put("k", "first");
  Wait(10 * kSecondMillis);
  Put("k", "second");
  database.clock->Jump(48 * kHourMillis);
  ASSERT_OK(database.Reopen());
  ASSERT_OK(db()->AcceptClock());
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  Put("l", "v");
  CompactAll();
  EXPECT_THAT(Versions("k"), ElementsAre("=second"));
}

TEST_F(HistoryTest, ATimeWithinAPauseIsReadThoughThePauseBeganBeforeTheHistory) {
  Put("k", "first");
  Wait(3 * kHourMillis);
  const auto within = Time();
  Wait(kHourMillis / 2);
  Put("k", "second");
  Wait(2 * kSecondMillis);
  const auto after = Time();
  CompactAll();
  const auto expect_all = [&](const char* where) {
    EXPECT_EQ(At("k", within), "first") << where;
    EXPECT_EQ(At("k", after), "second") << where;
  };
  expect_all("at first");
  for (int i = 0; i < 3; ++i) {
    Wait(2 * kSecondMillis);
    Put("l", "v");
  }
  expect_all("with later marks");
  ASSERT_OK(database.Reopen());
  expect_all("opened again");
}

TEST_F(HistoryTest, MarksOfAnEarlierHistoryTellNothingOfALaterOne) {
  Put("k", "first");
  Wait(10 * kSecondMillis);
  database.options.family.history = milliseconds(0);
  ASSERT_OK(database.Reopen());
  const auto between = Time();
  Wait(10 * kSecondMillis);
  Put("k", "without");
  Wait(10 * kSecondMillis);
  database.options.family.history = milliseconds(kHourMillis);
  ASSERT_OK(database.Reopen());
  Put("k", "second");
  Wait(2 * kSecondMillis);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(At("k", between), "OUT_OF_RANGE") << i;
    EXPECT_EQ(At("k", Time()), "second") << i;
    ASSERT_OK(database.CrashAndReopen(CrashMode::kKillProcess));
    Wait(2 * kSecondMillis);
  }
}

TEST_F(HistoryTest, TimesAreFoundByMarksOverOpenings) {
  std::map<int, std::chrono::system_clock::time_point> times;
  for (int i = 0; i < 10; ++i) {
    Put("k", std::to_string(i));
    Wait(kSecondMillis);
    times[i] = Time();  // nothing has been written for a second
    Wait((i % 3) * 10 * kSecondMillis);
  }
  const auto expect_all = [&](const char* where) {
    for (const auto& [i, time] : times) EXPECT_EQ(At("k", time), std::to_string(i)) << where;
    EXPECT_EQ(At("k", Time() + std::chrono::hours(100)), "9") << where;
    EXPECT_EQ(At("k", times[0] - std::chrono::hours(1)), "OUT_OF_RANGE") << where;
  };
  expect_all("at first");
  ASSERT_OK(db()->Sync());
  ASSERT_OK(database.CrashAndReopen(CrashMode::kLoseUnsynced));
  expect_all("after a crash");
  CompactAll();
  ASSERT_OK(database.Reopen());
  expect_all("compacted and opened again");
  const absl::StatusOr<std::vector<KeyVersion>> versions = db()->History("k");
  ASSERT_OK(versions.status());
  ASSERT_EQ(versions->size(), 10u);
  for (int i = 0; i < 10; ++i) {
    const KeyVersion& version = (*versions)[static_cast<size_t>(9 - i)];
    EXPECT_EQ(version.value, std::to_string(i));
    ASSERT_TRUE(version.time.has_value());
    EXPECT_LE(*version.time, times[i] - milliseconds(kSecondMillis));
    EXPECT_GT(*version.time, times[i] - milliseconds(2 * kSecondMillis));
  }
  EXPECT_THAT(db()->GetProperty("sepal.history").value(), HasSubstr("time marks: 10"));
}

TEST_F(HistoryTest, ATimeIsNeverEarlyAndLateByASecondAtMost) {
  Random random(3);
  std::vector<std::pair<uint64_t, uint64_t>> written;  // time, number
  uint64_t number = 0;
  for (int i = 0; i < 300; ++i) {
    Put("k", std::to_string(++number));
    written.emplace_back(database.clock->UnixMicros() / 1000, number);
    Wait(static_cast<int64_t>(random.OneIn(20) ? 5000 : random.Uniform(300)));
    if (random.OneIn(30)) database.clock->Jump(random.OneIn(2) ? 2500 : -2500);
    if (random.OneIn(60)) ASSERT_OK(database.Reopen());
  }
  uint64_t latest = 0;
  for (auto& [time, n] : written) time = latest = std::max(time, latest);  // time stands where it went back
  const uint64_t begin = written.front().first, end = written.back().first;
  for (uint64_t time = begin + kSecondMillis; time < end; time += 97) {
    uint64_t least = 0, most = 0;
    for (const auto& [at, n] : written) {
      if (at <= time - kSecondMillis) least = n;
      if (at <= time) most = n;
    }
    const std::string found = At("k", TimeOfMillis(time));
    const uint64_t shown = found == "NOT_FOUND" ? 0 : std::stoull(found);
    ASSERT_LE(shown, most) << time - begin;
    ASSERT_GE(shown, least) << time - begin;
  }
}

TEST_F(HistoryTest, MarksThatNobodyNeedsGo) {
  for (int i = 0; i < 200; ++i) {
    Put("k", std::to_string(i));
    Wait(kHourMillis / 50);
    if (i % 20 == 0) CompactAll();
  }
  const std::string text = db()->GetProperty("sepal.history").value();
  const uint64_t marks = std::stoull(text.substr(text.find("time marks: ") + 12));
  EXPECT_LT(marks, 80u) << text;
  EXPECT_GT(marks, 40u) << text;
  ASSERT_OK(database.Reopen());
  EXPECT_EQ(db()->GetProperty("sepal.history").value(), text);
}

}  // namespace
}  // namespace sepal

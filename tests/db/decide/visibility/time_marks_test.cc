#include "db/decide/visibility/time_marks.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>
#include <vector>

#include "util/base/random.h"

namespace sepal {
namespace {

constexpr uint64_t kMarkPeriod = 10;

std::optional<uint64_t> AsOfTime(const std::vector<TimeMark>& marks, uint64_t time, uint64_t visible) {
  const auto found = SequenceAsOf(marks, kMarkPeriod, time, SequenceNumber(visible));
  return found.has_value() ? std::optional(found->value()) : std::nullopt;
}

TEST(TimeMarksTest, AMarkCountsForItsPeriodAndThenTheNextOneDoes) {
  const std::vector<TimeMark> marks = {{100, SequenceNumber(5)}, {150, SequenceNumber(9)}};
  EXPECT_EQ(AsOfTime(marks, 99, 20), std::nullopt);
  EXPECT_EQ(AsOfTime(marks, 100, 20), 5u);
  EXPECT_EQ(AsOfTime(marks, 109, 20), 5u);
  EXPECT_EQ(AsOfTime(marks, 110, 20), 9u);
  EXPECT_EQ(AsOfTime(marks, 159, 20), 9u);
  EXPECT_EQ(AsOfTime(marks, 160, 20), 20u);
  EXPECT_EQ(AsOfTime({}, 160, 20), std::nullopt);
}

TEST(TimeMarksTest, TheOldestTimeIsTheFirstAsOfWhichNothingIsBelowTheFloor) {
  const std::vector<TimeMark> marks = {{100, SequenceNumber(5)}, {150, SequenceNumber(9)}, {155, SequenceNumber(9)}};
  EXPECT_EQ(OldestTime(marks, kMarkPeriod, SequenceNumber(5)), 100u);
  EXPECT_EQ(OldestTime(marks, kMarkPeriod, SequenceNumber(6)), 110u);
  EXPECT_EQ(OldestTime(marks, kMarkPeriod, SequenceNumber(10)), 165u);
  EXPECT_EQ(OldestTime({}, kMarkPeriod, SequenceNumber(5)), std::nullopt);
}

TEST(TimeMarksTest, AnUpdateComesWithinAPeriodAfterTheMarkBeforeIt) {
  const std::vector<TimeMark> marks = {{100, SequenceNumber(5)}, {150, SequenceNumber(9)}};
  EXPECT_EQ(TimeOfUpdate(marks, SequenceNumber(5)), std::nullopt);
  EXPECT_EQ(TimeOfUpdate(marks, SequenceNumber(6)), 100u);
  EXPECT_EQ(TimeOfUpdate(marks, SequenceNumber(9)), 100u);
  EXPECT_EQ(TimeOfUpdate(marks, SequenceNumber(10)), 150u);
}

// Against the writes themselves: never early, late by less than a period; the oldest time is right; no update is told
// to be later than it was.
TEST(TimeMarksTest, NothingIsShownEarlyOrAPeriodLate) {
  Random random(7);
  for (int round = 0; round < 500; ++round) {
    std::vector<TimeMark> marks;
    std::vector<std::pair<uint64_t, uint64_t>> writes;  // time, sequence
    uint64_t time = 1000, sequence = 0;
    for (int i = 0; i < 30; ++i) {
      time += random.OneIn(4) ? random.Uniform(60) : random.Uniform(5);
      if (marks.empty() || time >= marks.back().unix_millis + kMarkPeriod) {
        marks.push_back({time, SequenceNumber(sequence)});
        ++sequence;
      }
      writes.emplace_back(time, ++sequence);
    }
    std::optional<uint64_t> before;
    const SequenceNumber floor(random.Uniform(sequence + 1));
    const std::optional<uint64_t> oldest = OldestTime(marks, kMarkPeriod, floor);
    for (uint64_t at = 990; at < time + 30; ++at) {
      const std::optional<uint64_t> shown = AsOfTime(marks, at, sequence);
      if (!shown.has_value()) {
        ASSERT_LT(at, marks.front().unix_millis);
        continue;
      }
      ASSERT_GE(*shown, before.value_or(0));
      before = shown;
      ASSERT_EQ(*shown >= floor.value(), at >= *oldest) << at;
      for (const auto& [written, number] : writes) {
        ASSERT_TRUE(written <= at || number > *shown) << at;
        ASSERT_TRUE(written + kMarkPeriod > at || number <= *shown) << at;
      }
    }
    for (const auto& [written, number] : writes) {
      const uint64_t told = *TimeOfUpdate(marks, SequenceNumber(number));
      ASSERT_LE(told, written);
      ASSERT_LT(written - told, kMarkPeriod);
    }
  }
}

}  // namespace
}  // namespace sepal

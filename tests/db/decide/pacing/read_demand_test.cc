// What reads ask of level 0, and when that is enough for a merge.
#include "db/decide/pacing/read_demand.h"

#include <gtest/gtest.h>

namespace sepal {
namespace {

TEST(ReadDemandTest, NobodyReadsNothingIsAsked) { EXPECT_EQ(ReadDemand({}), 0u); }

TEST(ReadDemandTest, ASeekAsksForMoreThanALookupAndAStepForLess) {
  const uint64_t lookup = ReadDemand({.level0_lookups = 1000}) / 1000;
  const uint64_t seek = ReadDemand({.seeks = 1000}) / 1000;
  EXPECT_GE(lookup, 1u);
  EXPECT_GT(seek, 10 * lookup);
  EXPECT_LT(ReadDemand({.steps = 1000}), 1000 * lookup);
  EXPECT_GT(ReadDemand({.steps = 1000}), 0u);
  EXPECT_EQ(ReadDemand({.level0_lookups = 1000, .seeks = 1000, .steps = 1000}),
            ReadDemand({.level0_lookups = 1000}) + ReadDemand({.seeks = 1000}) + ReadDemand({.steps = 1000}));
}

TEST(ReadDemandTest, ACompactionOfMoreEntriesWaitsForMoreReads) {
  EXPECT_GT(DemandThatCompacts(7, 1'000'000), DemandThatCompacts(7, 1000));
  EXPECT_EQ(DemandThatCompacts(1'000'000, 1600) - DemandThatCompacts(0, 1600), 1'000'000u)
      << "reads of before count not";
  // Fewer reads than entries: who reads does not wait until his reads have cost as much as the merge.
  EXPECT_LT(DemandThatCompacts(0, 1'000'000), 1'000'000u);
  EXPECT_GT(DemandThatCompacts(0, 1'000'000), 1000u);
}

constexpr ReadWatch::Level0 kFewRuns{.runs = 3, .entries = 1600, .few_runs = 6};
constexpr ReadWatch::Level0 kManyRuns{.runs = 7, .entries = 1600, .few_runs = 6};

TEST(ReadWatchTest, ReadsCountFromWhenLevel0LastHadFewRuns) {
  ReadWatch watch;
  EXPECT_EQ(watch.Weigh(kFewRuns, 0, 1000), ReadWatch::kNever);
  EXPECT_EQ(watch.Weigh(kManyRuns, 4000, 4010), 4100u) << "at the look before this one it still had few";
  EXPECT_FALSE(watch.due());
}

TEST(ReadWatchTest, ACompactionIsDueOnceReadsHaveAskedForEnough) {
  ReadWatch watch;
  watch.Weigh(kFewRuns, 0, 1000);
  EXPECT_EQ(watch.Weigh(kManyRuns, 1000, 1050), 1100u);
  EXPECT_FALSE(watch.due());
  EXPECT_EQ(watch.Weigh(kManyRuns, 1050, 1100), ReadWatch::kNever);
  EXPECT_TRUE(watch.due());
}

TEST(ReadWatchTest, NothingIsKnownOfReadersAfterOpeningSoTheyMayWait) {
  ReadWatch watch;
  EXPECT_EQ(watch.Weigh(kManyRuns, 0, 0), ReadWatch::kNever);
  EXPECT_TRUE(watch.due());
}

TEST(ReadWatchTest, WhatReadersAskedForHoldsUntilTheCompactionHasEnded) {
  ReadWatch watch;
  watch.Weigh(kManyRuns, 0, 0);
  ReadWatch::Level0 taken = kManyRuns;
  taken.taken = true;
  EXPECT_EQ(watch.Weigh(taken, 0, 10), ReadWatch::kNever);
  EXPECT_TRUE(watch.due());
  watch.Satisfy(20);
  EXPECT_EQ(watch.Weigh(kManyRuns, 10, 30), 120u);
  EXPECT_FALSE(watch.due());
}

TEST(ReadWatchTest, CountsThatWereSetBackToZeroBeginAnew) {
  ReadWatch watch;
  watch.Weigh(kFewRuns, 0, 1000);
  watch.Weigh(kManyRuns, 1000, 1000);
  EXPECT_EQ(watch.Weigh(kManyRuns, 1000, 5), 105u);
  EXPECT_FALSE(watch.due());
}

}  // namespace
}  // namespace sepal

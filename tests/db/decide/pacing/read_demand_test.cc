// What reads ask of level 0, and when that is enough for a merge.
#include "db/decide/pacing/read_demand.h"

#include <gtest/gtest.h>

namespace sepal {
namespace {

TEST(ReadDemandTest, WithoutReadsThereIsNoDemand) { EXPECT_EQ(ReadDemand({}), 0u); }

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
  // Of level 0, fewer reads than entries: its readers do not wait until their reads have cost as much as the
  // compaction.
  EXPECT_LT(PriceOfLevel0(1'000'000), 1'000'000u);
  EXPECT_GT(PriceOfLevel0(1'000'000), 1000u);
  EXPECT_GT(PriceOfTree(1'000'000), 1'000'000u);
  EXPECT_GT(PriceOfTree(10), 10'000u) << "a small tree is not rewritten for a few reads";
}

constexpr ReadWatch::Runs kFewRuns{.runs = 3, .price = 100, .few_runs = 6};
constexpr ReadWatch::Runs kManyRuns{.runs = 7, .price = 100, .few_runs = 6};

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
  ReadWatch::Runs taken = kManyRuns;
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

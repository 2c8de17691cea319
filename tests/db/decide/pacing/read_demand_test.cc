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

TEST(ReadDemandTest, AMergeOfMoreEntriesWaitsForMoreReads) {
  EXPECT_GT(DemandThatMerges(7, 1'000'000), DemandThatMerges(7, 1000));
  EXPECT_EQ(DemandThatMerges(1'000'000, 1600) - DemandThatMerges(0, 1600), 1'000'000u) << "reads of before count not";
  // Fewer reads than entries: who reads does not wait until his reads have cost as much as the merge.
  EXPECT_LT(DemandThatMerges(0, 1'000'000), 1'000'000u);
  EXPECT_GT(DemandThatMerges(0, 1'000'000), 1000u);
}

}  // namespace
}  // namespace sepal

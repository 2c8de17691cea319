// Which column families are flushed together.
#include "db/decide/writing/flush_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(FlushGroupsTest, FamiliesThatHaveLittleGoTogether) {
  EXPECT_THAT(GroupFlushes({}), IsEmpty());
  EXPECT_THAT(GroupFlushes(std::vector<FlushCandidate>{{.bytes = 10}}), ElementsAre(ElementsAre(0)));
  EXPECT_THAT(GroupFlushes(std::vector<FlushCandidate>{{.bytes = 10}, {.bytes = kLittleToFlush}, {.bytes = 0}}),
              ElementsAre(ElementsAre(0, 1, 2)));
}

TEST(FlushGroupsTest, WhatHasMuchOrIsToBeAloneIsAlone) {
  EXPECT_THAT(GroupFlushes(std::vector<FlushCandidate>{
                  {.bytes = 10}, {.bytes = kLittleToFlush + 1}, {.bytes = 10}, {.bytes = 10, .alone = true}}),
              ElementsAre(ElementsAre(1), ElementsAre(3), ElementsAre(0, 2)));
}

TEST(FlushGroupsTest, AGroupHasNoMoreThanSoMany) {
  const std::vector<std::vector<size_t>> groups =
      GroupFlushes(std::vector<FlushCandidate>(2 * kMostFlushedTogether + 1));
  ASSERT_EQ(groups.size(), 3u);
  EXPECT_EQ(groups[0].size(), kMostFlushedTogether);
  EXPECT_EQ(groups[1].front(), kMostFlushedTogether);
  EXPECT_THAT(groups[2], ElementsAre(2 * kMostFlushedTogether));
}

}  // namespace
}  // namespace sepal

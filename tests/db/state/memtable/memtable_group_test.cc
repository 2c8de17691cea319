#include "db/state/memtable/memtable_group.h"

#include <gtest/gtest.h>

#include <string>

namespace sepal {
namespace {

class MemtableGroupTest : public ::testing::Test {
 protected:
  void SetUp() override {
    a.FlushBy([this] { asked += 'a'; });
    b.FlushBy([this] { asked += 'b'; });
    c.FlushBy([this] { asked += 'c'; });
  }

  std::string asked;
  MemtableGroup group{1000};
  MemtableGroup::Member a{&group}, b{&group}, c{&group};
};

TEST_F(MemtableGroupTest, TheLargestAreFlushedUntilHalfIsFree) {
  EXPECT_FALSE(a.Report(450));
  EXPECT_FALSE(b.Report(350));
  EXPECT_FALSE(c.Report(200));
  EXPECT_EQ(asked, "");
  EXPECT_FALSE(c.Report(201));
  EXPECT_EQ(asked, "ab");
  // What leaves is not asked for again, and counts no more.
  EXPECT_FALSE(c.Report(1000));
  EXPECT_EQ(asked, "ab");
  EXPECT_TRUE(c.Report(1001)) << "it is the largest that is left";
}

TEST_F(MemtableGroupTest, ADatabaseThatHoldsLittleKeepsItBesideOneThatHoldsMuch) {
  EXPECT_FALSE(a.Report(100));
  EXPECT_TRUE(b.Report(901));
  EXPECT_EQ(asked, "");
  b.Switched(0);
  EXPECT_FALSE(b.Report(900));
}

TEST_F(MemtableGroupTest, WritersAreHeldBackByWhatAllHaveButThoseThatHaveLittle) {
  // Half of an equal share of 2000 is 333.
  EXPECT_EQ(a.Pressure(333, 2000, 10'000), 0u);
  EXPECT_EQ(a.Pressure(334, 2000, 10'000), 10'000u);
  EXPECT_EQ(a.Pressure(500, 1000, 10'000), 5'000u);
}

TEST_F(MemtableGroupTest, WhatCannotBeFlushedIsHeldAgainstItsDatabaseAlone) {
  a.SetStuck(600);
  EXPECT_EQ(b.Pressure(500, 1600, 10'000), 5'000u) << "1000 of 2000";
  EXPECT_EQ(a.Pressure(600, 1000, 10'000), 10'000u) << "it stops at half of it";
  a.SetStuck(0);
  EXPECT_EQ(a.Pressure(600, 1000, 10'000), 5'000u);
}

TEST_F(MemtableGroupTest, OneThatCannotBeFlushedIsNotAskedAgain) {
  EXPECT_FALSE(a.Report(800));
  EXPECT_FALSE(b.Report(201));
  EXPECT_EQ(asked, "a");
  EXPECT_TRUE(group.AnythingUnderWay());
  a.Flushed(/*possible=*/false);
  EXPECT_FALSE(group.AnythingUnderWay());
  EXPECT_TRUE(c.AskOthers());
  EXPECT_EQ(asked, "ab");
  EXPECT_FALSE(c.AskOthers());
}

TEST_F(MemtableGroupTest, AClosedDatabaseIsAskedForNothing) {
  EXPECT_FALSE(a.Report(800));
  a.FlushBy(nullptr);
  EXPECT_TRUE(b.Report(201));
  EXPECT_EQ(asked, "");
}

TEST(MemtableGroup, WhoLeavesIsCountedNoMore) {
  MemtableGroup group(1000);
  MemtableGroup::Member a(&group);
  {
    MemtableGroup::Member b(&group);
    EXPECT_FALSE(b.Report(900));
    b.SetStuck(900);
    EXPECT_EQ(group.members(), 2u);
  }
  EXPECT_EQ(group.members(), 1u);
  EXPECT_FALSE(a.Report(1000));
}

}  // namespace
}  // namespace sepal

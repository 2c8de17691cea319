#include "db/sync/range_sums.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sepal {
namespace {

TEST(RangeSumsTest, HoldsWhatWasAddedAndReadsItsOwnBytes) {
  RangeSums sums;
  for (uint64_t i = 0; i < 300; ++i) {
    sums.Add({.begin = std::string(i, 'k'), .entries = i * i, .hash = {i, ~i}});
  }
  const std::string before = "what stands before";
  const std::optional<RangeSums> parsed = RangeSums::Parse(before + std::string(sums.bytes()), before.size(), 300);
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(*parsed, sums);
  ASSERT_EQ(parsed->size(), 300u);
  for (uint64_t i = 0; i < 300; ++i) {
    EXPECT_EQ((*parsed)[i], (RangeSum{.begin = std::string(i, 'k'), .entries = i * i, .hash = {i, ~i}}));
    EXPECT_EQ(parsed->BeginOf(i), std::string(i, 'k'));
    EXPECT_EQ(sums[i], (*parsed)[i]);
  }
}

TEST(RangeSumsTest, AListOfOneMovesWithItsViews) {
  RangeSums sums{{.begin = "", .entries = 1}};
  const RangeSums moved = std::move(sums);
  EXPECT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0], (RangeSum{.begin = "", .entries = 1}));
}

TEST(RangeSumsTest, WhatDoesNotCoverAllKeysInOrderIsRefused) {
  const auto parse = [](const RangeSums& sums, uint64_t count) {
    return RangeSums::Parse(std::string(sums.bytes()), 0, count).has_value();
  };
  EXPECT_TRUE(parse({{.begin = ""}, {.begin = "a"}}, 2));
  EXPECT_FALSE(parse({{.begin = ""}, {.begin = "a"}}, 1)) << "bytes are left";
  EXPECT_FALSE(parse({{.begin = ""}, {.begin = "a"}}, 3)) << "and bytes are missing";
  EXPECT_FALSE(parse({{.begin = ""}, {.begin = "a"}}, UINT64_MAX));
  EXPECT_FALSE(parse({}, 0)) << "no range covers nothing";
  EXPECT_FALSE(parse({{.begin = "a"}}, 1));
  EXPECT_FALSE(parse({{.begin = ""}, {.begin = "b"}, {.begin = "a"}}, 3));
  EXPECT_FALSE(parse({{.begin = ""}, {.begin = "a"}, {.begin = "a"}}, 3));
}

}  // namespace
}  // namespace sepal

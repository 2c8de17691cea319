#include "shards/shard_rows.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

Shard AnyShard() {
  return {.id = 300, .begin = "k", .database = "d/000300", .owner = "a", .epoch = 2, .split = "m", .untrimmed = true};
}

TEST(ShardRowsTest, AShardsRowIsTheseBytes) {
  EXPECT_EQ(ShardKey("k"), "sk");
  EXPECT_EQ(EncodeShardRow(AnyShard()), std::string("\x01\xac\x02\x02\x0c\x08"
                                                    "d/000300"
                                                    "\x01"
                                                    "a"
                                                    "\x01"
                                                    "m",
                                                    18));
  const ShardRows rows{.epoch = 5, .next_id = 301, .databases = "d", .shards = {}};
  EXPECT_EQ(EncodeMapRow(rows), std::string("\x01\x05\xad\x02\x01"
                                            "d",
                                            6));
}

TEST(ShardRowsTest, WhatWasWrittenComesBack) {
  for (int flags = 0; flags < 16; ++flags) {
    Shard shard{.id = 7, .begin = std::string("\0b", 2), .database = "x", .owner = "", .epoch = 1};
    shard.take_over = (flags & 1) != 0;
    shard.unmade = (flags & 2) != 0;
    shard.untrimmed = (flags & 4) != 0;
    if ((flags & 8) != 0) shard.split = "c";
    ShardRows rows;
    ASSERT_TRUE(TakeRow(ShardKey(shard.begin), EncodeShardRow(shard), &rows).ok());
    EXPECT_EQ(rows.shards.at(shard.begin), shard);
  }
}

TEST(ShardRowsTest, RowsThatAreCutOrOfAnotherVersionAreRefused) {
  const std::string whole = EncodeShardRow(AnyShard());
  for (size_t size = 0; size < whole.size(); ++size) {
    ShardRows rows;
    EXPECT_EQ(TakeRow("sk", whole.substr(0, size), &rows).code(), absl::StatusCode::kDataLoss) << size;
  }
  ShardRows rows;
  EXPECT_EQ(TakeRow("sk", whole + "x", &rows).code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(TakeRow("x", whole, &rows).code(), absl::StatusCode::kDataLoss);
  std::string newer = whole;
  newer[0] = 2;
  const absl::Status status = TakeRow("sk", newer, &rows);
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 2"));
  EXPECT_EQ(rows.Link().code(), absl::StatusCode::kDataLoss);  // there is no first one
}

}  // namespace
}  // namespace sepal

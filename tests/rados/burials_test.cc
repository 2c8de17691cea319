// How long removed files can be read.
#include "rados/burials.h"

#include <gtest/gtest.h>

namespace sepal::rados {
namespace {

constexpr uint64_t kGraceMicros = 1000;

Burials::Dead DeadFile(const std::string& id, int64_t bytes) {
  return {"db", {.id = id, .object_bytes = 64, .size = bytes, .ref = {}, .home = {}}, 0};
}

// The ids of those that go.
std::string TakeAll(Burials* burials, uint64_t now, std::optional<uint64_t> free_bytes, bool all = false) {
  std::string ids;
  while (const auto dead = burials->Take(now, free_bytes, all)) ids += dead->entry.id;
  return ids;
}

TEST(RadosBurialsTest, AFileGoesWhenItsTimeIsOver) {
  Burials burials(kGraceMicros);
  EXPECT_EQ(burials.MicrosLeft(0), UINT64_MAX);
  burials.Add(DeadFile("a", 100), 5000);
  burials.Add(DeadFile("b", 100), 5400);
  EXPECT_EQ(burials.MicrosLeft(5300), 700u);
  EXPECT_EQ(TakeAll(&burials, 5999, 1 << 20), "");
  EXPECT_EQ(TakeAll(&burials, 6000, 1 << 20), "a");
  EXPECT_EQ(burials.MicrosLeft(6000), 400u);
  EXPECT_EQ(TakeAll(&burials, 9000, 1 << 20), "b");
  EXPECT_TRUE(burials.empty());
}

TEST(RadosBurialsTest, TheOldestGoWhereThereIsLittleRoomAndAllInAFullPool) {
  Burials burials(kGraceMicros);
  for (const char* id : {"a", "b", "c"}) burials.Add(DeadFile(id, 100), 0);
  EXPECT_EQ(TakeAll(&burials, 1, 2400), "");
  EXPECT_EQ(TakeAll(&burials, 1, 1700), "a");
  EXPECT_EQ(TakeAll(&burials, 1, 0), "bc");
  burials.Add({"db", {.id = "d", .object_bytes = 64, .size = -1, .ref = {}, .home = {}}, 3}, 0);
  EXPECT_EQ(TakeAll(&burials, 1, 8 * 192), "") << "as many bytes as its objects have";
  EXPECT_EQ(TakeAll(&burials, 1, 8 * 192 - 1), "d");
}

// A client that opens its database again finds in the index what it still keeps.
TEST(RadosBurialsTest, WhatIsKeptIsNotKeptTwice) {
  Burials burials(kGraceMicros);
  for (const uint64_t now : {0, 500}) burials.Add(DeadFile("a", 100), now);
  Burials::Dead reference = DeadFile("a", 100);
  reference.entry.ref = "r";
  burials.Add(reference, 0);
  EXPECT_EQ(TakeAll(&burials, 1000, 1600), "aa");
  EXPECT_TRUE(burials.empty());
  burials.Add(DeadFile("a", 100), 0);
  EXPECT_EQ(TakeAll(&burials, 1000, 1600), "a");
}

TEST(RadosBurialsTest, WithoutGraceAndWhereAllAreToGoNothingIsKept) {
  Burials none(0);
  none.Add(DeadFile("a", 100), 7);
  EXPECT_EQ(TakeAll(&none, 7, std::nullopt), "a");
  Burials burials(kGraceMicros);
  burials.Add(DeadFile("a", 100), 7);
  burials.Add(DeadFile("b", 100), 7);
  EXPECT_EQ(TakeAll(&burials, 8, std::nullopt), "");
  EXPECT_EQ(TakeAll(&burials, 8, std::nullopt, /*all=*/true), "ab");
}

}  // namespace
}  // namespace sepal::rados

#include "db/decide/transaction/conflict_set.h"

#include <gtest/gtest.h>

#include <map>

#include "db/format/range_end.h"
#include "tests/caseless_comparator.h"
#include "util/base/random.h"

namespace sepal {
namespace {

const KeyOrder kOrder;
const ColumnFamilyId kFamily(3);

bool Touches(const ConflictSet& set, std::string_view key, ColumnFamilyId family = kFamily) {
  return set.Touched({.kind = ValueKind::kPut, .family = family, .key = key, .value = "v"}).has_value();
}

bool TouchesRange(const ConflictSet& set, std::string_view begin, std::optional<std::string_view> end) {
  const std::string encoded = EncodeRangeEnd(end);
  return set.Touched({.kind = ValueKind::kRangeDelete, .family = kFamily, .key = begin, .value = encoded}).has_value();
}

TEST(ConflictSetTest, AKeyIsTouchedInItsFamilyAlone) {
  ConflictSet set;
  set.AddKey(kFamily, kOrder, "b");
  set.Seal();
  EXPECT_TRUE(Touches(set, "b"));
  EXPECT_FALSE(Touches(set, "b", ColumnFamilyId(4)));
  EXPECT_FALSE(Touches(set, "a"));
  EXPECT_FALSE(Touches(set, "ba"));
  EXPECT_TRUE(TouchesRange(set, "a", "c"));
  EXPECT_TRUE(TouchesRange(set, "b", std::nullopt));
  EXPECT_FALSE(TouchesRange(set, "a", "b"));
  EXPECT_FALSE(TouchesRange(set, "c", std::nullopt));
}

TEST(ConflictSetTest, TheEndsOfARangeAreAsStated) {
  ConflictSet set;
  set.AddRange(kFamily, kOrder, {.begin = "b", .end = "d", .end_inclusive = false});
  set.AddRange(kFamily, kOrder, {.begin = "f", .end = "g", .end_inclusive = true});
  set.Seal();
  EXPECT_FALSE(Touches(set, "a"));
  EXPECT_TRUE(Touches(set, "b"));
  EXPECT_TRUE(Touches(set, "czz"));
  EXPECT_FALSE(Touches(set, "d"));
  EXPECT_TRUE(Touches(set, "g"));
  EXPECT_FALSE(Touches(set, "ga"));
  EXPECT_FALSE(TouchesRange(set, "d", "f"));
  EXPECT_TRUE(TouchesRange(set, "g", "h"));
  EXPECT_TRUE(TouchesRange(set, "a", std::nullopt));
}

TEST(ConflictSetTest, ARangeWithoutEndsIsTouchedByAll) {
  ConflictSet set;
  set.AddRange(kFamily, kOrder, {});
  set.Seal();
  EXPECT_TRUE(Touches(set, ""));
  EXPECT_TRUE(Touches(set, "\xff\xff"));
  EXPECT_TRUE(TouchesRange(set, "", "a"));
}

TEST(ConflictSetTest, InAnOrderThatHoldsBytesEqualAKeyIsTouchedByItsOtherSpellings) {
  const CaselessComparator caseless;
  ConflictSet set;
  set.AddKey(kFamily, KeyOrder(&caseless), "Key");
  set.Seal();
  EXPECT_TRUE(Touches(set, "kEY"));
  EXPECT_FALSE(Touches(set, "kez"));
}

TEST(ConflictSetTest, ADeletedRangeBesideAllKeysTouchesNone) {
  ConflictSet set;
  for (const char* key : {"d", "b", "c"}) set.AddKey(kFamily, kOrder, key);
  set.Seal();
  EXPECT_FALSE(TouchesRange(set, "a", "b"));
  EXPECT_TRUE(TouchesRange(set, "a", "ba"));
  EXPECT_TRUE(TouchesRange(set, "d", "e"));
  EXPECT_FALSE(TouchesRange(set, "da", std::nullopt));
  EXPECT_FALSE(TouchesRange(set, "ca", "cb"));
}

TEST(ConflictSetTest, ARangeOfOneKeyIsThatKey) {
  ConflictSet set;
  set.AddRange(kFamily, kOrder, {.begin = "k", .end = "k"});
  set.Seal();
  EXPECT_TRUE(set.parts().front().ranges.empty());
  EXPECT_TRUE(Touches(set, "k"));
  EXPECT_FALSE(Touches(set, std::string_view("k\0", 2)));
}

TEST(ConflictSetTest, WhatIsAddedAgainAndAgainTakesLittleMemory) {
  const CaselessComparator caseless;
  ConflictSet set;
  for (int i = 0; i < 100'000; ++i) {
    set.AddKey(kFamily, KeyOrder(&caseless), i % 2 == 0 ? "key" : "KEY");
    set.AddRange(ColumnFamilyId(4), kOrder, {.begin = "a", .end = "b"});
  }
  EXPECT_LT(set.MemoryBytes(), size_t{32} << 10);
  set.Seal();
  EXPECT_TRUE(Touches(set, "Key"));
  EXPECT_TRUE(Touches(set, "aa", ColumnFamilyId(4)));
  ConflictSet sum;
  sum.Add(set);
  sum.Seal();
  EXPECT_EQ(sum.MemoryBytes(), set.MemoryBytes());
}

// Random ranges over ten letters against a list of letters.
TEST(ConflictSetTest, JoinedRangesHoldWhatTheyHeldApart) {
  Random random(7);
  for (int round = 0; round < 2000; ++round) {
    ConflictSet set;
    std::map<char, bool> held;
    const auto letter = [&] { return static_cast<char>('a' + random.Uniform(10)); };
    for (uint64_t count = random.Uniform(5); count > 0; --count) {
      ConflictRange range;
      const char begin = letter();
      const char end = static_cast<char>(begin + static_cast<char>(random.Uniform(4)));
      if (random.Uniform(8) > 0) range.begin = std::string(1, begin);
      if (random.Uniform(8) > 0) range.end = std::string(1, end);
      range.end_inclusive = random.Uniform(2) == 0;
      for (char c = 'a'; c <= 'n'; ++c) {
        const bool after = !range.begin.has_value() || c >= begin;
        const bool before = !range.end.has_value() || c < end || (c == end && range.end_inclusive);
        held[c] = held[c] || (after && before);
      }
      set.AddRange(kFamily, kOrder, std::move(range));
    }
    set.Seal();
    for (char c = 'a'; c <= 'n'; ++c) ASSERT_EQ(Touches(set, std::string(1, c)), held[c]) << round << " " << c;
  }
}

}  // namespace
}  // namespace sepal

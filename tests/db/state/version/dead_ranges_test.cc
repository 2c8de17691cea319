#include "db/state/version/dead_ranges.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>

#include "util/base/random.h"

namespace sepal {
namespace {

KeyPosition Before(char key) { return {std::string(1, key), false}; }
KeyPosition After(char key) { return {std::string(1, key), true}; }
SequenceNumber At(uint64_t number) { return SequenceNumber(number); }

TEST(DeadRangesTest, AReaderSkipsARangeOnlyIfItIsNoOlder) {
  DeadRanges ranges{KeyOrder()};
  EXPECT_FALSE(ranges.any());
  ranges.Add(Before('b'), After('f'), At(10), 5);
  EXPECT_TRUE(ranges.any());
  EXPECT_EQ(ranges.EndFrom("c", At(10)), After('f'));
  EXPECT_EQ(ranges.EndFrom("c", At(12)), After('f'));
  EXPECT_EQ(ranges.EndFrom("c", At(9)), std::nullopt);
  EXPECT_EQ(ranges.BeginFrom("f", At(10)), Before('b'));
  EXPECT_EQ(ranges.EndFrom("a", At(10)), std::nullopt);
  EXPECT_EQ(ranges.EndFrom("g", At(10)), std::nullopt);
}

TEST(DeadRangesTest, AnEndHoldsItsKeyOrNot) {
  DeadRanges ranges{KeyOrder()};
  ranges.Add(After('b'), Before('f'), At(10), 5);
  EXPECT_EQ(ranges.EndFrom("b", At(10)), std::nullopt);
  EXPECT_EQ(ranges.EndFrom("f", At(10)), std::nullopt);
  EXPECT_EQ(ranges.EndFrom(std::string("b\0", 2), At(10)), Before('f'));
}

TEST(DeadRangesTest, APutCutsTheRangeAroundIt) {
  DeadRanges ranges{KeyOrder()};
  ranges.Add(Before('b'), After('f'), At(10), 5);
  ranges.Cut("d");
  EXPECT_EQ(ranges.EndFrom("b", At(10)), Before('d'));
  EXPECT_EQ(ranges.EndFrom("d", At(10)), std::nullopt);
  EXPECT_EQ(ranges.BeginFrom("e", At(10)), After('d'));
  ranges.Cut("b");
  ranges.Cut("f");
  ranges.Cut("x");
  EXPECT_EQ(ranges.EndFrom("b", At(10)), std::nullopt);
  EXPECT_EQ(ranges.EndFrom("c", At(10)), Before('d'));
  EXPECT_EQ(ranges.EndFrom("e", At(10)), Before('f'));
  EXPECT_TRUE(ranges.Check().ok());
}

// A reader that is a little behind skips nearly all of a range that grows at one end.
TEST(DeadRangesTest, ARangeThatGrowsKeepsItsOlderPartsForOlderReaders) {
  DeadRanges ranges{KeyOrder()};
  const auto key = [](uint64_t i) {
    char text[16];
    snprintf(text, sizeof text, "%08d", static_cast<int>(i));
    return std::string(text);
  };
  constexpr uint64_t kSteps = 4096;
  for (uint64_t i = 0; i < kSteps; ++i) {
    ranges.Add({key(i), false}, {key(i + 1), false}, At(i + 1), 16);
  }
  EXPECT_LE(ranges.size(), 32u);
  EXPECT_TRUE(ranges.Check().ok());
  EXPECT_EQ(ranges.EndFrom(key(0), At(kSteps)), (KeyPosition{key(kSteps), false}));
  for (const uint64_t behind : {1u, 10u, 100u, 1000u}) {
    const std::optional<KeyPosition> end = ranges.EndFrom(key(0), At(kSteps - behind));
    ASSERT_TRUE(end.has_value()) << behind;
    EXPECT_GE(end->key, key(kSteps - 3 * behind - 2)) << behind;
  }
}

TEST(DeadRangesTest, ForgetsTheSmallestOfTooMany) {
  DeadRanges ranges{KeyOrder()};
  ranges.Add({"a", false}, {"b", false}, At(1), 1000);
  for (int i = 0; i < 3000; ++i) {
    const std::string key = "k" + std::to_string(10000 + i);
    ranges.Add({key, false}, {key, true}, At(1), 10);
  }
  EXPECT_EQ(ranges.size(), DeadRanges::kMostRanges);
  EXPECT_EQ(ranges.EndFrom("a", At(1)), (KeyPosition{"b", false}));
  ranges.Add({std::string(10000, 'x'), false}, {"y", false}, At(1), 5000);
  EXPECT_EQ(ranges.EndFrom("xz", At(1)), std::nullopt);
}

// Against a model that knows for each key since when it is dead, while whoever adds is told the truth.
TEST(DeadRangesTest, NeverCoversAKeyThatHasAValue) {
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    Random random(seed);
    DeadRanges ranges{KeyOrder()};
    std::map<char, std::optional<uint64_t>> dead_since;  // none: it has a value
    for (char key = 'A'; key <= 'z'; ++key) dead_since[key] = 0;
    for (uint64_t now = 1; now < 2000; ++now) {
      const char key = static_cast<char>('A' + random.Uniform('z' - 'A' + 1));
      if (random.Uniform(3) == 0) {
        ranges.Cut(std::string(1, key));
        dead_since[key] = std::nullopt;
      } else if (random.Uniform(2) == 0) {
        if (!dead_since[key].has_value()) dead_since[key] = now;
      } else {
        char end = key;
        while (end <= 'z' && dead_since[end].has_value() && random.Uniform(20) > 0) ++end;
        if (end > key) ranges.Add(Before(key), Before(end), At(now), static_cast<uint64_t>(end - key));
      }
      ASSERT_TRUE(ranges.Check().ok());
      const uint64_t visible = random.Uniform(now + 2);
      const char probe = static_cast<char>('A' + random.Uniform('z' - 'A' + 1));
      const std::optional<KeyPosition> end = ranges.EndFrom(std::string(1, probe), At(visible));
      const std::optional<KeyPosition> begin = ranges.BeginFrom(std::string(1, probe), At(visible));
      ASSERT_EQ(end.has_value(), begin.has_value());
      if (!end.has_value()) continue;
      for (const auto& [each, since] : dead_since) {
        const std::string text(1, each);
        const bool from_begin = begin->key < text || (begin->key == text && !begin->after);
        const bool to_end = text < end->key || (text == end->key && end->after);
        if (!from_begin || !to_end) continue;
        ASSERT_TRUE(since.has_value() && *since <= visible) << each << " at " << visible;
      }
    }
  }
}

}  // namespace
}  // namespace sepal

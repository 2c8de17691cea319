#include "db/decide/compaction/subcompactions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace sepal {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Keys = std::vector<std::string>;

// "a[100]c b[50]d"
std::string Show(const std::vector<KeyStretch>& stretches) {
  std::string text;
  for (const KeyStretch& s : stretches) {
    if (!text.empty()) text += ' ';
    text += s.smallest + "[" + std::to_string(s.bytes) + "]" + s.largest;
  }
  return text;
}

std::string Stretches(KeyStretch table, const Keys& cuts) {
  std::vector<KeyStretch> stretches;
  AppendStretches(&stretches, KeyOrder(), std::move(table), cuts);
  return Show(stretches);
}

TEST(SubcompactionsTest, ATableFallsIntoEvenStretchesAtItsCuts) {
  EXPECT_EQ(Stretches({"a", "z", 100}, {}), "a[100]z");
  EXPECT_EQ(Stretches({"a", "z", 103}, {"g", "p"}), "a[34]g g[34]p p[35]z");
}

TEST(SubcompactionsTest, CutsThatRepeatOrLieAtTheEndsOrBeyondCutNothing) {
  EXPECT_EQ(Stretches({"c", "m", 100}, {"c", "g", "g", "m", "x"}), "c[16]g g[84]m");
}

TEST(SubcompactionsTest, TablesThatAllSpanTheSameKeysAreCutInTheMiddle) {
  std::vector<KeyStretch> stretches;
  for (int run = 0; run < 4; ++run) AppendStretches(&stretches, KeyOrder(), {"a", "z", 400}, {"g", "m", "t"});
  EXPECT_THAT(SubcompactionBoundaries(stretches, KeyOrder(), 2, 1), ElementsAre("m"));
  EXPECT_THAT(SubcompactionBoundaries(stretches, KeyOrder(), 4, 1), ElementsAre("g", "m", "t"));
  EXPECT_THAT(SubcompactionBoundaries(stretches, KeyOrder(), 1, 1), IsEmpty());
}

// By the ends of tables the parts would have 300 and 900 bytes.
TEST(SubcompactionsTest, PartsDifferByAStretchAtMost) {
  std::vector<KeyStretch> stretches;
  AppendStretches(&stretches, KeyOrder(), {"a", "e", 300}, {});
  AppendStretches(&stretches, KeyOrder(), {"f", "z", 900}, {"h", "j", "l", "n", "p", "r", "t", "v"});
  EXPECT_THAT(SubcompactionBoundaries(stretches, KeyOrder(), 2, 1), ElementsAre("l"));
}

TEST(SubcompactionsTest, NoPartIsSmallerThanTheLeast) {
  std::vector<KeyStretch> stretches;
  AppendStretches(&stretches, KeyOrder(), {"a", "z", 1000}, {"c", "e", "g", "i", "k", "m", "o", "q", "s"});
  EXPECT_THAT(SubcompactionBoundaries(stretches, KeyOrder(), 8, 500), ElementsAre("k"));
  EXPECT_THAT(SubcompactionBoundaries(stretches, KeyOrder(), 8, 501), IsEmpty());
}

// What comes behind a stretch that is as large as many parts is not cut at each of its keys.
TEST(SubcompactionsTest, ABoundaryBehindAStretchThatCannotBeCutIsLeftOut) {
  std::vector<KeyStretch> stretches;
  AppendStretches(&stretches, KeyOrder(), {"a", "c", 700}, {});
  AppendStretches(&stretches, KeyOrder(), {"d", "n", 300}, {"e", "f", "g", "h", "i", "j", "k", "l", "m"});
  EXPECT_THAT(SubcompactionBoundaries(stretches, KeyOrder(), 10, 100), ElementsAre("c", "h", "l"));
}

}  // namespace
}  // namespace sepal

#include "db/decide/visibility/visibility.h"

#include <gtest/gtest.h>

#include <optional>
#include <string_view>
#include <vector>

namespace sepal {
namespace {

// Those that decide.
constexpr ValueKind kKinds[] = {ValueKind::kDelete, ValueKind::kPut, ValueKind::kSingleDelete};

Trailer Update(uint64_t sequence, ValueKind kind) { return PackTrailer(SequenceNumber(sequence), kind); }

TEST(VisibilityTest, PutsAreValuesAndDeletionsAbsences) {
  EXPECT_EQ(std::size(kKinds) + 1, size_t{kMaxValueKind})
      << "and merges, which decide nothing, range deletes, which stand apart, references and expiring puts";
  EXPECT_EQ(MeaningOf(Update(0, ValueKind::kPut)), Meaning::kValue);
  EXPECT_EQ(MeaningOf(Update(kMaxSequenceNumber.value(), ValueKind::kPut)), Meaning::kValue);
  EXPECT_EQ(MeaningOf(Update(7, ValueKind::kDelete)), Meaning::kAbsent);
  EXPECT_EQ(MeaningOf(Update(7, ValueKind::kSingleDelete)), Meaning::kAbsent);
  EXPECT_EQ(MeaningOf(Update(7, ValueKind::kRangeDelete)), Meaning::kAbsent) << "of its first key";
}

TEST(VisibilityTest, AnOperandNeedsWhatIsOlder) {
  Resolver resolver({SequenceNumber(5)});
  EXPECT_FALSE(resolver.Add(Update(6, ValueKind::kMerge), "not seen"));
  EXPECT_EQ(resolver.operands(), 0);
  EXPECT_FALSE(resolver.Add(Update(5, ValueKind::kMerge), "b"));
  EXPECT_EQ(resolver.meaning(), Meaning::kOperand) << "also over nothing";
  EXPECT_FALSE(resolver.Add(Update(4, ValueKind::kFoldedMerge), "a"));
  EXPECT_TRUE(resolver.Add(Update(3, ValueKind::kDelete), ""));
  EXPECT_EQ(resolver.meaning(), Meaning::kOperand);
  EXPECT_EQ(resolver.operands(), 2);
}

TEST(VisibilityTest, AReadPointSeesUpToItself) {
  const ReadPoint point{SequenceNumber(5)};
  for (const ValueKind kind : kKinds) {
    EXPECT_TRUE(point.Sees(Update(0, kind)));
    EXPECT_TRUE(point.Sees(Update(5, kind)));
    EXPECT_FALSE(point.Sees(Update(6, kind)));
  }
}

TEST(VisibilityTest, AKeyWithoutVisibleUpdatesIsAbsent) {
  Resolver resolver({SequenceNumber(5)});
  EXPECT_EQ(resolver.meaning(), Meaning::kAbsent);
  EXPECT_FALSE(resolver.Add(Update(6, ValueKind::kPut), "newer"));
  EXPECT_EQ(resolver.meaning(), Meaning::kAbsent);
  EXPECT_EQ(resolver.value(), "");
}

// Every history of up to five updates, at every read point.
TEST(VisibilityTest, TheFirstUpdateThatIsSeenDecides) {
  const std::string_view values[] = {"1", "2", "3", "4", "5"};
  for (uint64_t length = 0; length <= 5; ++length) {
    uint64_t histories = 1;
    for (uint64_t i = 0; i < length; ++i) histories *= std::size(kKinds);
    for (uint64_t history = 0; history < histories; ++history) {
      std::vector<ValueKind> oldest_first;
      for (uint64_t i = 0, digits = history; i < length; ++i, digits /= 3) oldest_first.push_back(kKinds[digits % 3]);
      for (uint64_t visible = 0; visible <= length; ++visible) {
        Resolver resolver({SequenceNumber(visible)});
        uint64_t sequence = length;
        while (sequence > 0) {
          const ValueKind kind = oldest_first[sequence - 1];
          const bool decides = resolver.Add(Update(sequence, kind), values[sequence - 1]);
          EXPECT_EQ(decides, sequence <= visible);
          if (decides) break;
          --sequence;
        }
        const bool there = visible > 0 && oldest_first[visible - 1] == ValueKind::kPut;
        EXPECT_EQ(resolver.meaning(), there ? Meaning::kValue : Meaning::kAbsent);
        EXPECT_EQ(resolver.value(), there ? values[visible - 1] : std::string_view());
      }
    }
  }
}

}  // namespace
}  // namespace sepal

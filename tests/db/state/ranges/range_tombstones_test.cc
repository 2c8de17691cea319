// Lists of range tombstones against a plain vector of deletes.
#include "db/state/ranges/range_tombstones.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "tests/db/state/ranges/naive_deletes.h"

namespace sepal {
namespace {

TEST(RangeTombstonesTest, EveryReaderIsToldTheNewestDeleteThatItSees) {
  ForEachUniverse(1, 600, [](const KeyOrder& order, const auto& universe, const auto& borders, Random* random) {
    const NaiveDeletes deletes = RandomDeletes(random, order, borders, 1 + random->Uniform(9));
    const RangeTombstonesRef list = MergeAll(order, ListsOf(order, deletes), {});
    ASSERT_NO_FATAL_FAILURE(ExpectWellFormed(order, *list));
    ExpectCovers(order, *list, deletes, universe, AllReaders(deletes.size()));
  });
}

TEST(RangeTombstonesTest, ReadersAtSnapshotsAndAboveTheLastAreToldTheSameOfWhatStripesLeave) {
  ForEachUniverse(2, 900, [](const KeyOrder& order, const auto& universe, const auto& borders, Random* random) {
    const NaiveDeletes deletes = RandomDeletes(random, order, borders, 1 + random->Uniform(12));
    const std::vector<uint64_t> stripe_values = RandomStripes(random, deletes.size());
    const std::vector<SequenceNumber> stripes = Numbers(stripe_values);
    const RangeTombstonesRef list = MergeAll(order, ListsOf(order, deletes), stripes);
    ASSERT_NO_FATAL_FAILURE(ExpectWellFormed(order, *list));
    ASSERT_NO_FATAL_FAILURE(ExpectCovers(order, *list, deletes, universe, ReadersOf(stripe_values, deletes.size())));
    // Two deletes or more are a merge, which leaves one of each stripe.
    if (deletes.size() == 1) return;
    for (size_t i = 0; i < list->size(); ++i) {
      const std::span<const SequenceNumber> numbers = (*list)[i].sequences;
      for (size_t j = 1; j < numbers.size(); ++j) {
        const size_t stripe = StripeOf(stripes, numbers[j]);
        ASSERT_TRUE(stripe == stripes.size() || stripe != StripeOf(stripes, numbers[j - 1])) << TextOf(*list);
      }
    }
  });
}

TEST(RangeTombstonesTest, TheOrderInWhichListsAreMergedMakesNoDifference) {
  ForEachUniverse(3, 500, [](const KeyOrder& order, const auto&, const auto& borders, Random* random) {
    const NaiveDeletes deletes = RandomDeletes(random, order, borders, 3 + random->Uniform(7));
    std::vector<SequenceNumber> stripes;
    if (random->OneIn(2)) stripes = Numbers(RandomStripes(random, deletes.size()));
    std::vector<RangeTombstonesRef> lists = ListsOf(order, deletes);
    const RangeTombstonesRef balanced = MergeAll(order, lists, stripes);
    RangeTombstonesRef from_left = lists.front();
    for (size_t i = 1; i < lists.size(); ++i) from_left = RangeTombstones::Merge(order, *from_left, *lists[i], stripes);
    RangeTombstonesRef from_right = lists.back();
    for (size_t i = lists.size() - 1; i-- > 0;) {
      from_right = RangeTombstones::Merge(order, *lists[i], *from_right, stripes);
    }
    ASSERT_EQ(TextOf(*from_left), TextOf(*balanced)) << TextOf(deletes);
    ASSERT_EQ(TextOf(*from_right), TextOf(*balanced)) << TextOf(deletes);
    for (size_t i = lists.size(); i > 1; --i) std::swap(lists[i - 1], lists[random->Uniform(i)]);
    ASSERT_EQ(TextOf(*MergeAll(order, lists, stripes)), TextOf(*balanced)) << TextOf(deletes);
    // A delete that is in both is one.
    ASSERT_EQ(TextOf(*RangeTombstones::Merge(order, *balanced, *from_left, stripes)), TextOf(*balanced));
  });
}

TEST(RangeTombstonesTest, NothingMergedIsNull) {
  EXPECT_EQ(MergeAll(KeyOrder(), {}, {}), nullptr);
  EXPECT_EQ(MergeAll(KeyOrder(), {nullptr, nullptr}, {}), nullptr);
  const RangeTombstonesRef one = ListOf(KeyOrder(), {"a", "b", 3});
  EXPECT_EQ(MergeAll(KeyOrder(), {nullptr, one}, {}), one);
}

TEST(RangeTombstonesTest, AListOutlivesTheListsThatItWasMadeOf) {
  const KeyOrder order;
  RangeTombstonesRef list = MergeAll(order,
                                     ListsOf(order, {{"aaaaaaaaaaaaaaaaaaaaaaaa", "cccccccccccccccccccccccc", 3},
                                                     {"bbbbbbbbbbbbbbbbbbbbbbbb", std::nullopt, 5}}),
                                     {});
  list = RangeTombstones::Filter(order, *list, [](const auto&, SequenceNumber s) { return s.value() == 5; });
  EXPECT_EQ(TextOf(*list), "[bbbbbbbbbbbbbbbbbbbbbbbb,+):5");
}

TEST(RangeTombstonesTest, AFilterLeavesWhatItKeepsAndJoinsItsNeighbours) {
  ForEachUniverse(4, 500, [](const KeyOrder& order, const auto& universe, const auto& borders, Random* random) {
    const NaiveDeletes deletes = RandomDeletes(random, order, borders, 1 + random->Uniform(9));
    NaiveDeletes kept;
    std::vector<bool> keeps(deletes.size() + 1);
    for (const NaiveDelete& d : deletes) {
      keeps[d.sequence] = random->OneIn(2);
      if (keeps[d.sequence]) kept.push_back(d);
    }
    const RangeTombstonesRef all = MergeAll(order, ListsOf(order, deletes), {});
    const RangeTombstonesRef left =
        RangeTombstones::Filter(order, *all, [&](const RangeTombstones::Fragment& fragment, SequenceNumber s) {
          EXPECT_NE(std::find(fragment.sequences.begin(), fragment.sequences.end(), s), fragment.sequences.end());
          return keeps[s.value()];
        });
    ASSERT_EQ(left == nullptr, kept.empty());
    if (left == nullptr) return;
    ASSERT_NO_FATAL_FAILURE(ExpectWellFormed(order, *left));
    ExpectCovers(order, *left, kept, universe, AllReaders(deletes.size()));
    ASSERT_EQ(TextOf(*left), TextOf(*MergeAll(order, ListsOf(order, kept), {})));
  });
}

TEST(RangeTombstonesTest, AFilterMayDropADeleteFromSomeFragmentsOnly) {
  const KeyOrder order;
  const RangeTombstonesRef all = MergeAll(order, ListsOf(order, {{"a", "z", 2}, {"c", "e", 5}}), {});
  ASSERT_EQ(TextOf(*all), "[a,c):2 [c,e):5:2 [e,z):2");
  const auto filtered = [&](auto keep) { return TextOf(*RangeTombstones::Filter(order, *all, keep)); };
  EXPECT_EQ(filtered([](const auto& f, SequenceNumber s) { return f.begin == "c" || s.value() == 5; }), "[c,e):5:2");
  EXPECT_EQ(filtered([](const auto& f, SequenceNumber) { return f.begin != "c"; }), "[a,c):2 [e,z):2");
}

std::vector<RangeTombstone> DeletesOf(const RangeTombstones& list) {
  std::vector<RangeTombstone> deletes;
  for (size_t i = 0; i < list.size(); ++i) {
    const RangeTombstones::Fragment f = list[i];
    for (const SequenceNumber s : f.sequences) deletes.push_back({f.begin, f.end, s});
  }
  return deletes;
}

TEST(RangeTombstonesTest, TheDeletesOfAListMakeTheSameListAgain) {
  ForEachUniverse(5, 500, [](const KeyOrder& order, const auto&, const auto& borders, Random* random) {
    const NaiveDeletes deletes = RandomDeletes(random, order, borders, 1 + random->Uniform(9));
    const RangeTombstonesRef list = MergeAll(order, ListsOf(order, deletes), {});
    const std::vector<RangeTombstone> fragments = DeletesOf(*list);
    const RangeTombstonesRef again = RangeTombstones::OfFragments(order, fragments, {}, list);
    ASSERT_NE(again, nullptr);
    ASSERT_EQ(TextOf(*again), TextOf(*list));
    // Two that change places, or one that is there twice, are no list's.
    if (fragments.size() > 1) {
      std::vector<RangeTombstone> swapped = fragments;
      const size_t at = random->Uniform(fragments.size() - 1);
      std::swap(swapped[at], swapped[at + 1]);
      ASSERT_EQ(RangeTombstones::OfFragments(order, swapped, {}, list), nullptr)
          << TextOf(*list) << " swapped at " << at;
    }
    std::vector<RangeTombstone> doubled = fragments;
    const size_t at = random->Uniform(fragments.size());
    doubled.insert(doubled.begin() + static_cast<ptrdiff_t>(at), fragments[at]);
    ASSERT_EQ(RangeTombstones::OfFragments(order, doubled, {}, list), nullptr) << TextOf(*list) << " doubled at " << at;
  });
}

TEST(RangeTombstonesTest, FragmentsThatOverlapOrFallAreNoList) {
  const auto is_list = [](const std::vector<RangeTombstone>& deletes) {
    return RangeTombstones::OfFragments(KeyOrder(), deletes, {}, nullptr) != nullptr;
  };
  const SequenceNumber three(3);
  const SequenceNumber five(5);
  EXPECT_FALSE(is_list({}));
  EXPECT_TRUE(is_list({{"a", "c", five}, {"a", "c", three}, {"c", std::nullopt, three}}));
  EXPECT_FALSE(is_list({{"a", "c", three}, {"a", "c", five}})) << "the numbers of a fragment fall";
  EXPECT_FALSE(is_list({{"a", "c", five}, {"a", "d", three}})) << "a fragment has one end";
  EXPECT_FALSE(is_list({{"a", "c", five}, {"a", std::nullopt, three}}));
  EXPECT_FALSE(is_list({{"a", "c", five}, {"b", "d", three}}));
  EXPECT_FALSE(is_list({{"a", std::nullopt, five}, {"b", "d", three}}));
  EXPECT_FALSE(is_list({{"c", "d", five}, {"a", "b", three}}));
}

TEST(RangeTombstonesTest, DeletesAboveTheLastStripeAreAllKept) {
  const KeyOrder order;
  const NaiveDeletes deletes = {{"a", "z", 1}, {"a", "z", 2}, {"a", "z", 3}, {"a", "z", 4}};
  EXPECT_EQ(TextOf(*MergeAll(order, ListsOf(order, deletes), Numbers({2}))), "[a,z):4:3:2");
}

TEST(RangeTombstonesTest, ASearchFindsEachOfManyFragments) {
  const KeyOrder order;
  const auto key = [](uint64_t i) { return "shared" + std::to_string(1'000'000 + i * 3); };
  for (const uint64_t count : {63, 64, 65, 128, 1000, 5000}) {
    std::vector<std::string> bytes;
    for (uint64_t i = 0; i < count; ++i) bytes.insert(bytes.end(), {key(i), key(i) + "5"});
    std::vector<RangeTombstone> all;
    for (uint64_t i = 0; i < count; ++i) all.push_back({bytes[2 * i], bytes[2 * i + 1], SequenceNumber(i + 1)});
    const RangeTombstonesRef list = RangeTombstones::OfFragments(order, all, {}, nullptr);
    ASSERT_NE(list, nullptr);
    const auto covering = [&](std::string_view k) { return list->Covering(order, k, kMaxSequenceNumber).value(); };
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_EQ(covering(key(i)), i + 1);
      ASSERT_EQ(covering(key(i) + "4"), i + 1);
      ASSERT_EQ(covering(key(i) + "5"), 0u);
      ASSERT_EQ(list->FindAtOrAfter(order, key(i) + "6"), i + 1);
    }
    ASSERT_EQ(covering("shared"), 0u);
    ASSERT_EQ(covering("t"), 0u);
  }
}

TEST(RangeTombstoneCursorTest, AscendingKeysAreToldWhatASearchFinds) {
  ForEachUniverse(8, 600, [](const KeyOrder& order, const auto& universe, const auto& borders, Random* random) {
    const NaiveDeletes deletes = RandomDeletes(random, order, borders, 1 + random->Uniform(9));
    const RangeTombstonesRef list = MergeAll(order, ListsOf(order, deletes), {});
    std::vector<std::string> keys = universe;
    std::sort(keys.begin(), keys.end(), [&](const std::string& a, const std::string& b) { return order.Less(a, b); });
    RangeTombstoneCursor cursor(order, list.get());
    for (const std::string& key : keys) {
      if (random->OneIn(3)) continue;
      for (uint64_t times = 1 + random->Uniform(2); times > 0; --times) {
        ASSERT_EQ(Values(cursor.Covering(key)), NaiveNumbers(order, deletes, key)) << "'" << key << "'";
      }
    }
    RangeTombstoneCursor over_nothing(order, nullptr);
    ASSERT_TRUE(over_nothing.Covering(keys.front()).empty());
  });
}

TEST(RangeTombstonesTest, FindAtOrAfterNamesTheFirstFragmentThatDoesNotEndBefore) {
  ForEachUniverse(9, 600, [](const KeyOrder& order, const auto& universe, const auto& borders, Random* random) {
    const NaiveDeletes deletes = RandomDeletes(random, order, borders, 1 + random->Uniform(9));
    const RangeTombstonesRef list = MergeAll(order, ListsOf(order, deletes), {});
    for (const std::string& key : universe) {
      size_t expected = 0;
      while (expected < list->size() && (*list)[expected].end.has_value() && !order.Less(key, *(*list)[expected].end)) {
        ++expected;
      }
      ASSERT_EQ(list->FindAtOrAfter(order, key), expected) << "'" << key << "' in " << TextOf(*list);
    }
  });
}

TEST(RangeTombstonesTest, StripesAreEndedByTheirNumbers) {
  const std::vector<SequenceNumber> stripes = Numbers({3, 7});
  EXPECT_EQ(StripeOf(stripes, SequenceNumber(0)), 0u);
  EXPECT_EQ(StripeOf(stripes, SequenceNumber(3)), 0u);
  EXPECT_EQ(StripeOf(stripes, SequenceNumber(4)), 1u);
  EXPECT_EQ(StripeOf(stripes, SequenceNumber(7)), 1u);
  EXPECT_EQ(StripeOf(stripes, SequenceNumber(8)), 2u);
  EXPECT_EQ(NewestThrough(Numbers({9, 5, 2}), SequenceNumber(5)), SequenceNumber(5));
  EXPECT_EQ(NewestThrough(Numbers({9, 5, 2}), SequenceNumber(1)), SequenceNumber(0));
  EXPECT_EQ(NewestThrough({}, SequenceNumber(1)), SequenceNumber(0));
}

}  // namespace
}  // namespace sepal

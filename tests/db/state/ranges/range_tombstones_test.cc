// Lists of range tombstones against a plain vector of deletes.
#include "db/state/ranges/range_tombstones.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "util/base/random.h"

namespace sepal {
namespace {

class FallingKeys final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return "test.falling"; }
};

KeyOrder FallingOrder() {
  static const FallingKeys comparator;
  return KeyOrder(&comparator);
}

struct NaiveDelete {
  std::string begin;
  std::optional<std::string> end;
  uint64_t sequence;
};
using NaiveDeletes = std::vector<NaiveDelete>;

bool IsIn(const KeyOrder& order, std::string_view key, const NaiveDelete& d) {
  return !order.Less(key, d.begin) && (!d.end.has_value() || order.Less(key, *d.end));
}

// The numbers of all deletes that cover the key, the newest first.
std::vector<uint64_t> NaiveNumbers(const KeyOrder& order, const NaiveDeletes& deletes, std::string_view key) {
  std::vector<uint64_t> numbers;
  for (const NaiveDelete& d : deletes) {
    if (IsIn(order, key, d)) numbers.push_back(d.sequence);
  }
  std::sort(numbers.rbegin(), numbers.rend());
  return numbers;
}

uint64_t NaiveCovering(const KeyOrder& order, const NaiveDeletes& deletes, std::string_view key, uint64_t visible) {
  for (const uint64_t number : NaiveNumbers(order, deletes, key)) {
    if (number <= visible) return number;
  }
  return 0;
}

// Keys with all the borders that a search by prefixes has.
std::vector<std::string> Universe(const std::string& shared, size_t kind) {
  std::vector<std::string> keys = {"", std::string(1, '\0'), "\xff"};
  for (const char* tail : {"", "a", "b", "ba", "c"}) keys.push_back(shared + tail);
  if (kind % 2 == 1) {
    // The same in the 8 bytes behind what they share.
    for (const char* tail : {"12345678", "12345678a", "12345678b", "12345679"}) keys.push_back(shared + tail);
    keys.push_back(shared + std::string(8, '\0'));
    keys.push_back(shared + std::string(9, '\0'));
  }
  std::sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

// Deletes with the numbers 1, 2, ..., whose borders are keys of the universe.
NaiveDeletes RandomDeletes(Random* random, const KeyOrder& order, const std::vector<std::string>& universe,
                           uint64_t count) {
  NaiveDeletes deletes;
  while (deletes.size() < count) {
    NaiveDelete d{.begin = universe[random->Uniform(universe.size())], .end = std::nullopt, .sequence = 0};
    if (!random->OneIn(6)) d.end = universe[random->Uniform(universe.size())];
    if (d.end.has_value() && !order.Less(d.begin, *d.end)) continue;
    d.sequence = deletes.size() + 1;
    deletes.push_back(std::move(d));
  }
  return deletes;
}

RangeTombstonesRef ListOf(const KeyOrder& order, const NaiveDelete& d) {
  // The list alone keeps the bytes.
  const auto owner = std::make_shared<const NaiveDelete>(d);
  RangeTombstone tombstone{.begin = owner->begin, .end = std::nullopt, .sequence = SequenceNumber(d.sequence)};
  if (owner->end.has_value()) tombstone.end = *owner->end;
  return RangeTombstones::Of(order, tombstone, owner);
}

std::vector<RangeTombstonesRef> ListsOf(const KeyOrder& order, const NaiveDeletes& deletes) {
  std::vector<RangeTombstonesRef> lists;
  for (const NaiveDelete& d : deletes) lists.push_back(ListOf(order, d));
  return lists;
}

std::vector<SequenceNumber> Numbers(const std::vector<uint64_t>& numbers) {
  std::vector<SequenceNumber> all;
  for (const uint64_t n : numbers) all.push_back(SequenceNumber(n));
  return all;
}

std::vector<uint64_t> Values(std::span<const SequenceNumber> numbers) {
  std::vector<uint64_t> all;
  for (const SequenceNumber n : numbers) all.push_back(n.value());
  return all;
}

std::string TextOf(const RangeTombstones& list) {
  std::string text;
  for (size_t i = 0; i < list.size(); ++i) {
    const RangeTombstones::Fragment f = list[i];
    text += (i > 0 ? " [" : "[") + std::string(f.begin) + "," + std::string(f.end.value_or("+")) + ")";
    for (const SequenceNumber s : f.sequences) text += ":" + std::to_string(s.value());
  }
  return text;
}

std::string TextOf(const NaiveDeletes& deletes) {
  std::string text;
  for (const NaiveDelete& d : deletes) {
    text += "[" + d.begin + "," + d.end.value_or("+") + ")@" + std::to_string(d.sequence) + " ";
  }
  return text;
}

void ExpectWellFormed(const KeyOrder& order, const RangeTombstones& list) {
  ASSERT_GT(list.size(), 0u);
  size_t deletes = 0;
  SequenceNumber lowest = kMaxSequenceNumber;
  SequenceNumber highest;
  for (size_t i = 0; i < list.size(); ++i) {
    const RangeTombstones::Fragment f = list[i];
    ASSERT_FALSE(f.sequences.empty());
    ASSERT_TRUE(std::is_sorted(f.sequences.rbegin(), f.sequences.rend()));
    ASSERT_EQ(std::adjacent_find(f.sequences.begin(), f.sequences.end()), f.sequences.end());
    deletes += f.sequences.size();
    lowest = std::min(lowest, f.sequences.back());
    highest = std::max(highest, f.sequences.front());
    if (!f.end.has_value()) {
      ASSERT_EQ(i + 1, list.size()) << "only the last fragment may have no end";
      continue;
    }
    ASSERT_TRUE(order.Less(f.begin, *f.end));
    if (i + 1 == list.size()) continue;
    const RangeTombstones::Fragment next = list[i + 1];
    ASSERT_FALSE(order.Less(next.begin, *f.end)) << "fragments overlap: " << TextOf(list);
    if (order.Equal(*f.end, next.begin)) {
      ASSERT_NE(Values(f.sequences), Values(next.sequences)) << "neighbours are not joined: " << TextOf(list);
    }
  }
  EXPECT_EQ(list.deletes(), deletes);
  EXPECT_EQ(list.lowest_sequence(), lowest);
  EXPECT_EQ(list.highest_sequence(), highest);
}

// What readers at `readers` are told about every key of the universe.
template <class List>
void ExpectCovers(const KeyOrder& order, const List& list, const NaiveDeletes& deletes,
                  const std::vector<std::string>& keys, const std::vector<uint64_t>& readers) {
  for (const std::string& key : keys) {
    for (const uint64_t visible : readers) {
      ASSERT_EQ(list.Covering(order, key, SequenceNumber(visible)).value(), NaiveCovering(order, deletes, key, visible))
          << "'" << key << "' at " << visible << "; " << TextOf(deletes);
    }
  }
}

std::vector<uint64_t> AllReaders(uint64_t last) {
  std::vector<uint64_t> readers;
  for (uint64_t s = 0; s <= last + 1; ++s) readers.push_back(s);
  return readers;
}

// The readers that stand at a stripe's number, or above the last.
std::vector<uint64_t> ReadersOf(const std::vector<uint64_t>& stripes, uint64_t last) {
  std::vector<uint64_t> readers = stripes;
  for (uint64_t s = stripes.back(); s <= last + 1; ++s) readers.push_back(s);
  return readers;
}

std::vector<uint64_t> RandomStripes(Random* random, uint64_t last) {
  std::vector<uint64_t> stripes;
  for (uint64_t s = 1; s < last; ++s) {
    if (random->OneIn(4)) stripes.push_back(s);
  }
  if (stripes.empty() || random->OneIn(2)) stripes.push_back(last);
  return stripes;
}

// Calls `check(order, universe, random)` for both orders and keys of several kinds.
template <class Check>
void ForEachUniverse(uint64_t seed, int rounds, Check check) {
  Random random(seed);
  for (int round = 0; round < rounds; ++round) {
    const KeyOrder order = round % 3 == 2 ? FallingOrder() : KeyOrder();
    const std::string shared = round % 2 == 0 ? "" : std::string(1 + random.Uniform(12), 'p');
    const std::vector<std::string> universe = Universe(shared, static_cast<size_t>(round));
    // The deletes' own keys often all begin with what is shared, and keys that do not are asked for as well.
    std::vector<std::string> borders = universe;
    if (!random.OneIn(3)) std::erase_if(borders, [&](const std::string& k) { return !k.starts_with(shared); });
    check(order, universe, borders, &random);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

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
    const RangeTombstonesRef again = RangeTombstones::OfFragments(order, fragments, list);
    ASSERT_NE(again, nullptr);
    ASSERT_EQ(TextOf(*again), TextOf(*list));
    // Two that change places, or one that is there twice, are no list's.
    if (fragments.size() > 1) {
      std::vector<RangeTombstone> swapped = fragments;
      const size_t at = random->Uniform(fragments.size() - 1);
      std::swap(swapped[at], swapped[at + 1]);
      ASSERT_EQ(RangeTombstones::OfFragments(order, swapped, list), nullptr) << TextOf(*list) << " swapped at " << at;
    }
    std::vector<RangeTombstone> doubled = fragments;
    const size_t at = random->Uniform(fragments.size());
    doubled.insert(doubled.begin() + static_cast<ptrdiff_t>(at), fragments[at]);
    ASSERT_EQ(RangeTombstones::OfFragments(order, doubled, list), nullptr) << TextOf(*list) << " doubled at " << at;
  });
}

TEST(RangeTombstonesTest, FragmentsThatOverlapOrFallAreNoList) {
  const auto is_list = [](const std::vector<RangeTombstone>& deletes) {
    return RangeTombstones::OfFragments(KeyOrder(), deletes, nullptr) != nullptr;
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

std::vector<SequenceNumber> OneStripe(uint64_t end) { return {SequenceNumber(end)}; }

TEST(RangeTombstoneSetTest, NewListsAreMergedSoThatThereAreFewAndTheAnswersStay) {
  ForEachUniverse(6, 150, [](const KeyOrder& order, const auto& universe, const auto& borders, Random* random) {
    const NaiveDeletes deletes = RandomDeletes(random, order, borders, 1 + random->Uniform(20));
    std::vector<uint64_t> readers = AllReaders(deletes.size());
    std::vector<SequenceNumber> stripes;
    if (random->OneIn(2)) {
      const std::vector<uint64_t> values = RandomStripes(random, deletes.size());
      stripes = Numbers(values);
      readers = ReadersOf(values, deletes.size());
    }
    auto set = std::make_shared<const RangeTombstoneSet>(std::vector<RangeTombstonesRef>{});
    NaiveDeletes so_far;
    for (const NaiveDelete& d : deletes) {
      set = set->With(order, ListOf(order, d), stripes);
      so_far.push_back(d);
      ASSERT_NO_FATAL_FAILURE(ExpectCovers(order, *set, so_far, universe, readers));
    }
    ExpectCovers(order, *set->Merged(order, stripes), deletes, universe, readers);
  });
}

TEST(RangeTombstoneSetTest, SeparateRangesMakeLogarithmicallyManyLists) {
  const KeyOrder order;
  auto set = std::make_shared<const RangeTombstoneSet>(std::vector<RangeTombstonesRef>{});
  EXPECT_TRUE(set->empty());
  EXPECT_EQ(set->Merged(order, {}), nullptr);
  Random random(7);
  for (uint64_t i = 1; i <= 2000; ++i) {
    const std::string key = std::to_string(random.Next());
    set = set->With(order, ListOf(order, {key, key + "x", i}), {});
    size_t bits = 0;
    for (uint64_t n = i; n > 0; n /= 2) ++bits;
    ASSERT_LE(set->lists().size(), bits) << "after " << i;
  }
  const RangeTombstonesRef merged = set->Merged(order, {});
  EXPECT_EQ(merged->size(), 2000u);
  EXPECT_EQ(merged->deletes(), 2000u);
}

std::string NumberKey(uint64_t i) { return std::to_string(10000 + i); }

TEST(RangeTombstoneSetTest, GrowingRangesThatNoSnapshotDividesStayOneFragment) {
  const KeyOrder order;
  constexpr uint64_t kDeletes = 1000;
  auto set = std::make_shared<const RangeTombstoneSet>(std::vector<RangeTombstonesRef>{});
  for (uint64_t i = 1; i <= kDeletes; ++i) {
    set = set->With(order, ListOf(order, {NumberKey(0), NumberKey(i), i}), OneStripe(i));
    size_t deletes = 0;
    for (const RangeTombstonesRef& list : set->lists()) deletes += list->deletes();
    ASSERT_LE(deletes, 2u) << TextOf(*set->Merged(order, {}));
  }
  EXPECT_EQ(TextOf(*set->Merged(order, OneStripe(kDeletes))), "[10000,11000):1000");
}

TEST(RangeTombstoneSetTest, ASnapshotDividesGrowingRangesIntoOneForEachStripe) {
  const KeyOrder order;
  auto set = std::make_shared<const RangeTombstoneSet>(std::vector<RangeTombstonesRef>{});
  for (uint64_t i = 1; i <= 1000; ++i) {
    std::vector<SequenceNumber> stripes = OneStripe(i);
    if (i > 500) stripes.insert(stripes.begin(), SequenceNumber(500));
    set = set->With(order, ListOf(order, {NumberKey(0), NumberKey(i), i}), stripes);
  }
  EXPECT_EQ(TextOf(*set->Merged(order, Numbers({500, 1000}))), "[10000,10500):1000:500 [10500,11000):1000");
}

TEST(RangeTombstoneSetTest, DeletesAboveTheLastStripeAreAllKept) {
  const KeyOrder order;
  const NaiveDeletes deletes = {{"a", "z", 1}, {"a", "z", 2}, {"a", "z", 3}, {"a", "z", 4}};
  EXPECT_EQ(TextOf(*MergeAll(order, ListsOf(order, deletes), OneStripe(2))), "[a,z):4:3:2");
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

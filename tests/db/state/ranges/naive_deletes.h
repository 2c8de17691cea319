// Deletes of ranges as a plain vector, which lists and maps of them are compared with.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/state/ranges/range_tombstones.h"
#include "sepal/comparator.h"
#include "util/base/random.h"

namespace sepal {

class FallingKeys final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return "test.falling"; }
};

inline KeyOrder FallingOrder() {
  static const FallingKeys comparator;
  return KeyOrder(&comparator);
}

struct NaiveDelete {
  std::string begin;
  std::optional<std::string> end;
  uint64_t sequence;
};
using NaiveDeletes = std::vector<NaiveDelete>;

inline bool IsIn(const KeyOrder& order, std::string_view key, const NaiveDelete& d) {
  return !order.Less(key, d.begin) && (!d.end.has_value() || order.Less(key, *d.end));
}

// The numbers of all deletes that cover the key, the newest first.
inline std::vector<uint64_t> NaiveNumbers(const KeyOrder& order, const NaiveDeletes& deletes, std::string_view key) {
  std::vector<uint64_t> numbers;
  for (const NaiveDelete& d : deletes) {
    if (IsIn(order, key, d)) numbers.push_back(d.sequence);
  }
  std::sort(numbers.rbegin(), numbers.rend());
  return numbers;
}

inline uint64_t NaiveCovering(const KeyOrder& order, const NaiveDeletes& deletes, std::string_view key,
                              uint64_t visible) {
  for (const uint64_t number : NaiveNumbers(order, deletes, key)) {
    if (number <= visible) return number;
  }
  return 0;
}

// Keys with all the borders that a search by prefixes has.
inline std::vector<std::string> Universe(const std::string& shared, size_t kind) {
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
inline NaiveDeletes RandomDeletes(Random* random, const KeyOrder& order, const std::vector<std::string>& universe,
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

inline RangeTombstonesRef ListOf(const KeyOrder& order, const NaiveDelete& d) {
  // The list alone keeps the bytes.
  const auto owner = std::make_shared<const NaiveDelete>(d);
  RangeTombstone tombstone{.begin = owner->begin, .end = std::nullopt, .sequence = SequenceNumber(d.sequence)};
  if (owner->end.has_value()) tombstone.end = *owner->end;
  return RangeTombstones::Of(order, tombstone, owner);
}

inline std::vector<RangeTombstonesRef> ListsOf(const KeyOrder& order, const NaiveDeletes& deletes) {
  std::vector<RangeTombstonesRef> lists;
  for (const NaiveDelete& d : deletes) lists.push_back(ListOf(order, d));
  return lists;
}

inline std::vector<SequenceNumber> Numbers(const std::vector<uint64_t>& numbers) {
  std::vector<SequenceNumber> all;
  for (const uint64_t n : numbers) all.push_back(SequenceNumber(n));
  return all;
}

inline std::vector<uint64_t> Values(std::span<const SequenceNumber> numbers) {
  std::vector<uint64_t> all;
  for (const SequenceNumber n : numbers) all.push_back(n.value());
  return all;
}

inline std::string TextOf(const RangeTombstones& list) {
  std::string text;
  for (size_t i = 0; i < list.size(); ++i) {
    const RangeTombstones::Fragment f = list[i];
    text += (i > 0 ? " [" : "[") + std::string(f.begin) + "," + std::string(f.end.value_or("+")) + ")";
    for (const SequenceNumber s : f.sequences) text += ":" + std::to_string(s.value());
  }
  return text;
}

inline std::string TextOf(const NaiveDeletes& deletes) {
  std::string text;
  for (const NaiveDelete& d : deletes) {
    text += "[" + d.begin + "," + d.end.value_or("+") + ")@" + std::to_string(d.sequence) + " ";
  }
  return text;
}

inline void ExpectWellFormed(const KeyOrder& order, const RangeTombstones& list) {
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

// The results of readers at `readers` for every key of the universe.
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

inline std::vector<uint64_t> AllReaders(uint64_t last) {
  std::vector<uint64_t> readers;
  for (uint64_t s = 0; s <= last + 1; ++s) readers.push_back(s);
  return readers;
}

// The readers that stand at a stripe's number, or above the last.
inline std::vector<uint64_t> ReadersOf(const std::vector<uint64_t>& stripes, uint64_t last) {
  std::vector<uint64_t> readers = stripes;
  for (uint64_t s = stripes.back(); s <= last + 1; ++s) readers.push_back(s);
  return readers;
}

inline std::vector<uint64_t> RandomStripes(Random* random, uint64_t last) {
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
    // The deletes' own keys often share a prefix, and keys without it are looked up as well.
    std::vector<std::string> borders = universe;
    if (!random.OneIn(3)) std::erase_if(borders, [&](const std::string& k) { return !k.starts_with(shared); });
    check(order, universe, borders, &random);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

}  // namespace sepal

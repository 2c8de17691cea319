// A memtable's map of range tombstones against a plain vector of deletes.
#include "db/state/ranges/range_tombstone_map.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "tests/db/state/ranges/naive_deletes.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

Stripes NoStripes() { return {}; }

RangeTombstone TombstoneIn(const NaiveDelete& d) {
  RangeTombstone tombstone{.begin = d.begin, .end = std::nullopt, .sequence = SequenceNumber(d.sequence)};
  if (d.end.has_value()) tombstone.end = *d.end;
  return tombstone;
}

void ExpectMapCovers(const RangeTombstoneMap& map, const KeyOrder& order, const NaiveDeletes& deletes,
                     const std::vector<std::string>& keys, const std::vector<uint64_t>& readers) {
  for (const std::string& key : keys) {
    for (const uint64_t visible : readers) {
      const uint64_t wanted = NaiveCovering(order, deletes, key, visible);
      ASSERT_EQ(map.Covering(key, SequenceNumber(visible)).value(), wanted)
          << "'" << key << "' at " << visible << "; " << TextOf(deletes);
      const RangeStretch stretch = map.StretchAt(key, SequenceNumber(visible));
      ASSERT_EQ(stretch.newest.value(), wanted);
      for (const std::string& other : keys) {
        const bool is_in = (!stretch.begin.has_value() || !order.Less(other, *stretch.begin)) &&
                           (!stretch.end.has_value() || order.Less(other, *stretch.end));
        ASSERT_TRUE(is_in || other != key);
        if (is_in) {
          ASSERT_EQ(NaiveCovering(order, deletes, other, visible), wanted) << other << " beside " << key;
        }
      }
    }
  }
}

TEST(RangeTombstoneMapTest, EveryReaderIsToldTheNewestDeleteThatItSeesAfterEachOne) {
  ForEachUniverse(11, 200, [](const KeyOrder& order, const auto& universe, const auto& borders, Random* random) {
    const NaiveDeletes deletes = RandomDeletes(random, order, borders, 1 + random->Uniform(20));
    std::vector<uint64_t> readers = AllReaders(deletes.size());
    std::vector<SequenceNumber> stripes;
    if (random->OneIn(2)) {
      const std::vector<uint64_t> values = RandomStripes(random, deletes.size());
      stripes = Numbers(values);
      readers = ReadersOf(values, deletes.size());
    }
    Arena arena;
    RangeTombstoneMap map(order, &arena);
    EXPECT_EQ(map.ToList(stripes), nullptr);
    NaiveDeletes so_far;
    for (const NaiveDelete& d : deletes) {
      map.Add(TombstoneIn(d), [&] { return Stripes(stripes); });
      so_far.push_back(d);
      ASSERT_EQ(map.newest().value(), d.sequence);
      ASSERT_NO_FATAL_FAILURE(ExpectMapCovers(map, order, so_far, universe, readers));
    }
    const RangeTombstonesRef list = map.ToList(stripes);
    ASSERT_NO_FATAL_FAILURE(ExpectWellFormed(order, *list));
    ASSERT_NO_FATAL_FAILURE(ExpectCovers(order, *list, deletes, universe, readers));
    ASSERT_EQ(TextOf(*list), TextOf(*MergeAll(order, ListsOf(order, deletes), stripes))) << TextOf(deletes);
  });
}

TEST(RangeTombstoneMapTest, NoDeleteIsOverlookedInARangeOfKeys) {
  ForEachUniverse(12, 200, [](const KeyOrder& order, const auto& universe, const auto& borders, Random* random) {
    const NaiveDeletes deletes = RandomDeletes(random, order, borders, 1 + random->Uniform(9));
    Arena arena;
    RangeTombstoneMap map(order, &arena);
    for (const NaiveDelete& d : deletes) map.Add(TombstoneIn(d), NoStripes);
    for (const std::string& smallest : universe) {
      for (const std::string& largest : universe) {
        if (order.Less(largest, smallest)) continue;
        const uint64_t lowest = random->Uniform(deletes.size() + 1);
        for (const NaiveDelete& d : deletes) {
          const bool meets = !order.Less(largest, d.begin) && (!d.end.has_value() || order.Less(smallest, *d.end));
          if (d.sequence > lowest && meets) {
            ASSERT_TRUE(map.MayCoverAny(smallest, largest, SequenceNumber(lowest)));
          }
        }
        ASSERT_FALSE(map.MayCoverAny(smallest, largest, SequenceNumber(deletes.size())));
      }
    }
  });
}

std::string KeyOfNumber(uint64_t i) { return "number" + std::to_string(1'000'000 + i); }

// Thousands of borders: chunks are split and replaced, blocks too. The state that is compared is one number a key.
class ManyDeletes {
 public:
  explicit ManyDeletes(size_t keys) : newest_(keys, 0), map_(order_, &arena_) {}

  void Add(uint64_t begin, uint64_t end, Stripes stripes) {
    const std::string first = KeyOfNumber(begin);
    const std::string last = KeyOfNumber(end);
    map_.Add({first, last, SequenceNumber(++sequence_)}, [&] { return stripes; });
    std::fill(newest_.begin() + static_cast<ptrdiff_t>(begin), newest_.begin() + static_cast<ptrdiff_t>(end),
              sequence_);
  }
  void Check() const {
    for (size_t i = 0; i < newest_.size(); ++i) {
      ASSERT_EQ(map_.Covering(KeyOfNumber(i), kMaxSequenceNumber).value(), newest_[i]) << i;
    }
  }
  uint64_t sequence() const { return sequence_; }
  const RangeTombstoneMap& map() const { return map_; }

 private:
  const KeyOrder order_;
  std::vector<uint64_t> newest_;
  uint64_t sequence_ = 0;
  Arena arena_;
  RangeTombstoneMap map_;
};

TEST(RangeTombstoneMapTest, ThousandsOfNarrowDeletesAndSomeWideOnesAreAllFound) {
  Random random(13);
  constexpr size_t kKeys = 60'000;
  ManyDeletes deletes(kKeys + 1);
  for (int i = 0; i < 40'000; ++i) {
    const uint64_t width = random.OneIn(2000) ? 1 + random.Uniform(20'000) : 1 + random.Uniform(2);
    const uint64_t begin = random.Uniform(kKeys - 1);
    const SequenceNumber settled(random.OneIn(2) ? deletes.sequence() : deletes.sequence() / 2);
    deletes.Add(begin, std::min<uint64_t>(begin + width, kKeys), {&settled, 1});
    if (i % 10'000 == 9999) {
      ASSERT_NO_FATAL_FAILURE(deletes.Check());
    }
  }
}

TEST(RangeTombstoneMapTest, DeletesInKeyOrderAndAgainstItAreAllFound) {
  constexpr size_t kKeys = 40'000;
  for (const bool rising : {true, false}) {
    ManyDeletes deletes(kKeys + 1);
    for (uint64_t i = 0; i < kKeys; i += 2) {
      const uint64_t begin = rising ? i : kKeys - 2 - i;
      deletes.Add(begin, begin + 1, {});
    }
    ASSERT_NO_FATAL_FAILURE(deletes.Check());
  }
}

TEST(RangeTombstoneMapTest, GrowingRangesThatNoReaderDividesStayOneFragment) {
  const KeyOrder order;
  for (const bool to_the_right : {true, false}) {
    Arena arena;
    RangeTombstoneMap map(order, &arena);
    constexpr uint64_t kDeletes = 20'000;
    for (uint64_t i = 1; i <= kDeletes; ++i) {
      const SequenceNumber settled(i - 1);
      const std::string begin = KeyOfNumber(to_the_right ? 0 : kDeletes - i);
      const std::string end = KeyOfNumber(to_the_right ? i : kDeletes);
      map.Add({begin, end, SequenceNumber(i)}, [&] { return Stripes(&settled, 1); });
    }
    const SequenceNumber last(kDeletes);
    EXPECT_EQ(TextOf(*map.ToList({&last, 1})), "[number1000000,number1020000):20000");
    EXPECT_LT(arena.memory_bytes(), size_t{8} << 20) << "what is covered is let go as it grows";
  }
}

TEST(RangeTombstoneMapTest, ASnapshotDividesGrowingRangesIntoOneForEachStripe) {
  const KeyOrder order;
  Arena arena;
  RangeTombstoneMap map(order, &arena);
  for (uint64_t i = 1; i <= 1000; ++i) {
    std::vector<SequenceNumber> stripes = Numbers({i - 1});
    if (i > 501) stripes.insert(stripes.begin(), SequenceNumber(500));
    map.Add({KeyOfNumber(0), KeyOfNumber(i), SequenceNumber(i)}, [&] { return Stripes(stripes); });
  }
  EXPECT_EQ(TextOf(*map.ToList(Numbers({500, 1000}))),
            "[number1000000,number1000500):1000:500 [number1000500,number1001000):1000");
}

TEST(RangeTombstoneMapTest, ReadersBesideTheWriterAreToldWhatTheySeeAtTheirNumber) {
  constexpr uint64_t kKeys = 3000;
  constexpr uint64_t kDeletes = 20'000;
  // Delete i covers [i * 7 % kKeys, + 1 + i % 5): what covers a key at a number can be computed.
  const auto begin_of = [](uint64_t i) { return i * 7 % kKeys; };
  const auto end_of = [&](uint64_t i) { return begin_of(i) + 1 + i % 5; };
  Arena arena;
  RangeTombstoneMap map(KeyOrder(), &arena);
  std::atomic<uint64_t> visible = 0;
  std::atomic<uint64_t> asked = 0;
  const auto read = [&](uint64_t seed) {
    Random random(seed);
    while (visible.load(std::memory_order_acquire) < kDeletes) {
      const uint64_t at = visible.load(std::memory_order_acquire);
      const uint64_t key = random.Uniform(kKeys);
      uint64_t wanted = at;
      while (wanted > 0 && (key < begin_of(wanted) || key >= end_of(wanted))) --wanted;
      ASSERT_EQ(map.Covering(KeyOfNumber(key), SequenceNumber(at)).value(), wanted) << key << " at " << at;
      ASSERT_EQ(map.StretchAt(KeyOfNumber(key), SequenceNumber(at)).newest.value(), wanted);
      asked.fetch_add(1, std::memory_order_relaxed);
    }
  };
  Thread first([&] { read(1); });
  Thread second([&] { read(2); });
  for (uint64_t i = 1; i <= kDeletes; ++i) {
    map.Add({KeyOfNumber(begin_of(i)), KeyOfNumber(end_of(i)), SequenceNumber(i)}, NoStripes);
    visible.store(i, std::memory_order_release);
  }
  first.Join();
  second.Join();
  EXPECT_GT(asked.load(), 0u);
}

}  // namespace
}  // namespace sepal

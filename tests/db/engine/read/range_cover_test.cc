// Which range tombstones of a view cover a key, and sources without what they cover, against plain vectors.
#include "db/engine/read/range_cover.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "db/engine/read/covered_source.h"
#include "tests/db/version_text.h"
#include "tests/table/iterate/vector_iterator.h"
#include "util/base/random.h"

namespace sepal {
namespace {

struct CoverDelete {
  std::string begin;
  std::optional<std::string> end;
  uint64_t sequence;
};

const std::vector<std::string>& CoverKeys() {
  static const std::vector<std::string> keys = {"", "a", "b", "bm", "c", "d", "dm", "e", "f", "g"};
  return keys;
}

std::shared_ptr<MemTable> EmptyMemTable() {
  return std::make_shared<MemTable>(KeyOrder(), /*hash_seed=*/1, /*expected_bytes=*/4096, MemTable::Memory{});
}

// Random range tombstones in tables, in a memtable that waits and in the active one.
class CoverWorld {
 public:
  explicit CoverWorld(Random* random) {
    const auto immutable = EmptyMemTable();
    const auto active = EmptyMemTable();
    std::vector<RangeTombstonesRef> in_tables;
    last_ = 5 + random->Uniform(20);
    for (uint64_t s = 1; s <= last_; ++s) {
      if (!random->OneIn(3)) continue;
      const CoverDelete& d = deletes_.emplace_back(RandomDelete(random, s));
      const auto bytes = std::make_shared<const CoverDelete>(d);
      RangeTombstone tombstone{.begin = bytes->begin, .end = std::nullopt, .sequence = SequenceNumber(s)};
      if (bytes->end.has_value()) tombstone.end = *bytes->end;
      if (s <= last_ / 3) {
        in_tables.push_back(RangeTombstones::Of(order_, tombstone, bytes));
      } else {
        (s <= last_ / 3 * 2 ? immutable : active)->AddRangeTombstone(tombstone, [] { return Stripes(); });
      }
    }
    VersionEdit edit;
    if (!in_tables.empty()) {
      TableMetadata m = TableOf(1, 1, "", "");
      m.smallest.trailer = PackTrailer(SequenceNumber(1), ValueKind::kRangeDelete);
      m.range_tombstones = MergeAll(order_, std::move(in_tables), {});
      edit.added_tables.push_back({ColumnFamilyId(0), 0, std::move(m)});
    }
    const VersionRef version = *BuildOn(std::make_shared<VersionRef::element_type>(order_), edit);
    view_ = std::make_shared<ReadView>(active, std::vector<std::shared_ptr<const MemTable>>{immutable}, version,
                                       std::make_shared<ViewLife>(1, SequenceNumber()));
  }

  uint64_t last() const { return last_; }
  const ReadView& view() const { return *view_; }
  uint64_t Covering(const std::string& key, uint64_t visible) const {
    uint64_t newest = 0;
    for (const CoverDelete& d : deletes_) {
      if (d.begin <= key && (!d.end.has_value() || key < *d.end) && d.sequence <= visible) newest = d.sequence;
    }
    return newest;
  }
  bool AnyIn(const std::string& smallest, const std::string& largest, uint64_t lowest, uint64_t visible) const {
    return std::any_of(deletes_.begin(), deletes_.end(), [&](const CoverDelete& d) {
      return d.sequence > lowest && d.sequence <= visible && d.begin <= largest &&
             (!d.end.has_value() || smallest < *d.end);
    });
  }

 private:
  static CoverDelete RandomDelete(Random* random, uint64_t sequence) {
    const std::vector<std::string>& keys = CoverKeys();
    const size_t begin = random->Uniform(keys.size());
    const size_t end = begin + 1 + random->Uniform(4);
    return {keys[begin], end < keys.size() ? std::optional(keys[end]) : std::nullopt, sequence};
  }

  const KeyOrder order_;
  uint64_t last_;
  std::vector<CoverDelete> deletes_;  // by rising numbers
  std::shared_ptr<const ReadView> view_;
};

TEST(RangeCoverTest, AReaderIsToldOfTheNewestDeleteOfAllMemtablesAndTables) {
  Random random(31);
  for (int round = 0; round < 500; ++round) {
    const CoverWorld world(&random);
    for (uint64_t visible = 0; visible <= world.last(); ++visible) {
      const RangeCover cover(world.view(), KeyOrder(), SequenceNumber(visible), nullptr);
      uint64_t newest = 0;
      for (const std::string& key : CoverKeys()) {
        const SequenceNumber wanted(world.Covering(key, visible));
        ASSERT_EQ(CoveringIn(world.view(), KeyOrder(), key, SequenceNumber(visible)), wanted);
        ASSERT_EQ(cover.Covering(key), wanted);
        newest = std::max(newest, wanted.value());
      }
      ASSERT_GE(cover.newest().value(), newest);
      ASSERT_LE(cover.newest().value(), visible);
      ASSERT_TRUE(newest == 0 || !cover.empty());
    }
  }
}

TEST(RangeCoverTest, AllKeysOfAStretchAreCoveredAlike) {
  Random random(32);
  for (int round = 0; round < 500; ++round) {
    const CoverWorld world(&random);
    const uint64_t visible = random.Uniform(world.last() + 1);
    const RangeCover cover(world.view(), KeyOrder(), SequenceNumber(visible), nullptr);
    for (const std::string& key : CoverKeys()) {
      const RangeStretch stretch = cover.StretchAt(key);
      const auto is_in = [&](const std::string& k) {
        return (!stretch.begin.has_value() || *stretch.begin <= k) && (!stretch.end.has_value() || k < *stretch.end);
      };
      ASSERT_TRUE(is_in(key));
      for (const std::string& k : CoverKeys()) {
        for (const char* tail : {"", "0", "z"}) {
          if (is_in(k + tail)) {
            ASSERT_EQ(stretch.newest.value(), world.Covering(k + tail, visible)) << k << tail << " beside " << key;
          }
        }
      }
    }
  }
}

TEST(RangeCoverTest, NoDeleteIsOverlooked) {
  Random random(33);
  for (int round = 0; round < 500; ++round) {
    const CoverWorld world(&random);
    const uint64_t visible = random.Uniform(world.last() + 1);
    const RangeCover cover(world.view(), KeyOrder(), SequenceNumber(visible), nullptr);
    for (const std::string& smallest : CoverKeys()) {
      for (const std::string& largest : CoverKeys()) {
        if (largest < smallest) continue;
        const uint64_t lowest = random.Uniform(world.last() + 1);
        if (world.AnyIn(smallest, largest, lowest, visible)) {
          ASSERT_TRUE(cover.MayCoverAny(smallest, largest, SequenceNumber(lowest)));
        }
      }
    }
    ASSERT_FALSE(cover.MayCoverAny("", "z", SequenceNumber(world.last())));
  }
}

// Entries of random keys and numbers that no range tombstone has, in order.
std::vector<TestEntry> RandomSource(Random* random, uint64_t last) {
  std::vector<TestEntry> entries;
  for (const std::string& key : CoverKeys()) {
    for (uint64_t s = last; s > 0; --s) {
      if (random->OneIn(6))
        entries.push_back({key, PackTrailer(SequenceNumber(s), ValueKind::kPut), std::to_string(s)});
    }
  }
  return entries;
}

class CoveredSourceTest : public ::testing::Test {
 protected:
  // Moves on to an entry that the reader sees.
  void Pass(bool forward) {
    while (source->Valid() && source->key().sequence().value() > visible)
      forward ? source->Advance() : source->Retreat();
  }
  void ExpectAt(size_t index) {
    ASSERT_TRUE(source->status().ok());
    ASSERT_EQ(source->Valid(), index < wanted.size());
    if (source->Valid()) {
      ASSERT_EQ((TestEntry{std::string(source->key().user_key), source->key().trailer, std::string(source->value())}),
                wanted[index]);
    }
  }
  // The first entry that is wanted at or after a target.
  size_t Place(InternalKeyView target) const {
    size_t i = 0;
    while (i < wanted.size() && KeyOrder().Less(wanted[i].key(), target)) ++i;
    return i;
  }
  void WalkForward(size_t index) {
    for (; index < wanted.size(); ++index) {
      ASSERT_NO_FATAL_FAILURE(ExpectAt(index));
      source->Advance();
      Pass(/*forward=*/true);
    }
    ExpectAt(index);
  }
  // `index` is one past the last if nothing is left.
  void WalkBackward(size_t index) {
    for (; index < wanted.size(); --index) {
      ASSERT_NO_FATAL_FAILURE(ExpectAt(index));
      source->Retreat();
      Pass(/*forward=*/false);
    }
    ExpectAt(index);
  }
  void TryAllMoves(Random* random) {
    source->SeekToFirst();
    Pass(/*forward=*/true);
    ASSERT_NO_FATAL_FAILURE(WalkForward(0));
    source->SeekToLast();
    Pass(/*forward=*/false);
    ASSERT_NO_FATAL_FAILURE(WalkBackward(wanted.size() - 1));
    for (int i = 0; i < 10; ++i) {
      const std::string key = CoverKeys()[random->Uniform(CoverKeys().size())];
      const InternalKeyView target{key, random->OneIn(2) ? kFirstTrailer : SeekTrailer(SequenceNumber(visible))};
      size_t at = Place(target);
      source->Seek(target);
      Pass(/*forward=*/true);
      ASSERT_NO_FATAL_FAILURE(ExpectAt(at));
      if (random->OneIn(3)) {
        ASSERT_NO_FATAL_FAILURE(WalkForward(at));
        continue;
      }
      if (at < wanted.size()) {
        ASSERT_NO_FATAL_FAILURE(WalkBackward(at));
      }
      source->SeekBefore(target);
      Pass(/*forward=*/false);
      ASSERT_NO_FATAL_FAILURE(ExpectAt(at - 1));
      at -= 1;
      if (at < wanted.size()) {
        ASSERT_NO_FATAL_FAILURE(WalkForward(at));
      }
    }
  }

  std::unique_ptr<InternalIterator> source;
  std::vector<TestEntry> wanted;  // what is neither covered nor newer than the reader
  uint64_t visible = 0;
};

TEST_F(CoveredSourceTest, EveryMoveShowsJustWhatIsNotCovered) {
  Random random(34);
  for (int round = 0; round < 1000; ++round) {
    const CoverWorld world(&random);
    visible = random.Uniform(world.last() + 1);
    const RangeCover cover(world.view(), KeyOrder(), SequenceNumber(visible), nullptr);
    // Of an old source, whole stretches are passed by a seek.
    const std::vector<TestEntry> entries = RandomSource(&random, 1 + random.Uniform(world.last()));
    wanted.clear();
    uint64_t highest = 0;
    for (const TestEntry& e : entries) {
      const uint64_t s = TrailerSequence(e.trailer).value();
      if (s > visible) continue;
      highest = std::max(highest, s);
      if (s >= world.Covering(e.user_key, visible)) wanted.push_back(e);
    }
    if (random.OneIn(3)) highest = world.last();
    source = WithoutCovered(&cover, KeyOrder(), SequenceNumber(highest),
                            std::make_unique<VectorIterator>(KeyOrder(), &entries));
    ASSERT_NO_FATAL_FAILURE(TryAllMoves(&random)) << "round " << round;
    source.reset();
  }
}

TEST_F(CoveredSourceTest, AFailureOfTheSourceIsPassedOn) {
  Random random(35);
  const CoverWorld world(&random);
  const RangeCover cover(world.view(), KeyOrder(), SequenceNumber(0), nullptr);
  const std::vector<TestEntry> entries = RandomSource(&random, 30);
  auto failing = std::make_unique<VectorIterator>(KeyOrder(), &entries);
  failing->FailAt(0, absl::DataLossError("damaged"));
  source = WithoutCovered(&cover, KeyOrder(), SequenceNumber(0), std::move(failing));
  source->SeekToFirst();
  EXPECT_FALSE(source->Valid());
  EXPECT_TRUE(absl::IsDataLoss(source->status()));
  source.reset();
}

}  // namespace
}  // namespace sepal

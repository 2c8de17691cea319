#include "db/state/memtable/memtable.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "tests/db/state/memtable/memtable_fixture.h"
#include "tests/table/iterate/iterator_conformance.h"
#include "util/base/hash.h"
#include "util/base/random.h"
#include "util/memory/memory_budget.h"

namespace sepal {
namespace {

// "value@sequence", or "none".
std::string FoundAs(const MemTable& table, std::string_view key, uint64_t visible = kMaxSequenceNumber.value()) {
  const auto found = Find(table, key, visible);
  if (!found.has_value()) return "none";
  return absl::StrFormat("%s@%u", found->value, TrailerSequence(found->trailer).value());
}

// Adds the entries in the order of their sequence numbers, as a writer would.
class MemTableSource {
 public:
  static constexpr bool kHistory = true;
  void Build(KeyOrder order, const std::vector<TestEntry>& entries) {
    table_ = std::make_unique<MemTable>(order, kMemTableSeed, 64 << 10, MemTable::Memory{});
    std::vector<TestEntry> history = entries;
    std::sort(history.begin(), history.end(),
              [](const TestEntry& a, const TestEntry& b) { return a.trailer < b.trailer; });
    for (const TestEntry& entry : history) {
      Add(table_.get(), entry.key().sequence().value(), entry.user_key, entry.value, entry.key().kind());
    }
    EXPECT_TRUE(table_->Check().ok()) << table_->Check();
  }
  std::unique_ptr<InternalIterator> NewIterator() { return table_->NewIterator(); }

 private:
  std::unique_ptr<MemTable> table_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(MemTable, IteratorConformance, MemTableSource);

// Collects all of them, or the later half of them to entries that are in order already.
template <bool kAllAtOnce>
class CollectedMemTableSource {
 public:
  static constexpr bool kHistory = true;
  void Build(KeyOrder order, const std::vector<TestEntry>& entries) {
    table_ = std::make_unique<MemTable>(order, kMemTableSeed, 64 << 10, MemTable::Memory{}, /*indexed=*/false);
    std::vector<TestEntry> history = entries;
    std::sort(history.begin(), history.end(),
              [](const TestEntry& a, const TestEntry& b) { return a.trailer < b.trailer; });
    for (size_t i = 0; i < history.size(); ++i) {
      const TestEntry& entry = history[i];
      table_->Collect(entry.key().sequence(), entry.key().kind(), entry.user_key, entry.value);
      if (!kAllAtOnce && i == history.size() / 2) table_->Arrange();
    }
    table_->Arrange();
    EXPECT_EQ(table_->EntryCount(), history.size());
    EXPECT_TRUE(table_->Check().ok()) << table_->Check();
  }
  std::unique_ptr<InternalIterator> NewIterator() { return table_->NewIterator(); }

 private:
  std::unique_ptr<MemTable> table_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(CollectedMemTable, IteratorConformance, CollectedMemTableSource<true>);
INSTANTIATE_TYPED_TEST_SUITE_P(TwiceCollectedMemTable, IteratorConformance, CollectedMemTableSource<false>);

TEST(MemTableTest, CollectedEntriesAreInOrderAfterArrange) {
  MemoryBudget budget(64 << 20);
  MemTable table(KeyOrder(), kMemTableSeed, 1 << 20, {.budget = &budget}, /*indexed=*/false);
  Random random(5);
  std::map<std::string, uint64_t> newest;
  for (uint64_t sequence = 1; sequence <= 20'000; ++sequence) {
    // Short keys that begin long ones, long ones that differ late, and the same key again.
    std::string key = std::string(random.Uniform(3) * 9, 'p') + std::to_string(random.Uniform(5'000));
    if (sequence % 100 == 0) key.resize(random.Uniform(4));
    table.Collect(SequenceNumber(sequence), ValueKind::kPut, key, std::to_string(sequence));
    newest[key] = sequence;
  }
  EXPECT_FALSE(table.NewIterator()->Valid());
  const size_t before = budget.used(MemoryPart::kMemtables);
  table.Arrange();
  EXPECT_GE(budget.used(MemoryPart::kMemtables), before);  // the tree's nodes; what the sort took is given back
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), table.MemoryBytes());
  ASSERT_TRUE(table.Check().ok()) << table.Check();
  for (const auto& [key, sequence] : newest) {
    EXPECT_EQ(FoundAs(table, key), absl::StrFormat("%d@%d", sequence, sequence));
  }
}

TEST(MemTableTest, AMemTableIsEmptyAtFirst) {
  const MemTable table(KeyOrder(), kMemTableSeed, 1 << 20, {});
  EXPECT_TRUE(table.empty());
  EXPECT_EQ(table.EntryCount(), 0u);
  EXPECT_EQ(table.DataBytes(), 0u);
  EXPECT_EQ(FoundAs(table, "a"), "none");
  EXPECT_EQ(table.ApproximateBytes("", "z"), 0u);
  EXPECT_TRUE(table.Check().ok());
}

TEST(MemTableTest, FindsTheNewestUpdateThatASnapshotSees) {
  MemTable table(KeyOrder(), kMemTableSeed, 1 << 20, {});
  Add(&table, 10, "k", "ten");
  Add(&table, 15, "other", "x");
  Add(&table, 20, "k", "", ValueKind::kDelete);
  Add(&table, 30, "k", "thirty");
  EXPECT_EQ(FoundAs(table, "k", 9), "none");
  EXPECT_EQ(FoundAs(table, "k", 10), "ten@10");
  EXPECT_EQ(FoundAs(table, "k", 19), "ten@10");
  EXPECT_EQ(FoundAs(table, "k", 29), "@20");
  EXPECT_EQ(TrailerKind(Find(table, "k", 29)->trailer), ValueKind::kDelete);
  EXPECT_EQ(FoundAs(table, "k"), "thirty@30");
  EXPECT_EQ(FoundAs(table, "kk"), "none");
  EXPECT_EQ(FoundAs(table, ""), "none");
}

TEST(MemTableTest, KnowsWhetherItsEntriesCameInOrder) {
  // With what was found out ahead about the place of an entry, and without.
  for (const bool aimed : {false, true}) {
    MemTable table(KeyOrder(), kMemTableSeed, 1 << 20, {});
    uint64_t sequence = 0;
    const auto add = [&](const std::string& key) {
      const uint64_t hash = HashKey(key, kMemTableSeed);
      const InsertHint hint = aimed ? table.PrefetchAdd(key, hash) : InsertHint{};
      table.Add(SequenceNumber(++sequence), ValueKind::kPut, key, "value", hash, hint);
    };
    EXPECT_TRUE(table.InOrder());
    for (int i = 0; i < 200; ++i) add(absl::StrFormat("key%03d", i));
    EXPECT_TRUE(table.InOrder());
    add("key100x");
    EXPECT_FALSE(table.InOrder());
    add("last");
    EXPECT_FALSE(table.InOrder());
  }
}

TEST(MemTableTest, AMemTableCountsWhatItHolds) {
  MemTable table(KeyOrder(), kMemTableSeed, 1 << 20, {});
  Add(&table, 7, "key", "value");
  Add(&table, 8, "key", "", ValueKind::kDelete);
  Add(&table, 9, "other", "", ValueKind::kSingleDelete);
  EXPECT_FALSE(table.empty());
  EXPECT_EQ(table.EntryCount(), 3u);
  EXPECT_EQ(table.TombstoneCount(), 2u);
  EXPECT_EQ(table.DataBytes(), 3u + 5 + 3 + 5);
  EXPECT_EQ(table.FirstSequence(), SequenceNumber(7));
  EXPECT_EQ(table.LastSequence(), SequenceNumber(9));
  EXPECT_EQ(table.hash_seed(), kMemTableSeed);
}

TEST(MemTableTest, KeysAndValuesAreAnyBytesAndAnyLength) {
  MemTable table(KeyOrder(), kMemTableSeed, 1 << 20, {});
  const std::string zero(1, '\0');
  const std::string long_key(65536, '\xff');
  const std::string large_value(3 << 20, 'v');
  Add(&table, 1, "", "empty key");
  Add(&table, 2, zero, "zero");
  Add(&table, 3, zero + zero, "");
  Add(&table, 4, long_key, large_value);
  Add(&table, 5, "\xff", zero);
  EXPECT_EQ(FoundAs(table, ""), "empty key@1");
  EXPECT_EQ(FoundAs(table, zero), "zero@2");
  EXPECT_EQ(FoundAs(table, zero + zero), "@3");
  ASSERT_TRUE(Find(table, long_key).has_value());
  EXPECT_EQ(Find(table, long_key)->value, large_value);
  EXPECT_EQ(Find(table, "\xff")->value, zero);
  EXPECT_TRUE(table.Check().ok()) << table.Check();
}

TEST(MemTableTest, ValuesLiveAsLongAsTheTable) {
  MemTable table(KeyOrder(), kMemTableSeed, 1 << 20, {});
  Add(&table, 1, "k", "first");
  const std::string_view value = Find(table, "k")->value;
  const auto it = table.NewIterator();
  it->SeekToFirst();
  const std::string_view key = it->key().user_key;
  for (uint64_t i = 2; i < 5000; ++i) Add(&table, i, "k", "later");
  EXPECT_EQ(value, "first");
  EXPECT_EQ(key, "k");
}

TEST(MemTableTest, ManyVersionsOfOneKeyAreFoundBySnapshotAndOrderedNewestFirst) {
  MemTable table(KeyOrder(), kMemTableSeed, 1 << 20, {});
  Add(&table, 1, "a", "");
  Add(&table, 2, "c", "");
  for (uint64_t i = 3; i <= 3000; ++i) Add(&table, i, "b", std::to_string(i));
  ASSERT_TRUE(table.Check().ok()) << table.Check();
  for (const uint64_t visible : {3u, 4u, 500u, 1777u, 3000u}) {
    EXPECT_EQ(FoundAs(table, "b", visible), absl::StrFormat("%u@%u", visible, visible));
  }
  const auto it = table.NewIterator();
  it->Seek({"b", SeekTrailer(SequenceNumber(2000))});
  for (uint64_t i = 2000; i >= 3; --i, it->Next()) {
    ASSERT_TRUE(it->Valid());
    ASSERT_EQ(it->key().sequence(), SequenceNumber(i));
  }
  EXPECT_EQ(it->key().user_key, "c");
}

// What the tree must bear: the ways in which keys come, and what they have in common.
class MemTableFillTest : public testing::TestWithParam<int> {
 protected:
  static constexpr uint64_t kEntries = 30000;
  static std::string Key(uint64_t i) {
    const uint64_t random = Mix64(i * 0x9e3779b97f4a7c15ull);
    switch (GetParam()) {
      case 0:
        return absl::StrFormat("%016d", i);  // ascending
      case 1:
        return absl::StrFormat("%016d", kEntries - i);  // descending
      case 2:
        return absl::StrFormat("a prefix longer than eight bytes %016d", random % 1000000);
      case 3: {  // bytes all over
        char bytes[8];
        EncodeFixed64(bytes, random);
        return std::string(bytes, random % 9);
      }
      case 4:  // several ascending runs
        return absl::StrFormat("%02d/%010d", i % 7, i);
      default:  // one key's bytes begin another's
        return std::string(random % 300, 'x') + std::string((random >> 20) % 3, 'y');
    }
  }
};

TEST_P(MemTableFillTest, AgreesWithAnOrderedMap) {
  MemTable table(KeyOrder(), kMemTableSeed, 1 << 20, {});
  std::map<std::string, uint64_t> newest;
  for (uint64_t i = 1; i <= kEntries; ++i) {
    const std::string key = Key(i);
    Add(&table, i, key, std::to_string(i));
    newest[key] = i;
    if (i % 9000 == 0) {
      ASSERT_TRUE(table.Check().ok()) << table.Check();
    }
  }
  ASSERT_TRUE(table.Check().ok()) << table.Check();
  for (const auto& [key, sequence] : newest) {
    ASSERT_EQ(FoundAs(table, key), absl::StrFormat("%u@%u", sequence, sequence));
  }
  const auto it = table.NewIterator();
  uint64_t entries = 0;
  auto expected = newest.begin();
  std::optional<std::string> previous;
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++entries) {
    if (previous.has_value() && it->key().user_key == *previous) continue;  // an older update
    ASSERT_NE(expected, newest.end());
    ASSERT_EQ(it->key().user_key, expected->first);
    ASSERT_EQ(it->key().sequence(), SequenceNumber(expected->second));
    previous = expected->first;
    ++expected;
  }
  EXPECT_EQ(expected, newest.end());
  EXPECT_EQ(entries, kEntries);
  for (it->SeekToLast(); it->Valid(); it->Prev()) --entries;
  EXPECT_EQ(entries, 0u);
}

INSTANTIATE_TEST_SUITE_P(Keys, MemTableFillTest, testing::Range(0, 6));

TEST(MemTableTest, ACustomOrderIsKeptAndLookedUpByHash) {
  MemTable table(KeyOrder(ReverseComparatorForTest()), kMemTableSeed, 1 << 20, {});
  for (uint64_t i = 1; i <= 2000; ++i) Add(&table, i, absl::StrFormat("%05d", Mix64(i) % 1500), std::to_string(i));
  EXPECT_TRUE(table.Check().ok()) << table.Check();
  const auto it = table.NewIterator();
  std::string last = "99999";
  uint64_t entries = 0;
  for (it->SeekToFirst(); it->Valid(); it->Next(), ++entries) {
    ASSERT_LE(it->key().user_key, last);
    last = it->key().user_key;
    ASSERT_TRUE(Find(table, last).has_value());
  }
  EXPECT_EQ(entries, 2000u);
}

TEST(MemTableTest, WhereEqualKeysMayDifferInBytesALookupGoesByTheOrder) {
  MemTable table(KeyOrder(CaseInsensitive()), kMemTableSeed, 1 << 20, {});
  Add(&table, 1, "Apple", "1");
  Add(&table, 2, "banana", "2");
  Add(&table, 3, "APPLE", "3");
  for (uint64_t i = 4; i < 500; ++i) Add(&table, i, absl::StrFormat("x%d", i), "");
  Add(&table, 500, "BaNaNa", "500");
  EXPECT_EQ(FoundAs(table, "apple"), "3@3");
  EXPECT_EQ(FoundAs(table, "aPPLE", 2), "1@1");
  EXPECT_EQ(FoundAs(table, "BANANA", 499), "2@2");
  EXPECT_EQ(FoundAs(table, "banana"), "500@500");
  EXPECT_EQ(FoundAs(table, "X77"), "@77");
  EXPECT_EQ(FoundAs(table, "appl"), "none");
  EXPECT_EQ(FoundAs(table, "zebra"), "none");
  EXPECT_TRUE(table.Check().ok()) << table.Check();
}

TEST(MemTableTest, AFullIndexStillFindsEverything) {
  MemTable table(KeyOrder(), kMemTableSeed, 0, {});  // 16 buckets
  for (uint64_t i = 1; i <= 3000; ++i) Add(&table, i, std::to_string(i), "v");
  for (uint64_t i = 1; i <= 3000; ++i) ASSERT_EQ(FoundAs(table, std::to_string(i)), absl::StrFormat("v@%u", i));
  EXPECT_EQ(FoundAs(table, "3001"), "none");
  EXPECT_TRUE(table.Check().ok());
}

TEST(MemTableTest, ChargesTheBudgetWithAllItTakesAndGivesItBack) {
  MemoryBudget budget(64 << 20);
  {
    MemTable table(KeyOrder(), kMemTableSeed, 1 << 20, {.budget = &budget});
    EXPECT_EQ(budget.used(MemoryPart::kMemtables), table.MemoryBytes());
    EXPECT_LT(table.MemoryBytes(), 128u << 10) << "an empty table is small";
    for (uint64_t i = 1; i <= 20000; ++i) {
      Add(&table, i, absl::StrFormat("%016d", Mix64(i)), std::string(100, 'v'));
      if (i % 1000 == 0) {
        ASSERT_EQ(budget.used(MemoryPart::kMemtables), table.MemoryBytes());
      }
    }
    EXPECT_GT(table.MemoryBytes(), table.DataBytes());
    EXPECT_LT(table.MemoryBytes(), table.DataBytes() * 2);
  }
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), 0u);
}

TEST(MemTableTest, EstimatesTheBytesOfARange) {
  for (const bool ascending : {true, false}) {
    MemTable table(KeyOrder(), kMemTableSeed, 1 << 20, {});
    constexpr uint64_t kEntries = 20000;
    const auto key = [](uint64_t i) { return absl::StrFormat("%08d", i); };
    for (uint64_t i = 0; i < kEntries; ++i) {
      // 7919 and the number of entries have no common divisor, so every key comes once.
      Add(&table, i + 1, key(ascending ? i : i * 7919 % kEntries), std::string(92, 'v'));
    }
    ASSERT_TRUE(table.Check().ok());
    const auto bytes = [&](uint64_t begin, uint64_t end) { return table.ApproximateBytes(key(begin), key(end)); };
    EXPECT_EQ(bytes(500, 500), 0u);
    EXPECT_EQ(bytes(501, 500), 0u);
    EXPECT_EQ(bytes(500, 501), 100u) << "short ranges are counted";
    EXPECT_EQ(bytes(500, 600), 10000u);
    EXPECT_EQ(bytes(kEntries, 2 * kEntries), 0u);
    for (const auto& [begin, end] :
         {std::pair<uint64_t, uint64_t>{0, kEntries}, {0, 5000}, {5000, 15000}, {1000, 2000}, {18000, kEntries}}) {
      const double expected = 100.0 * static_cast<double>(end - begin);
      EXPECT_NEAR(static_cast<double>(bytes(begin, end)), expected, expected * 0.25 + 20000)
          << begin << " to " << end << (ascending ? " ascending" : " scattered");
    }
  }
}

TEST(MemTableTest, CutKeysCutTheEntriesIntoAboutEqualParts) {
  for (const uint64_t entries : {0, 1, 2, 29, 400, 20000}) {
    MemTable table(KeyOrder(), kMemTableSeed, 1 << 20, {});
    Random random(entries);
    std::set<std::string> keys;
    for (uint64_t i = 1; i <= entries; ++i) {
      const std::string key = absl::StrFormat("k%08u", random.Uniform(1'000'000));
      keys.insert(key);
      Add(&table, i, key, "");
    }
    EXPECT_TRUE(table.CutKeys(1).empty());
    const std::vector<std::string> cuts = table.CutKeys(4);
    ASSERT_LE(cuts.size(), 3u);
    if (entries < 400) continue;
    ASSERT_EQ(cuts.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      EXPECT_TRUE(keys.contains(cuts[i]));
      const auto before = std::distance(keys.begin(), keys.lower_bound(cuts[i]));
      const double part = static_cast<double>(before) / static_cast<double>(keys.size());
      EXPECT_NEAR(part, static_cast<double>(i + 1) / 4, 0.1) << entries << " entries, cut " << i;
    }
  }
}

TEST(MemTableTest, OneKeyOfManyVersionsIsNotCut) {
  MemTable table(KeyOrder(), kMemTableSeed, 1 << 20, {});
  for (uint64_t i = 1; i <= 500; ++i) Add(&table, i, "key", "");
  EXPECT_LE(table.CutKeys(8).size(), 1u);  // in front of it all
}

TEST(MemTableTest, CheckNoticesAHashThatIsNotTheKeys) {
  MemTable table(KeyOrder(), kMemTableSeed, 1 << 20, {});
  // Few keys have no index.
  for (uint64_t i = 1; i <= 40; ++i) Add(&table, i, "good" + std::to_string(i), "");
  ASSERT_TRUE(table.Check().ok());
  table.Add(SequenceNumber(41), ValueKind::kPut, "bad", "", HashKey("bad", kMemTableSeed + 1));
  EXPECT_FALSE(table.Check().ok());
}

TEST(MemTableDeathTest, SequenceNumbersMustAscend) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  MemTable table(KeyOrder(), kMemTableSeed, 1 << 20, {});
  Add(&table, 2, "a", "");
  EXPECT_DEATH(Add(&table, 2, "b", ""), "sequence");
}

// An iterator that stands somewhere while the table grows around it.
TEST(MemTableTest, AnIteratorGivesWhatWasThereOnceThoughItsLeavesSplit) {
  for (const bool forward : {true, false}) {
    MemTable table(KeyOrder(), kMemTableSeed, 1 << 20, {});
    uint64_t sequence = 0;
    constexpr uint64_t kOld = 1000;
    for (uint64_t i = 0; i < kOld; ++i) Add(&table, ++sequence, absl::StrFormat("%06d", i * 100), "");
    Random random(3);
    const auto it = table.NewIterator();
    uint64_t seen = 0;
    forward ? it->SeekToFirst() : it->SeekToLast();
    InternalKey last;
    while (it->Valid()) {
      if (seen > 0) {
        ASSERT_TRUE(forward ? KeyOrder().Less(last.view(), it->key()) : KeyOrder().Less(it->key(), last.view()));
      }
      last = InternalKey(it->key());
      if (it->key().sequence().value() <= kOld) {
        const uint64_t expected = forward ? seen : kOld - 1 - seen;
        ASSERT_EQ(it->key().user_key, absl::StrFormat("%06d", expected * 100));
        ++seen;
        // Newcomers around the place, and elsewhere.
        for (int i = 0; i < 8; ++i) {
          const uint64_t near = expected * 100 + random.Uniform(6000);
          Add(&table, ++sequence, absl::StrFormat("%06d", near > 3000 ? near - 3000 : near), "");
        }
        Add(&table, ++sequence, absl::StrFormat("%06d", random.Uniform(kOld * 100)), "");
      }
      forward ? it->Next() : it->Prev();
    }
    EXPECT_EQ(seen, kOld);
    EXPECT_TRUE(table.Check().ok()) << table.Check();
  }
}

}  // namespace
}  // namespace sepal

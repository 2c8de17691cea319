// What the memtable's own verification says of memory that was changed behind its back.
#include <cstdint>
#include <cstring>
#include <deque>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/state/memtable/memtable.h"
#include "db/state/memtable/memtable_entry.h"
#include "db/state/memtable/memtable_index.h"
#include "db/state/memtable/memtable_tree.h"
#include "gtest/gtest.h"
#include "util/base/hash.h"
#include "util/memory/arena.h"
#include "util/memory/memory_budget.h"

namespace sepal {
namespace {

constexpr uint64_t kCheckSeed = 0x5ea1;

// Entries in memory of the test's own.
class Entries {
 public:
  MemTableEntry* Make(std::string_view key, uint64_t sequence, uint32_t hash = 0) {
    const size_t words = (MemTableEntry::Bytes(ValueKind::kPut, key, "") + 7) / 8;
    return MemTableEntry::Make(reinterpret_cast<char*>(memory_.emplace_back(words).data()),
                               PackTrailer(SequenceNumber(sequence), ValueKind::kPut), key, "", hash);
  }

 private:
  std::deque<std::vector<uint64_t>> memory_;
};

// The words of a leaf, as memtable_tree.h lays it out.
struct LeafWords {
  static constexpr size_t kVersion = 0, kSkip = 1, kCount = 2;  // of four bytes each
  static constexpr size_t kEntries = 256;                       // behind the prefixes
  static constexpr size_t kBytes = 512;

  explicit LeafWords(void* leaf) : bytes(static_cast<char*>(leaf)) {}
  uint32_t* header(size_t word) const { return reinterpret_cast<uint32_t*>(bytes) + word; }
  // The last place in which `value` stands, which must be there.
  uint64_t* holding(uint64_t value) const {
    auto* const words = reinterpret_cast<uint64_t*>(bytes);
    for (size_t i = kBytes / 8; i > 0; --i) {
      if (words[i - 1] == value) return &words[i - 1];
    }
    ADD_FAILURE() << "no such word in the leaf";
    return words;
  }
  uint64_t* holding(const void* pointer) const { return holding(reinterpret_cast<uint64_t>(pointer)); }

  char* bytes;
};

// 20 leaves and more, of keys 8 of whose bytes are alike.
class MemTableTreeCheckTest : public testing::Test {
 protected:
  static constexpr uint64_t kKeys = 900;

  MemTableTreeCheckTest() : tree_(KeyOrder(), &arena_) {
    for (uint64_t i = 0; i < kKeys; ++i) {
      inserted_.push_back(entries_.Make(KeyAt(i * 7 % kKeys), i + 1));
      tree_.Insert(inserted_.back());
    }
    EXPECT_EQ(CheckText(), "OK");
  }

  static std::string KeyAt(uint64_t i) { return absl::StrFormat("alike-%08u", i); }
  // The leaf of key `i`, which is not the last.
  LeafWords LeafOf(uint64_t i) const { return LeafWords(tree_.Aim(KeyAt(i)).leaf); }
  MemTableEntry* EntryOf(uint64_t i) const {
    for (MemTableEntry* entry : inserted_) {
      if (entry->user_key() == KeyAt(i)) return entry;
    }
    return nullptr;
  }
  std::string CheckText() const {
    uint64_t entries = 0, fingerprint = 0;
    const absl::Status status = tree_.Check(&entries, &fingerprint);
    if (!status.ok()) return std::string(status.message());
    EXPECT_EQ(entries, kKeys);
    return "OK";
  }
  // What it says while `*word` is `value`.
  template <class Word>
  std::string While(Word* word, Word value) {
    const Word before = *word;
    *word = value;
    std::string text = CheckText();
    *word = before;
    EXPECT_EQ(CheckText(), "OK");
    return text;
  }
  static bool Has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

  Arena arena_;
  MemTableTree tree_;
  Entries entries_;
  std::vector<MemTableEntry*> inserted_;
};

TEST_F(MemTableTreeCheckTest, NoticesWrongLinksBetweenUpdates) {
  const MemTableEntry* const entry = EntryOf(5);
  entry->set_previous(entries_.Make(KeyAt(6), 1));
  EXPECT_TRUE(Has(CheckText(), "a link to another key at")) << CheckText();
  entry->set_previous(entries_.Make(KeyAt(5), kKeys + 1));
  EXPECT_TRUE(Has(CheckText(), "updates out of order at")) << CheckText();
  entry->set_previous(nullptr);
  EXPECT_EQ(CheckText(), "OK");
}

TEST_F(MemTableTreeCheckTest, NoticesAKeyThatChanged) {
  std::set<std::string> said;
  // Not of the leaves at the edges, which do not skip what all keys share, so that the last byte may be any.
  for (uint64_t i = 60; i < kKeys - 60; ++i) {
    char* const key = const_cast<char*>(EntryOf(i)->user_key().data());
    // A byte that all keys share, and the last.
    for (const size_t at : {size_t{2}, KeyAt(i).size() - 1}) {
      for (const char changed : {'\x01', '\x7f'}) {
        const std::string text = While(key + at, changed);
        EXPECT_NE(text, "OK") << i << " at " << at;
        said.insert(text.substr(0, text.find(" at ")));
      }
    }
  }
  EXPECT_EQ(said, (std::set<std::string>{"memtable tree: a wrong prefix", "memtable tree: above its node",
                                         "memtable tree: entries out of order",
                                         "memtable tree: more bytes are skipped than are shared"}));
}

TEST_F(MemTableTreeCheckTest, NoticesALeafWhoseFieldsChanged) {
  const LeafWords leaf = LeafOf(400);
  uint32_t* const version = leaf.header(LeafWords::kVersion);
  EXPECT_EQ(While(version, *version + 1), "memtable tree: a node is being changed");
  uint32_t* const count = leaf.header(LeafWords::kCount);
  EXPECT_EQ(While<uint32_t>(count, 31), "memtable tree: a node holds more than it can");
  EXPECT_EQ(While<uint32_t>(count, 0), "memtable tree: an empty leaf");
  uint32_t* const skip = leaf.header(LeafWords::kSkip);
  EXPECT_EQ(While(skip, *skip | uint32_t{1} << 31), "memtable tree: not at an edge of the tree");
  EXPECT_TRUE(Has(While(skip, *skip + 1), "a wrong prefix"));
  // The first leaf has no bounds to share bytes with.
  const LeafWords first = LeafOf(0);
  EXPECT_TRUE(Has(While<uint32_t>(first.header(LeafWords::kSkip), 1), "a wrong prefix"));
  EXPECT_EQ(While<uint32_t>(first.header(LeafWords::kSkip), uint32_t{1} << 31),
            "memtable tree: not at an edge of the tree");
}

TEST_F(MemTableTreeCheckTest, NoticesEntriesAndLinksOfAnotherLeaf) {
  const LeafWords first = LeafOf(0), leaf = LeafOf(400), far = LeafOf(800);
  const auto word = [](const void* pointer) { return reinterpret_cast<uint64_t>(pointer); };
  EXPECT_TRUE(Has(While(leaf.holding(EntryOf(400)), word(EntryOf(0))), "memtable tree: "));
  auto* const lowest = reinterpret_cast<uint64_t*>(leaf.bytes + LeafWords::kEntries);
  EXPECT_TRUE(Has(While(lowest, word(EntryOf(0))), "memtable tree: below its node"));
  // The links are the leaf's last two words.
  auto* const next = reinterpret_cast<uint64_t*>(leaf.bytes + LeafWords::kBytes - 16);
  EXPECT_EQ(While(next, word(far.bytes)), "memtable tree: a wrong link to the next leaf");
  EXPECT_EQ(While(next + 1, word(far.bytes)), "memtable tree: a wrong link to the previous leaf");
  auto* const before_first = reinterpret_cast<uint64_t*>(first.bytes + LeafWords::kBytes - 8);
  EXPECT_EQ(While(before_first, word(far.bytes)), "memtable tree: a wrong link to the previous leaf");
  LeafWords last = far;
  while (true) {
    const auto* const behind = reinterpret_cast<uint64_t*>(last.bytes + LeafWords::kBytes - 16);
    if (*behind == 0) break;
    last = LeafWords(reinterpret_cast<void*>(*behind));
  }
  EXPECT_EQ(While(reinterpret_cast<uint64_t*>(last.bytes + LeafWords::kBytes - 16), word(far.bytes)),
            "memtable tree: a leaf outside the tree");
}

TEST(MemTableCheckTest, TheTreeTheIndexAndTheCounterHoldTheSameEntries) {
  MemTable table(KeyOrder(), kCheckSeed, 1 << 20, {});
  const auto hash_of = [](std::string_view key) { return HashKey(key, kCheckSeed); };
  for (uint64_t i = 0; i < 100; ++i) {
    const std::string key = absl::StrFormat("%03u", i);
    table.Add(SequenceNumber(i + 1), ValueKind::kPut, key, "", hash_of(key));
  }
  const LeafWords leaf(table.PrefetchAdd("050", hash_of("050")).leaf);
  uint32_t* const count = leaf.header(LeafWords::kCount);
  --*count;
  EXPECT_EQ(table.Check().message(), "memtable: the tree and the counter disagree");
  ++*count;
  ASSERT_TRUE(table.Check().ok());

  // An entry that equals one of the table's and is another.
  const auto it = table.NewIterator();
  it->Seek({"050", kFirstTrailer});
  Entries others;
  const MemTableEntry* const twin = others.Make("050", 51, MemTableIndex::ShortHash(hash_of("050")));
  const char* const theirs =
      it->key().user_key.data() - (twin->user_key().data() - reinterpret_cast<const char*>(twin));
  *leaf.holding(theirs) = reinterpret_cast<uint64_t>(twin);
  EXPECT_EQ(table.Check().message(), "memtable: the tree and the hash index hold different entries");

  const_cast<char*>(it->key().user_key.data())[0] = 'x';
  EXPECT_NE(table.Check().message().find("memtable index: "), std::string::npos) << table.Check();
  const_cast<char*>(twin->user_key().data())[0] = 'x';
  EXPECT_NE(table.Check().message().find("memtable tree: "), std::string::npos) << table.Check();
}

TEST(MemTableIndexTest, CheckNoticesEntriesThatAreNotWhereTheirHashSays) {
  const auto short_hash = [](std::string_view key) { return MemTableIndex::ShortHash(HashKey(key, kCheckSeed)); };
  const auto check = [](const MemTableIndex& index) {
    uint64_t entries = 0, fingerprint = 0;
    return std::string(index.Check(kCheckSeed, &entries, &fingerprint).message());
  };
  // Keys of another bucket than "k", and of the same bucket with another bit of its filter. There are 16 buckets.
  std::string elsewhere, beside;
  for (int i = 0; elsewhere.empty() || beside.empty(); ++i) {
    const std::string key = absl::StrFormat("%d", i);
    const bool same_bucket = short_hash(key) >> 28 == short_hash("k") >> 28;
    if (!same_bucket) elsewhere = key;
    if (same_bucket && (short_hash(key) & 15) != (short_hash("k") & 15)) beside = key;
  }
  for (const std::string& key : {elsewhere, beside}) {
    Entries entries;
    MemTableIndex index(16);
    MemTableEntry* const entry = entries.Make(std::string(key.size(), 'k'), 1, short_hash("k"));
    index.Insert(entry);
    MemTableEntry::Make(reinterpret_cast<char*>(entry), entry->trailer(), key, "", short_hash(key));
    EXPECT_EQ(check(index), absl::StrFormat("memtable index: %s is in the wrong bucket", ToString(entry->key())));
  }
}

TEST(MemTableIndexTest, TakesNothingBeforeTheFirstEntry) {
  MemoryBudget budget(64 << 20);
  Entries entries;
  {
    MemTableIndex index(1 << 16, nullptr, &budget);
    EXPECT_EQ(index.memory_bytes(), 0u);
    EXPECT_EQ(index.Find("k", 7), nullptr);
    index.Prefetch(7);
    index.Insert(entries.Make("k", 1, 7));
    EXPECT_EQ(index.memory_bytes(), MemTableIndex::MemoryBytes(1 << 16));
    EXPECT_EQ(budget.used(MemoryPart::kMemtables), index.memory_bytes());
  }
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), 0u);
}

TEST(MemTableIndexTest, MoreKeysThanForeseenGetMoreBuckets) {
  const auto short_hash = [](std::string_view key) { return MemTableIndex::ShortHash(HashKey(key, kCheckSeed)); };
  MemoryBudget budget(64 << 20);
  Entries entries;
  MemTableIndex index(16, nullptr, &budget);
  // Each key three times: updates stay where the key is, whether it is the first of its bucket or not.
  constexpr uint64_t kKeys = 10'000;
  std::unordered_map<std::string, const MemTableEntry*> newest;
  for (uint64_t sequence = 1; sequence <= 3 * kKeys; ++sequence) {
    const std::string key = absl::StrFormat("%d", sequence % kKeys);
    const MemTableEntry* const entry = entries.Make(key, sequence, short_hash(key));
    const MemTableEntry*& before = newest[key];
    if (before == nullptr) {
      index.Insert(entry);
    } else {
      entry->set_previous(before);
      index.Replace(before, entry);
    }
    before = entry;
    ASSERT_EQ(budget.used(MemoryPart::kMemtables), index.memory_bytes());
  }
  // 16, 64 and so on to 4,096 buckets, with four keys each, and the rest.
  EXPECT_EQ(index.memory_bytes(), 8u * (16 + 64 + 256 + 1024 + 4096));
  uint64_t count = 0, fingerprint = 0;
  ASSERT_TRUE(index.Check(kCheckSeed, &count, &fingerprint).ok());
  EXPECT_EQ(count, 3 * kKeys);
  for (const auto& [key, entry] : newest) EXPECT_EQ(index.Find(key, short_hash(key)), entry);
  for (uint64_t k = 0; k < kKeys; ++k) {
    const std::string absent = absl::StrFormat("absent%d", k);
    EXPECT_EQ(index.Find(absent, short_hash(absent)), nullptr);
  }
}

TEST(MemTableIndexTest, KeysOfOneHashAreToldApart) {
  const auto short_hash = [](std::string_view key) { return MemTableIndex::ShortHash(HashKey(key, kCheckSeed)); };
  // Among so many keys, two have the same 32 bits.
  std::unordered_map<uint32_t, std::string> seen;
  std::string one, other;
  for (uint32_t i = 0; one.empty() && i < 1'000'000; ++i) {
    other = absl::StrFormat("%u", i);
    if (const auto [it, added] = seen.emplace(short_hash(other), other); !added) one = it->second;
  }
  ASSERT_FALSE(one.empty());
  Entries entries;
  MemTableIndex index(1 << 10);
  index.Insert(entries.Make(one, 1, short_hash(one)));
  EXPECT_EQ(index.Find(other, short_hash(other)), nullptr);
  index.Insert(entries.Make(other, 2, short_hash(other)));
  for (const std::string& key : {one, other}) {
    EXPECT_EQ(index.Find(key, short_hash(key))->user_key(), key);
  }
}

TEST(MemTableTreeTest, AnEmptyTreeHasNothingBeforeAnyKey) {
  Arena arena;
  const MemTableTree tree(KeyOrder(), &arena);
  EXPECT_EQ(tree.FractionBefore("k"), 0);
  EXPECT_EQ(tree.Find(""), nullptr);
  EXPECT_TRUE(tree.Separators(4).empty());
}

TEST(MemTableTreeTest, KeysOfTheHighestBytesAreFound) {
  Arena arena;
  Entries entries;
  MemTableTree tree(KeyOrder(), &arena);
  for (uint64_t i = 0; i < 60; ++i) tree.Insert(entries.Make(std::string(i + 1, '\xff'), i + 1));
  for (uint64_t i = 0; i < 60; ++i) {
    const std::string key(i + 1, '\xff');
    const MemTableEntry* const found = tree.Find(key);
    ASSERT_NE(found, nullptr);
    EXPECT_EQ(found->user_key(), key);
  }
}

}  // namespace
}  // namespace sepal

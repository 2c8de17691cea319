// The updates of one key in a memtable: what an iterator as of a sequence number shows of them.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "tests/db/state/memtable/memtable_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

struct Update {
  ValueKind kind;
  uint64_t oldest;  // that it stands for
  std::string value;
};
// By key, and by sequence number.
using Updates = std::map<std::string, std::map<uint64_t, Update>>;

using Shown = std::vector<std::pair<std::string, uint64_t>>;

// A memtable of few keys, some of whose updates are operands that stand for earlier ones too, and its model.
class Versions {
 public:
  explicit Versions(uint64_t seed) : random_(seed) {}

  void AddSome(int count) {
    for (int i = 0; i < count; ++i) AddOne();
  }
  uint64_t last() const { return last_; }
  const MemTable& table() const { return table_; }
  std::string AnyKey() { return absl::StrFormat("%03u", random_.Uniform(60)); }

  // What a reader at `visible` needs.
  Shown Needed(uint64_t visible) const {
    Shown shown;
    for (const auto& [key, updates] : updates_) {
      uint64_t next = visible;
      while (next > 0) {
        auto it = updates.upper_bound(next);
        if (it == updates.begin()) break;
        --it;
        shown.emplace_back(key, it->first);
        if (!IsOperand(it->second.kind)) break;
        next = it->second.oldest - 1;
      }
    }
    return shown;
  }

 private:
  void AddOne() {
    const std::string key = AnyKey();
    const uint64_t sequence = ++last_;
    std::map<uint64_t, Update>& updates = updates_[key];
    Update update{.kind = ValueKind::kPut, .oldest = sequence, .value = std::to_string(sequence)};
    if (random_.OneIn(2)) {
      update.kind = ValueKind::kMerge;
      const bool over_operand = !updates.empty() && IsOperand(updates.rbegin()->second.kind);
      if (over_operand && random_.OneIn(2)) {
        update.kind = ValueKind::kFoldedMerge;
        update.oldest = updates.rbegin()->second.oldest;
      }
    } else if (random_.OneIn(4)) {
      update.kind = ValueKind::kDelete;
    }
    table_.Add(SequenceNumber(sequence), update.kind, key, update.value, HashKey(key, kMemTableSeed), {},
               SequenceNumber(update.oldest));
    updates[sequence] = std::move(update);
  }

  Random random_;
  MemTable table_{KeyOrder(), kMemTableSeed, 64 << 10, {}};
  Updates updates_;
  uint64_t last_ = 0;
};

std::pair<std::string, uint64_t> Where(const InternalIterator& it) {
  return {std::string(it.key().user_key), it.key().sequence().value()};
}

class MemTableVersionsTest : public testing::TestWithParam<int> {};

TEST_P(MemTableVersionsTest, AnIteratorAsOfASequenceNumberShowsWhatAReaderThereNeeds) {
  Versions versions(100 + GetParam());
  for (int round = 0; round < 20; ++round) {
    versions.AddSome(100);
    for (const uint64_t visible : {versions.last(), versions.last() / 2, versions.last() / 7, uint64_t{1}}) {
      const Shown needed = versions.Needed(visible);
      const auto it = versions.table().NewIterator(SequenceNumber(visible));
      Shown forward;
      for (it->SeekToFirst(); it->Valid(); it->Next()) forward.push_back(Where(*it));
      ASSERT_EQ(forward, needed) << visible;
      Shown backward;
      for (it->SeekToLast(); it->Valid(); it->Prev()) backward.insert(backward.begin(), Where(*it));
      ASSERT_EQ(backward, needed) << visible;
    }
  }
  EXPECT_TRUE(versions.table().Check().ok()) << versions.table().Check();
}

TEST_P(MemTableVersionsTest, SeeksStopBetweenUpdatesOfAKey) {
  Versions versions(200 + GetParam());
  Random random(GetParam());
  versions.AddSome(2000);
  for (int round = 0; round < 500; ++round) {
    const uint64_t visible = 1 + random.Uniform(versions.last());
    const Shown needed = versions.Needed(visible);
    const std::string key = versions.AnyKey();
    const uint64_t sequence = random.OneIn(3) ? kMaxSequenceNumber.value() : random.Uniform(versions.last() + 1);
    const InternalKeyView target{key, SeekTrailer(SequenceNumber(sequence))};
    const auto at_or_after = [&](const std::pair<std::string, uint64_t>& shown) {
      return shown.first > key || (shown.first == key && shown.second <= sequence);
    };
    const auto expected = std::find_if(needed.begin(), needed.end(), at_or_after);
    const auto it = versions.table().NewIterator(SequenceNumber(visible));
    it->Seek(target);
    ASSERT_EQ(it->Valid(), expected != needed.end());
    if (it->Valid()) {
      ASSERT_EQ(Where(*it), *expected);
    }
    it->SeekBefore(target);
    ASSERT_EQ(it->Valid(), expected != needed.begin());
    if (it->Valid()) {
      ASSERT_EQ(Where(*it), *std::prev(expected));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, MemTableVersionsTest, testing::Range(0, 4));

// A counter's newest operand stands for all: how many came before is nothing to a reader.
TEST(MemTableVersionsTest, AFoldedMergeLeadsPastWhatItStandsFor) {
  MemTable table(KeyOrder(), kMemTableSeed, 64 << 10, {});
  Add(&table, 1, "k", "base");
  for (uint64_t s = 2; s <= 1000; ++s) {
    table.Add(SequenceNumber(s), ValueKind::kFoldedMerge, "k", std::to_string(s), HashKey("k", kMemTableSeed), {},
              SequenceNumber(2));
  }
  for (const uint64_t visible : {2, 3, 500, 1000}) {
    const auto newest = Find(table, "k", visible);
    ASSERT_TRUE(newest.has_value());
    EXPECT_EQ(newest->value, std::to_string(visible));
    const auto base = MemTable::LookupOlder(*newest, SequenceNumber(1));
    ASSERT_TRUE(base.has_value());
    EXPECT_EQ(base->value, "base");
    EXPECT_FALSE(MemTable::LookupOlder(*newest, SequenceNumber(0)).has_value());
  }
  const auto before_last = MemTable::LookupOlder(*Find(table, "k"), SequenceNumber(999));
  ASSERT_TRUE(before_last.has_value());
  EXPECT_EQ(before_last->value, "999");
}

}  // namespace
}  // namespace sepal

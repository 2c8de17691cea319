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
#include "db/state/memtable/memtable_entry.h"
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
  Versions(uint64_t seed, bool skips) : random_(seed) {
    if (skips) table_.UseSkips();
  }

  void AddSome(int count) {
    for (int i = 0; i < count; ++i) AddOne();
  }
  // Readers there are read at `settled` or above, or at one of `snapshots`, and none in an earlier view.
  void SetReaders(uint64_t settled, const std::vector<uint64_t>& snapshots) {
    MemTableReaders readers{.settled = SequenceNumber(settled), .oldest_view = views_, .replaced_view = views_};
    for (const uint64_t snapshot : snapshots) readers.snapshots.emplace_back(snapshot);
    ++views_;
    table_.SetReaders(std::move(readers));
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
  uint64_t views_ = 1;
};

std::pair<std::string, uint64_t> Where(const InternalIterator& it) {
  return {std::string(it.key().user_key), it.key().sequence().value()};
}

// A seed; odd ones with skips.
class MemTableVersionsTest : public testing::TestWithParam<int> {
 protected:
  static bool Skips() { return GetParam() % 2 != 0; }
};

TEST_P(MemTableVersionsTest, AnIteratorAsOfASequenceNumberShowsWhatAReaderThereNeeds) {
  Versions versions(100 + GetParam(), Skips());
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
  Versions versions(200 + GetParam(), Skips());
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

TEST_P(MemTableVersionsTest, WhatReadersNeedStaysWhenTheRestIsLetGo) {
  Versions versions(300 + GetParam(), Skips());
  Random random(GetParam());
  std::vector<uint64_t> snapshots;
  uint64_t settled = 0;
  for (int round = 0; round < 60; ++round) {
    versions.AddSome(200);
    const auto expect_needed = [&](uint64_t visible) {
      const Shown needed = versions.Needed(visible);
      const auto it = versions.table().NewIterator(SequenceNumber(visible));
      Shown shown;
      for (it->SeekToFirst(); it->Valid(); it->Next()) shown.push_back(Where(*it));
      ASSERT_EQ(shown, needed) << visible;
    };
    for (const uint64_t snapshot : snapshots) expect_needed(snapshot);
    expect_needed(settled + random.Uniform(versions.last() - settled + 1));
    expect_needed(versions.last());
    ASSERT_TRUE(versions.table().Check().ok()) << versions.table().Check();
    if (HasFailure()) return;
    settled += random.Uniform(versions.last() - settled + 1);
    if (random.OneIn(2)) snapshots.push_back(settled);
    if (random.OneIn(4)) snapshots.erase(snapshots.begin() + random.Uniform(snapshots.size() + 1), snapshots.end());
    versions.SetReaders(settled, snapshots);
  }
  EXPECT_LT(versions.table().EntryCount(), versions.last() / 2);
}

INSTANTIATE_TEST_SUITE_P(Seeds, MemTableVersionsTest, testing::Range(0, 4));

// Of so many updates of a few keys, with readers that come and go.
class MemTableSupersededTest : public testing::Test {
 protected:
  static constexpr size_t kCopied = 64;
  MemoryBudget budget_{64 << 20};

  void Update(uint64_t count, size_t value_bytes) {
    for (uint64_t i = 0; i < count; ++i) {
      ++last_;
      Add(&table_, last_, absl::StrFormat("%02u", last_ % 10), std::string(value_bytes, static_cast<char>(last_)));
    }
  }
  // All earlier views are gone, but for those from `oldest` on.
  void Renew(std::optional<uint64_t> oldest = std::nullopt) {
    table_.SetReaders({.settled = SequenceNumber(last_),
                       .snapshots = snapshots_,
                       .oldest_view = oldest.value_or(view_),
                       .replaced_view = view_});
    ++view_;
  }
  void UpdateAndRenew(int rounds, size_t value_bytes) {
    for (int round = 0; round < rounds; ++round) {
      Update(100, value_bytes);
      Renew();
    }
  }

  std::shared_ptr<MemTable> owned_ = std::make_shared<MemTable>(KeyOrder(), kMemTableSeed, 64 << 10,
                                                                MemTable::Memory{&budget_, nullptr, nullptr, kCopied});
  MemTable& table_ = *owned_;
  uint64_t last_ = 0;
  uint64_t view_ = 1;
  std::vector<SequenceNumber> snapshots_;
};

TEST_F(MemTableSupersededTest, MemoryIsUsedAgain) {
  for (int round = 0; round < 1000; ++round) {
    Update(100, 100);
    Renew();
    ASSERT_LE(table_.EntryCount(), 320u);
  }
  EXPECT_EQ(table_.DataBytes(), table_.EntryCount() * 102);
  EXPECT_LT(table_.MemoryBytes(), 128u << 10);
  EXPECT_TRUE(table_.Check().ok()) << table_.Check();
}

TEST_F(MemTableSupersededTest, NothingIsUsedAgainWhileAViewIsHeldInWhichItCouldBeFound) {
  Update(100, 100);
  Renew();
  const MemTable::Found held = *Find(table_, "05");
  const std::string value(held.value);
  const uint64_t view = view_;
  for (int round = 0; round < 100; ++round) {
    Update(100, 100);
    Renew(view);
    ASSERT_EQ(held.value, value) << round;
    ASSERT_EQ(held.entry->key().user_key, "05");
  }
  const size_t bytes = table_.MemoryBytes();
  UpdateAndRenew(100, 100);
  EXPECT_EQ(table_.MemoryBytes(), bytes);
}

TEST_F(MemTableSupersededTest, APinnedValueStaysWhereItIs) {
  Update(100, 100);
  Renew();
  const std::string_view value = Find(table_, "05")->value;
  const std::string copy(value);
  {
    const MemTable::ValuePin pin(owned_);
    for (int round = 0; round < 20; ++round) {
      Update(100, 100);
      Renew();
      ASSERT_EQ(value, copy) << round;
    }
  }
  const size_t bytes = table_.MemoryBytes();
  UpdateAndRenew(20, 100);
  EXPECT_EQ(table_.MemoryBytes(), bytes);
}

TEST_F(MemTableSupersededTest, WhatASnapshotSeesStays) {
  Update(100, 100);
  snapshots_ = {SequenceNumber(last_)};
  const std::string seen(Find(table_, "05", last_)->value);
  UpdateAndRenew(20, 100);
  EXPECT_EQ(Find(table_, "05", snapshots_.front().value())->value, seen);
  EXPECT_LE(table_.EntryCount(), 330u);
}

TEST_F(MemTableSupersededTest, ASingleDeleteKeepsWhatItMayMeet) {
  Update(10, 10);
  Add(&table_, ++last_, "single", "put");
  Add(&table_, ++last_, "single", "", ValueKind::kSingleDelete);
  UpdateAndRenew(20, 10);
  EXPECT_EQ(table_.EntryCount(), last_);
}

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

// A way of skips and links from an update to the newest one that a reader at `visible` may see, and its length.
std::pair<const MemTableEntry*, int> Walk(const MemTableEntry* entry, SequenceNumber visible) {
  int steps = 0;
  for (; entry != nullptr && TrailerSequence(entry->trailer()) > visible; ++steps) {
    const MemTableEntry* const to = entry->has_skips() ? entry->skips().Towards(visible) : nullptr;
    entry = to != nullptr ? to : entry->previous();
  }
  return {entry, steps};
}

// Without skips it would be as many as came since: two logarithms of the 12,500 updates with skips, and both ends.
TEST(MemTableVersionsTest, AReaderOfThePastTakesFewStepsThroughManyUpdates) {
  constexpr uint64_t kUpdates = 100'000;
  MemTable table(KeyOrder(), kMemTableSeed, 64 << 10, {});
  table.UseSkips();
  for (uint64_t s = 1; s <= kUpdates; ++s) Add(&table, s, "k", "", s % 3 == 0 ? ValueKind::kMerge : ValueKind::kPut);
  ASSERT_TRUE(table.Check().ok()) << table.Check();
  const MemTableEntry* const newest = Find(table, "k")->entry;
  Random random(1);
  double all_steps = 0;
  constexpr int kReaders = 1000;
  for (int i = 0; i < kReaders; ++i) {
    const SequenceNumber visible(1 + random.Uniform(kUpdates));
    const auto [entry, steps] = Walk(newest, visible);
    ASSERT_EQ(TrailerSequence(entry->trailer()), visible);
    ASSERT_EQ(Find(table, "k", visible.value())->entry, entry);
    ASSERT_LT(steps, 300);
    all_steps += steps;
  }
  EXPECT_LT(all_steps / kReaders, 50);
  EXPECT_FALSE(Find(table, "k", 0).has_value());
}

// One key in ten has an update at each tenth sequence number; chance decides which updates have skips.
TEST(MemTableVersionsTest, SkipsStayWhenTheRestIsLetGo) {
  MemoryBudget budget(64 << 20);
  MemTable table(KeyOrder(), kMemTableSeed, 64 << 10, {&budget, nullptr, nullptr, 64});
  table.UseSkips();
  uint64_t last = 0;
  for (uint64_t view = 1; view <= 100; ++view) {
    for (int i = 0; i < 1000; ++i) {
      ++last;
      Add(&table, last, absl::StrFormat("%02u", last % 10), std::to_string(last));
    }
    table.SetReaders({.settled = SequenceNumber(last), .oldest_view = view, .replaced_view = view});
    ASSERT_TRUE(table.Check().ok()) << table.Check();
    for (uint64_t visible = last; visible > last - 10; --visible) {
      ASSERT_EQ(Find(table, absl::StrFormat("%02u", visible % 10), visible)->value, std::to_string(visible));
    }
  }
  EXPECT_LT(table.EntryCount(), last / 5);
  EXPECT_GT(table.EntryCount(), last / 10);
}

}  // namespace
}  // namespace sepal

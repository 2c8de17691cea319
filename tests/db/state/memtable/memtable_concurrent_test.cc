// A memtable with one writer and readers beside it.
#include <atomic>
#include <string>
#include <tuple>

#include "absl/strings/str_format.h"
#include "gtest/gtest.h"
#include "tests/db/state/memtable/memtable_fixture.h"
#include "tests/table/iterate/iterator_conformance.h"
#include "util/base/random.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

enum class Keys { kAscending, kScattered, kFew };

// One writer and readers beside it.
class ConcurrentMemTableTest : public testing::TestWithParam<std::tuple<const Comparator*, Keys>> {
 protected:
  static constexpr uint64_t kEntries = 12000;

  static std::string KeyOf(uint64_t sequence) {
    switch (std::get<1>(GetParam())) {
      case Keys::kAscending:
        return absl::StrFormat("%09d", sequence / 2);
      case Keys::kScattered:
        return absl::StrFormat("%09d", sequence * 7919 % kEntries / 2);
      case Keys::kFew:
        return absl::StrFormat("%d", sequence * 7919 % 10);
    }
    return "";
  }
  void Write() {
    for (uint64_t s = 1; s <= kEntries; ++s) {
      Add(&table_, s, KeyOf(s), std::to_string(s));
      published_.store(s, std::memory_order_release);
    }
  }
  void Read(uint64_t seed) {
    Random random(seed);
    uint64_t visible = 0;
    for (int round = 0; visible < kEntries; ++round) {
      visible = published_.load(std::memory_order_acquire);
      if (visible == 0) continue;
      LookUp(&random, visible);
      if (round % 50 == 0) Scan(visible, round % 100 == 0);
      SeekSomewhere(&random, visible);
      if (HasFailure()) return;
    }
  }
  void LookUp(Random* random, uint64_t visible) {
    const uint64_t sequence = 1 + random->Uniform(visible);
    const std::string key = KeyOf(sequence);
    const auto found = Find(table_, key, visible);
    ASSERT_TRUE(found.has_value()) << key;
    const uint64_t got = TrailerSequence(found->trailer).value();
    ASSERT_GE(got, sequence);
    ASSERT_LE(got, visible);
    ASSERT_EQ(KeyOf(got), key);
    ASSERT_EQ(found->value, std::to_string(got));
  }
  void Scan(uint64_t visible, bool forward) {
    const auto it = table_.NewIterator();
    uint64_t seen = 0;
    std::string last;
    Trailer last_trailer = 0;
    bool first = true;
    for (forward ? it->SeekToFirst() : it->SeekToLast(); it->Valid(); forward ? it->Next() : it->Prev()) {
      const InternalKeyView last_key = {last, last_trailer};
      ASSERT_TRUE(first || (forward ? order_.Less(last_key, it->key()) : order_.Less(it->key(), last_key)));
      first = false;
      last = it->key().user_key;
      last_trailer = it->key().trailer;
      const uint64_t sequence = it->key().sequence().value();
      ASSERT_EQ(last, KeyOf(sequence));
      ASSERT_EQ(it->value(), std::to_string(sequence));
      if (sequence <= visible) ++seen;
    }
    ASSERT_EQ(seen, visible);  // they ascend, so each was there once
  }
  void SeekSomewhere(Random* random, uint64_t visible) {
    const uint64_t sequence = 1 + random->Uniform(visible);
    const std::string key = KeyOf(sequence);
    const InternalKeyView target{key, PackTrailer(SequenceNumber(sequence), ValueKind::kPut)};
    const auto it = table_.NewIterator();
    it->Seek(target);
    ASSERT_TRUE(it->Valid());
    ASSERT_EQ(it->key(), target);
    it->SeekBefore(target);
    if (!it->Valid()) return;
    ASSERT_TRUE(order_.Less(it->key(), target));
    // Newcomers may lie between.
    do {
      it->Next();
      ASSERT_TRUE(it->Valid());
    } while (order_.Less(it->key(), target));
    ASSERT_EQ(it->key(), target);
  }

  const KeyOrder order_{std::get<0>(GetParam())};
  MemTable table_{order_, kMemTableSeed, 256 << 10, {}};
  std::atomic<uint64_t> published_{0};
};

TEST_P(ConcurrentMemTableTest, ReadersFindAllThatWasPublishedInOrderAndOnce) {
  {
    Thread reader1([this] { Read(1); });
    Thread reader2([this] { Read(2); });
    Write();
  }
  EXPECT_TRUE(table_.Check().ok()) << table_.Check();
  Scan(kEntries, true);
  Scan(kEntries, false);
}

INSTANTIATE_TEST_SUITE_P(Orders, ConcurrentMemTableTest,
                         testing::Combine(testing::Values(BytewiseComparator(), ReverseComparatorForTest(),
                                                          CaseInsensitive()),
                                          testing::Values(Keys::kAscending, Keys::kScattered, Keys::kFew)));

}  // namespace
}  // namespace sepal

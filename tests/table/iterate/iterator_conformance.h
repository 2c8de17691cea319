// The conformance suite of InternalIterator. A source passes it by
//
//   class Source {             // default-constructible; holds what its iterators stand on
//     static constexpr bool kHistory = true;   // where no two entries may have one sequence number
//    public:
//     void Build(KeyOrder order, const std::vector<TestEntry>& entries);   // once; sorted, without equal keys
//     std::unique_ptr<InternalIterator> NewIterator();
//   };
//   INSTANTIATE_TYPED_TEST_SUITE_P(MySource, IteratorConformance, Source);
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "sepal/comparator.h"
#include "table/iterate/iterator.h"
#include "table/key/internal_key.h"
#include "tests/table/iterate/vector_iterator.h"
#include "util/base/random.h"

namespace sepal {

// Bytewise, backwards.
class ReverseTestComparator final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return "test.reverse"; }
  bool EqualMeansIdentical() const override { return true; }
};
inline const Comparator* ReverseComparatorForTest() {
  static const ReverseTestComparator comparator;
  return &comparator;
}

// The history of a few keys out of a small space, so that there are many versions of a key, keys that are prefixes of
// one another, and bytes of every kind. Sorted.
inline std::vector<TestEntry> RandomTestEntries(KeyOrder order, size_t count, uint64_t seed) {
  Random random(seed);
  const std::string_view alphabet("\0\1a\x7f\x80\xff", 6);
  const std::string shared(random.Uniform(24), 'p');
  std::vector<TestEntry> entries;
  for (size_t i = 0; i < count; ++i) {
    TestEntry entry;
    if (random.OneIn(2)) entry.user_key = shared;
    for (uint64_t n = random.Uniform(12); n > 0; --n) entry.user_key += alphabet[random.Uniform(alphabet.size())];
    if (i > 0 && random.OneIn(3)) entry.user_key = entries[random.Uniform(i)].user_key;
    entry.trailer = PackTrailer(SequenceNumber(i + 1), random.OneIn(5) ? ValueKind::kDelete : ValueKind::kPut);
    entry.value = std::string(random.OneIn(50) ? 5000 : random.Uniform(40), static_cast<char>(random.Uniform(256)));
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(),
            [order](const TestEntry& a, const TestEntry& b) { return order.Less(a.key(), b.key()); });
  return entries;
}

// Distinct keys of one length under one trailer, as a merge into the last level leaves them. Sorted.
inline std::vector<TestEntry> PlainTestEntries(KeyOrder order, size_t count, ValueKind kind) {
  Random random(count);
  std::vector<TestEntry> entries;
  for (size_t i = 0; i < count; ++i) {
    std::string key = "plain" + std::to_string(1'000'000 + i * 37 % 10'007);
    entries.push_back({std::move(key), PackTrailer(SequenceNumber(0), kind),
                       std::string(random.Uniform(40), static_cast<char>(random.Uniform(256)))});
  }
  std::sort(entries.begin(), entries.end(),
            [order](const TestEntry& a, const TestEntry& b) { return order.Less(a.key(), b.key()); });
  return entries;
}

// An iterator beside its model: every move is made on both and compared. Targets are valid only during the call.
class CheckedIterator {
 public:
  CheckedIterator(KeyOrder order, const std::vector<TestEntry>& entries, std::unique_ptr<InternalIterator> iterator)
      : order_(order), entries_(entries), iterator_(std::move(iterator)) {}

  bool Valid() const { return iterator_->Valid(); }
  void SeekToFirst() {
    iterator_->SeekToFirst();
    Expect(0, "SeekToFirst");
  }
  void SeekToLast() {
    iterator_->SeekToLast();
    Expect(entries_.size() - 1, "SeekToLast");
  }
  void Seek(InternalKeyView target) {
    const size_t expected = LowerBound(target);
    Lend(target, [this](InternalKeyView lent) { iterator_->Seek(lent); });
    Expect(expected, "Seek " + ToString(target));
  }
  void SeekBefore(InternalKeyView target) {
    const size_t expected = LowerBound(target) - 1;
    Lend(target, [this](InternalKeyView lent) { iterator_->SeekBefore(lent); });
    Expect(expected, "SeekBefore " + ToString(target));
  }
  // By every way there is, in turn.
  void Next() {
    ++moves_ % 3 == 0 ? iterator_->Next() : iterator_->Advance();
    Expect(index_ + 1, "Next");
  }
  void Prev() {
    ++moves_ % 3 == 0 ? iterator_->Prev() : iterator_->Retreat();
    Expect(index_ - 1, "Prev");
  }
  void NextKeyInBlock() {
    size_t last = index_;  // of the user key
    while (last + 1 < entries_.size() && entries_[last + 1].user_key == entries_[index_].user_key) ++last;
    if (iterator_->NextKeyInBlock()) return Expect(last + 1, "NextKeyInBlock");
    while (index_ < last && iterator_->key().trailer != entries_[index_].trailer) ++index_;
    Expect(index_, "NextKeyInBlock, refused,");
  }

 private:
  size_t LowerBound(InternalKeyView target) const {
    const auto less = [this](const TestEntry& entry, InternalKeyView t) { return order_.Less(entry.key(), t); };
    return static_cast<size_t>(std::lower_bound(entries_.begin(), entries_.end(), target, less) - entries_.begin());
  }
  template <class Move>
  void Lend(InternalKeyView target, Move move) {
    auto lent = std::make_unique<std::string>(target.user_key);
    move(InternalKeyView{*lent, target.trailer});
    std::fill(lent->begin(), lent->end(), '\x5c');
  }
  void Expect(size_t index, const std::string& move) {
    index_ = index;
    ASSERT_TRUE(iterator_->status().ok()) << move << ": " << iterator_->status();
    ASSERT_EQ(iterator_->Valid(), index < entries_.size()) << move << " to " << index << " of " << entries_.size();
    if (!iterator_->Valid()) return;
    ASSERT_EQ(ToString(iterator_->key()), ToString(entries_[index].key())) << move << " to " << index;
    ASSERT_EQ(iterator_->key().user_key, entries_[index].user_key) << move << " to " << index;
    ASSERT_EQ(iterator_->value(), entries_[index].value) << move << " to " << index;
  }

  const KeyOrder order_;
  const std::vector<TestEntry>& entries_;
  const std::unique_ptr<InternalIterator> iterator_;
  size_t index_ = 0;
  int moves_ = 0;
};

template <class Source>
class IteratorConformance : public testing::Test {
 protected:
  // Runs `body(entries, checked iterator)` over sources of several sizes and orders.
  template <class Body>
  void ForEachShape(Body body) {
    for (const Comparator* comparator : {BytewiseComparator(), ReverseComparatorForTest()}) {
      const KeyOrder order(comparator);
      uint64_t seed = 1;
      for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{3}, size_t{17}, size_t{130}, size_t{700}}) {
        SCOPED_TRACE(std::string(comparator->Name()) + ", " + std::to_string(count) + " entries");
        Walk(order, RandomTestEntries(order, count, ++seed), body);
        if constexpr (!requires { Source::kHistory; }) {
          Walk(order, PlainTestEntries(order, count, ValueKind::kPut), body);
          Walk(order, PlainTestEntries(order, count, ValueKind::kDelete), body);
        }
        if (this->HasFatalFailure()) return;
      }
    }
  }
  template <class Body>
  void Walk(KeyOrder order, const std::vector<TestEntry>& entries, const Body& body) {
    Source source;
    source.Build(order, entries);
    CheckedIterator iterator(order, entries, source.NewIterator());
    body(entries, iterator);
  }

  // Keys at and between the entries, before the first and after the last.
  static std::vector<InternalKey> Targets(const std::vector<TestEntry>& entries) {
    std::vector<InternalKey> targets = {InternalKey("", kFirstTrailer), InternalKey("", kLastTrailer),
                                        InternalKey(std::string(40, '\xff'), kFirstTrailer),
                                        InternalKey(std::string(40, '\xff'), kLastTrailer)};
    for (const TestEntry& entry : entries) {
      targets.emplace_back(entry.user_key, entry.trailer);
      targets.emplace_back(entry.user_key, entry.trailer + 1);
      targets.emplace_back(entry.user_key, entry.trailer - 1);
      targets.emplace_back(entry.user_key, kFirstTrailer);
      targets.emplace_back(entry.user_key, kLastTrailer);
      targets.emplace_back(entry.user_key + '\0', kFirstTrailer);
      targets.emplace_back(entry.user_key.substr(0, entry.user_key.size() / 2), SeekTrailer(SequenceNumber(7)));
    }
    return targets;
  }
};

TYPED_TEST_SUITE_P(IteratorConformance);

TYPED_TEST_P(IteratorConformance, IsNotValidBeforeTheFirstSeek) {
  const std::vector<TestEntry> entries = RandomTestEntries(KeyOrder(), 10, 1);
  TypeParam source;
  source.Build(KeyOrder(), entries);
  const std::unique_ptr<InternalIterator> iterator = source.NewIterator();
  EXPECT_FALSE(iterator->Valid());
  EXPECT_TRUE(iterator->status().ok());
}

TYPED_TEST_P(IteratorConformance, ForwardGivesEveryEntryOnceInOrder) {
  this->ForEachShape([](const std::vector<TestEntry>&, CheckedIterator& iterator) {
    for (iterator.SeekToFirst(); iterator.Valid() && !testing::Test::HasFatalFailure(); iterator.Next()) {
    }
  });
}

TYPED_TEST_P(IteratorConformance, BackwardGivesEveryEntryOnceInReverseOrder) {
  this->ForEachShape([](const std::vector<TestEntry>&, CheckedIterator& iterator) {
    for (iterator.SeekToLast(); iterator.Valid() && !testing::Test::HasFatalFailure(); iterator.Prev()) {
    }
  });
}

TYPED_TEST_P(IteratorConformance, SeekFindsTheFirstEntryAtOrAfterTheTarget) {
  this->ForEachShape([](const std::vector<TestEntry>& entries, CheckedIterator& iterator) {
    for (const InternalKey& target : IteratorConformance<TypeParam>::Targets(entries)) {
      iterator.Seek(target.view());
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TYPED_TEST_P(IteratorConformance, SeekBeforeFindsTheLastEntryBeforeTheTarget) {
  this->ForEachShape([](const std::vector<TestEntry>& entries, CheckedIterator& iterator) {
    for (const InternalKey& target : IteratorConformance<TypeParam>::Targets(entries)) {
      iterator.SeekBefore(target.view());
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TYPED_TEST_P(IteratorConformance, TurnsRoundAtEveryEntry) {
  this->ForEachShape([](const std::vector<TestEntry>& entries, CheckedIterator& iterator) {
    for (const TestEntry& entry : entries) {
      iterator.Seek(entry.key());
      iterator.Next();
      if (iterator.Valid()) iterator.Prev();
      if (iterator.Valid()) iterator.Prev();
      if (iterator.Valid()) iterator.Next();
      iterator.SeekBefore(entry.key());
      if (iterator.Valid()) iterator.Next();
      if (iterator.Valid()) iterator.Prev();
      if (testing::Test::HasFatalFailure()) return;
    }
  });
}

TYPED_TEST_P(IteratorConformance, CanBeSoughtAgainAfterEitherEnd) {
  this->ForEachShape([](const std::vector<TestEntry>& entries, CheckedIterator& iterator) {
    iterator.SeekToLast();
    if (iterator.Valid()) iterator.Next();
    iterator.SeekToFirst();
    if (iterator.Valid()) iterator.Prev();
    iterator.SeekToLast();
    if (entries.empty() || testing::Test::HasFatalFailure()) return;
    iterator.Next();
    iterator.Seek(entries.front().key());
    iterator.Prev();
    iterator.SeekBefore(entries.back().key());
  });
}

TYPED_TEST_P(IteratorConformance, FollowsTheModelOnRandomWalks) {
  this->ForEachShape([](const std::vector<TestEntry>& entries, CheckedIterator& iterator) {
    Random random(entries.size());
    const std::vector<InternalKey> targets = IteratorConformance<TypeParam>::Targets(entries);
    bool forward = true;
    for (int step = 0; step < 4000 && !testing::Test::HasFatalFailure(); ++step) {
      if (random.OneIn(8)) forward = !forward;
      if (!iterator.Valid() || random.OneIn(25)) {
        const InternalKeyView target = targets[random.Uniform(targets.size())].view();
        switch (random.Uniform(6)) {
          case 0:
            iterator.SeekToFirst();
            break;
          case 1:
            iterator.SeekToLast();
            break;
          case 2:
          case 3:
            iterator.Seek(target);
            break;
          default:
            iterator.SeekBefore(target);
        }
      } else if (forward) {
        random.OneIn(4) ? iterator.NextKeyInBlock() : iterator.Next();
      } else {
        iterator.Prev();
      }
    }
  });
}

REGISTER_TYPED_TEST_SUITE_P(IteratorConformance, IsNotValidBeforeTheFirstSeek, ForwardGivesEveryEntryOnceInOrder,
                            BackwardGivesEveryEntryOnceInReverseOrder, SeekFindsTheFirstEntryAtOrAfterTheTarget,
                            SeekBeforeFindsTheLastEntryBeforeTheTarget, TurnsRoundAtEveryEntry,
                            CanBeSoughtAgainAfterEitherEnd, FollowsTheModelOnRandomWalks);

}  // namespace sepal

#include "table/iterate/merging_iterator.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "table/block/block.h"
#include "tests/table/block/block_fixture.h"
#include "tests/table/block/block_iterator.h"
#include "tests/table/iterate/iterator_conformance.h"
#include "tests/table/iterate/vector_iterator.h"
#include "util/base/random.h"

namespace sepal {
namespace {

class VectorSource {
 public:
  void Build(KeyOrder order, const std::vector<TestEntry>& entries) {
    order_ = order;
    entries_ = entries;
  }
  std::unique_ptr<InternalIterator> NewIterator() { return std::make_unique<VectorIterator>(order_, &entries_); }

 private:
  KeyOrder order_;
  std::vector<TestEntry> entries_;
};

// Deals the entries out, in runs whose mean length is `run`.
std::vector<std::vector<TestEntry>> DealOut(const std::vector<TestEntry>& entries, size_t children, size_t run) {
  std::vector<std::vector<TestEntry>> parts(children);
  Random random(7);
  size_t part = 0;
  for (const TestEntry& entry : entries) {
    if (random.OneIn(run)) part = random.Uniform(children);
    parts[part].push_back(entry);
  }
  return parts;
}

// A merge of entries that were dealt out to children.
template <size_t kChildren, size_t kRun, bool kHint = false>
class MergedSource {
 public:
  void Build(KeyOrder order, const std::vector<TestEntry>& entries) {
    order_ = order;
    parts_ = DealOut(entries, kChildren, kRun);
    // What some keys begin with, and others sort before or after.
    if (kHint && !entries.empty()) hint_ = entries[entries.size() / 2].user_key.substr(0, 2);
  }
  std::unique_ptr<InternalIterator> NewIterator() {
    std::vector<std::unique_ptr<InternalIterator>> children;
    for (const auto& part : parts_) children.push_back(std::make_unique<VectorIterator>(order_, &part));
    return NewMergingIterator(order_, std::move(children), hint_);
  }

 private:
  KeyOrder order_;
  std::string hint_;
  std::vector<std::vector<TestEntry>> parts_;
};

class VectorSources final : public ConcatenationSources {
 public:
  VectorSources(KeyOrder order, const std::vector<std::vector<TestEntry>>* parts) : order_(order), parts_(parts) {}
  size_t Count() const override { return parts_->size(); }
  // An empty source answers for nothing.
  size_t Find(InternalKeyView target) const override {
    size_t i = 0;
    while (i < parts_->size() && ((*parts_)[i].empty() || order_.Less((*parts_)[i].back().key(), target))) ++i;
    return i;
  }
  std::unique_ptr<InternalIterator> Open(size_t index) override {
    opened.push_back(index);
    if (index == failing_source) return NewEmptyIterator(absl::DataLossError("cannot be opened"));
    return std::make_unique<VectorIterator>(order_, &(*parts_)[index]);
  }

  std::vector<size_t> opened;
  size_t failing_source = SIZE_MAX;

 private:
  const KeyOrder order_;
  const std::vector<std::vector<TestEntry>>* const parts_;
};

// Cuts the entries into parts of 0 to 9, of which so many are kept open.
template <size_t kKept>
class ConcatenatedSource {
 public:
  void Build(KeyOrder order, const std::vector<TestEntry>& entries) {
    order_ = order;
    Random random(7);
    size_t i = 0;
    while (i < entries.size()) {
      const size_t n = std::min<size_t>(random.Uniform(10), entries.size() - i);
      parts_.emplace_back(entries.begin() + i, entries.begin() + i + n);
      i += n;
    }
  }
  std::unique_ptr<InternalIterator> NewIterator() {
    return NewConcatenatingIterator(std::make_unique<VectorSources>(order_, &parts_), kKept);
  }

 private:
  KeyOrder order_;
  std::vector<std::vector<TestEntry>> parts_;
};

// One block, or nothing.
class BlockOfEntries {
 public:
  BlockOfEntries(KeyOrder order, std::span<const TestEntry> entries) : order_(order) {
    if (entries.empty()) return;
    BlockBuilder builder(/*tags=*/false);
    for (const TestEntry& entry : entries) builder.Add(entry.key(), entry.value, 0);
    bytes_.emplace(builder.Finish(/*continuation=*/false));
  }
  std::unique_ptr<InternalIterator> NewIterator() const {
    return bytes_.has_value() ? NewBlockIterator(bytes_->view(), order_) : NewEmptyIterator();
  }

 private:
  KeyOrder order_;
  std::optional<PaddedBytes> bytes_;
};

// Blocks of up to 40 entries, one after another.
class BlockSources final : public ConcatenationSources {
 public:
  BlockSources(KeyOrder order, const std::vector<TestEntry>* entries) : order_(order), entries_(entries) {
    for (size_t i = 0; i < entries->size(); i += kEntries) {
      blocks_.emplace_back(order, std::span(*entries).subspan(i, std::min(kEntries, entries->size() - i)));
    }
  }
  size_t Count() const override { return blocks_.size(); }
  size_t Find(InternalKeyView target) const override {
    size_t i = 0;
    while (i < Count() && order_.Less((*entries_)[std::min(entries_->size(), (i + 1) * kEntries) - 1].key(), target)) {
      ++i;
    }
    return i;
  }
  std::unique_ptr<InternalIterator> Open(size_t index) override { return blocks_[index].NewIterator(); }

 private:
  static constexpr size_t kEntries = 40;
  const KeyOrder order_;
  const std::vector<TestEntry>* const entries_;
  std::vector<BlockOfEntries> blocks_;
};

// As MergedSource, of children that lend their blocks' cursors.
template <size_t kChildren, size_t kRun>
class MergedBlocks {
 public:
  void Build(KeyOrder order, const std::vector<TestEntry>& entries) {
    order_ = order;
    parts_ = DealOut(entries, kChildren, kRun);
  }
  std::unique_ptr<InternalIterator> NewIterator() {
    std::vector<std::unique_ptr<InternalIterator>> children;
    for (const auto& part : parts_) {
      children.push_back(NewConcatenatingIterator(std::make_unique<BlockSources>(order_, &part), 4));
    }
    return NewMergingIterator(order_, std::move(children), "");
  }

 private:
  KeyOrder order_;
  std::vector<std::vector<TestEntry>> parts_;
};

INSTANTIATE_TYPED_TEST_SUITE_P(Vector, IteratorConformance, VectorSource);
using LendingSources =
    testing::Types<MergedBlocks<1, 1>, MergedBlocks<2, 30>, MergedBlocks<3, 60>, MergedBlocks<8, 25>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Lending, IteratorConformance, LendingSources);
using MergedSources =
    testing::Types<MergedSource<1, 1>, MergedSource<2, 1>, MergedSource<2, 20>, MergedSource<3, 1>, MergedSource<5, 4>,
                   MergedSource<8, 50>, MergedSource<13, 1>, MergedSource<5, 4, true>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Merged, IteratorConformance, MergedSources);
using ConcatenatedSources = testing::Types<ConcatenatedSource<1>, ConcatenatedSource<2>, ConcatenatedSource<32>>;
INSTANTIATE_TYPED_TEST_SUITE_P(Concatenated, IteratorConformance, ConcatenatedSources);

std::vector<TestEntry> Puts(const std::vector<std::string>& keys, uint64_t sequence) {
  std::vector<TestEntry> entries;
  for (const std::string& key : keys) {
    entries.push_back({key, PackTrailer(SequenceNumber(sequence), ValueKind::kPut), "v"});
  }
  return entries;
}

InternalKeyView At(std::string_view key) { return {key, kFirstTrailer}; }
InternalKey At(std::string_view key, uint64_t sequence) {
  return InternalKey(std::string(key), PackTrailer(SequenceNumber(sequence), ValueKind::kPut));
}

std::string KeysOf(InternalIterator* iterator) {
  std::string keys;
  for (iterator->SeekToFirst(); iterator->Valid(); iterator->Next()) {
    keys += std::string(iterator->key().user_key) + std::to_string(iterator->key().sequence().value()) + " ";
  }
  return keys;
}

TEST(EmptyIteratorTest, IsNeverValidAndKeepsItsStatus) {
  const auto ok = NewEmptyIterator();
  ok->SeekToFirst();
  EXPECT_FALSE(ok->Valid());
  EXPECT_TRUE(ok->status().ok());
  const auto failed = NewEmptyIterator(absl::DataLossError("bad"));
  failed->Seek(At("a"));
  EXPECT_FALSE(failed->Valid());
  EXPECT_EQ(failed->status(), absl::DataLossError("bad"));
}

TEST(MergingIteratorTest, AMergeOfNoChildrenIsEmpty) {
  const auto merged = NewMergingIterator(KeyOrder(), {});
  merged->SeekToLast();
  EXPECT_FALSE(merged->Valid());
  EXPECT_TRUE(merged->status().ok());
}

TEST(MergingIteratorTest, AMergeOfOneChildIsThatChild) {
  const std::vector<TestEntry> entries = Puts({"a"}, 1);
  std::vector<std::unique_ptr<InternalIterator>> children;
  children.push_back(std::make_unique<VectorIterator>(KeyOrder(), &entries));
  const InternalIterator* child = children[0].get();
  EXPECT_EQ(NewMergingIterator(KeyOrder(), std::move(children)).get(), child);
}

TEST(MergingIteratorTest, GivesTheNewestUpdateOfAKeyFirstWhicheverChildHoldsIt) {
  const std::vector<TestEntry> first = Puts({"a", "b", "c"}, 2);
  const std::vector<TestEntry> second = Puts({"a", "c"}, 3);
  const std::vector<TestEntry> third = Puts({"b", "c"}, 1);
  std::vector<std::unique_ptr<InternalIterator>> children;
  for (const auto* part : {&first, &second, &third}) {
    children.push_back(std::make_unique<VectorIterator>(KeyOrder(), part));
  }
  const auto merged = NewMergingIterator(KeyOrder(), std::move(children));
  EXPECT_EQ(KeysOf(merged.get()), "a3 a2 b2 b1 c3 c2 c1 ");
}

// Going backward, the child that is next has a newer update of the key that the lent block begins with.
TEST(MergingIteratorTest, AStepBackWithinTheLentBlockDoesNotPassOverANewerUpdateOfAnotherChild) {
  std::vector<BlockEntry> entries;
  for (const char key : std::string("bcdefghijklmnopqrstu")) entries.push_back({At({&key, 1}, 5), std::string(1, key)});
  const PaddedBytes older(BuildBlock(entries, true));
  const PaddedBytes newer(BuildBlock({{At("b", 7), "newer"}}, true));
  std::vector<std::unique_ptr<InternalIterator>> children;
  for (const PaddedBytes* block : {&newer, &older}) children.push_back(NewBlockIterator(block->view(), KeyOrder()));
  const auto merged = NewMergingIterator(KeyOrder(), std::move(children));
  merged->SeekToLast();
  while (merged->Valid() && merged->value() != "c") merged->Retreat();
  ASSERT_TRUE(merged->Valid());
  EXPECT_TRUE(merged->BeginsKeyInBlock()) << "nothing is lent";
  EXPECT_FALSE(merged->PrevKeyInBlock());
  merged->Retreat();
  ASSERT_TRUE(merged->Valid());
  EXPECT_EQ(merged->value(), "b");
  EXPECT_FALSE(merged->BeginsKeyInBlock());
  merged->Retreat();
  ASSERT_TRUE(merged->Valid());
  EXPECT_EQ(merged->value(), "newer");
}

TEST(MergingIteratorTest, KeysOfEightFullBytesDoNotPassForTheEnd) {
  const std::string highest(8, '\xff');
  const std::vector<TestEntry> first = Puts({highest, highest + "b"}, 1);
  const std::vector<TestEntry> second = Puts({"a", highest + "a"}, 1);
  const std::vector<TestEntry> empty;
  std::vector<std::unique_ptr<InternalIterator>> children;
  for (const auto* part : {&empty, &first, &empty, &second}) {
    children.push_back(std::make_unique<VectorIterator>(KeyOrder(), part));
  }
  const auto merged = NewMergingIterator(KeyOrder(), std::move(children));
  EXPECT_EQ(KeysOf(merged.get()), "a1 " + highest + "1 " + highest + "a1 " + highest + "b1 ");
  // Going backward it is the lowest prefix that could be taken for it.
  merged->SeekToLast();
  for (int i = 0; i < 3; ++i) merged->Prev();
  ASSERT_TRUE(merged->Valid());
  EXPECT_EQ(merged->key().user_key, "a");
}

class FailingMergeTest : public testing::Test {
 protected:
  FailingMergeTest() {
    std::vector<std::unique_ptr<InternalIterator>> children;
    children.push_back(std::make_unique<VectorIterator>(KeyOrder(), &good_));
    auto bad = std::make_unique<VectorIterator>(KeyOrder(), &bad_);
    bad->FailAt(1, absl::DataLossError("damaged"));
    children.push_back(std::move(bad));
    merged_ = NewMergingIterator(KeyOrder(), std::move(children));
  }
  void ExpectFailed() {
    EXPECT_FALSE(merged_->Valid());
    EXPECT_EQ(merged_->status(), absl::DataLossError("damaged"));
  }

  const std::vector<TestEntry> good_ = Puts({"a", "c", "e", "g"}, 1);
  const std::vector<TestEntry> bad_ = Puts({"b", "d", "f"}, 1);
  std::unique_ptr<InternalIterator> merged_;
};

TEST_F(FailingMergeTest, AChildThatFailsOnAMoveEndsTheMergeWithItsStatus) {
  merged_->SeekToFirst();
  merged_->Next();
  ASSERT_TRUE(merged_->Valid());
  EXPECT_EQ(merged_->key().user_key, "b");
  merged_->Next();
  ExpectFailed();
  merged_->SeekToLast();
  ASSERT_TRUE(merged_->Valid());
  merged_->Prev();
  ASSERT_TRUE(merged_->Valid());
  EXPECT_EQ(merged_->key().user_key, "f");
  merged_->Prev();
  ExpectFailed();
}

TEST_F(FailingMergeTest, AChildThatFailsOnASeekEndsTheMergeWithItsStatus) {
  merged_->Seek(At("c"));
  ExpectFailed();
  merged_->SeekBefore(At("e"));
  ExpectFailed();
}

TEST_F(FailingMergeTest, AChildThatFailsWhenTheMergeTurnsRoundEndsIt) {
  merged_->Seek(At("e"));
  ASSERT_TRUE(merged_->Valid());
  EXPECT_EQ(merged_->key().user_key, "e");
  merged_->Prev();
  ExpectFailed();
}

TEST_F(FailingMergeTest, ASeekElsewhereHeals) {
  merged_->Seek(At("c"));
  ExpectFailed();
  merged_->Seek(At("e"));
  ASSERT_TRUE(merged_->Valid());
  EXPECT_TRUE(merged_->status().ok());
  EXPECT_EQ(merged_->key().user_key, "e");
}

class ConcatenatingIteratorTest : public testing::Test {
 protected:
  ConcatenatingIteratorTest() {
    auto sources = std::make_unique<VectorSources>(KeyOrder(), &parts_);
    sources_ = sources.get();
    iterator_ = NewConcatenatingIterator(std::move(sources));
  }

  const std::vector<std::vector<TestEntry>> parts_ = {Puts({"a", "b"}, 1), Puts({"c"}, 1), Puts({"d", "e"}, 1)};
  VectorSources* sources_;
  std::unique_ptr<InternalIterator> iterator_;
};

TEST_F(ConcatenatingIteratorTest, OpensASourceOnlyWhenItIsReached) {
  EXPECT_TRUE(sources_->opened.empty());
  iterator_->Seek(At("b"));
  EXPECT_EQ(sources_->opened, (std::vector<size_t>{0}));
  iterator_->Next();
  EXPECT_EQ(sources_->opened, (std::vector<size_t>{0, 1}));
  iterator_->Seek(At("c"));
  EXPECT_EQ(sources_->opened, (std::vector<size_t>{0, 1})) << "the open source is used again";
}

TEST_F(ConcatenatingIteratorTest, SourcesThatAreKeptAreOpenedOnce) {
  auto sources = std::make_unique<VectorSources>(KeyOrder(), &parts_);
  VectorSources* const kept = sources.get();
  // Two of three: sources 0 and 2 have one place.
  const std::unique_ptr<InternalIterator> it = NewConcatenatingIterator(std::move(sources), 2);
  const auto visit = [&](const char* key) {
    it->Seek(At(key));
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->key().user_key, key);
  };
  for (int round = 0; round < 3; ++round) {
    visit("b");
    visit("c");
    it->Prev();
    EXPECT_EQ(it->key().user_key, "b");
  }
  EXPECT_EQ(kept->opened, (std::vector<size_t>{0, 1}));
  visit("e");
  visit("c");
  EXPECT_EQ(kept->opened, (std::vector<size_t>{0, 1, 2}));
  visit("a");
  EXPECT_EQ(kept->opened, (std::vector<size_t>{0, 1, 2, 0}));
}

TEST_F(ConcatenatingIteratorTest, ASourceThatFailsIsOpenedAnewAlsoWhereSourcesAreKept) {
  auto sources = std::make_unique<VectorSources>(KeyOrder(), &parts_);
  sources->failing_source = 1;
  VectorSources* const kept = sources.get();
  const std::unique_ptr<InternalIterator> it = NewConcatenatingIterator(std::move(sources), 3);
  it->Seek(At("c"));
  EXPECT_EQ(it->status(), absl::DataLossError("cannot be opened"));
  it->Seek(At("a"));
  EXPECT_TRUE(it->Valid());
  kept->failing_source = SIZE_MAX;
  it->Seek(At("c"));
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key().user_key, "c");
}

TEST_F(ConcatenatingIteratorTest, ASourceThatFailsEndsItAndIsNotSkipped) {
  sources_->failing_source = 1;
  iterator_->Seek(At("b"));
  ASSERT_TRUE(iterator_->Valid());
  iterator_->Next();
  EXPECT_FALSE(iterator_->Valid());
  EXPECT_EQ(iterator_->status(), absl::DataLossError("cannot be opened"));
  iterator_->SeekBefore(At("d"));
  EXPECT_FALSE(iterator_->Valid());
  EXPECT_EQ(iterator_->status(), absl::DataLossError("cannot be opened"));
  sources_->failing_source = SIZE_MAX;
  iterator_->Seek(At("c"));
  EXPECT_TRUE(iterator_->Valid());
  EXPECT_TRUE(iterator_->status().ok());
}

TEST_F(ConcatenatingIteratorTest, AConcatenationOfNoSourcesIsEmpty) {
  const std::vector<std::vector<TestEntry>> none;
  const auto iterator = NewConcatenatingIterator(std::make_unique<VectorSources>(KeyOrder(), &none));
  iterator->SeekToFirst();
  EXPECT_FALSE(iterator->Valid());
  iterator->SeekToLast();
  EXPECT_FALSE(iterator->Valid());
  iterator->SeekBefore(At("x"));
  EXPECT_FALSE(iterator->Valid());
  EXPECT_TRUE(iterator->status().ok());
}

}  // namespace
}  // namespace sepal

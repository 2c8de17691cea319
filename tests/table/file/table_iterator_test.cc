#include <random>

#include "tests/table/file/table_fixture.h"
#include "tests/table/iterate/iterator_conformance.h"

namespace sepal {
namespace {

template <TableReader::ReadKind kKind, size_t kBlockBytes, uint32_t kBlocksPerLeafPage, size_t kCacheBytes>
class TableSource {
 public:
  void Build(KeyOrder order, const std::vector<TestEntry>& entries) {
    if (entries.empty()) return;
    TableWriterOptions options = TestWriterOptions();
    options.order = order;
    options.block_bytes = kBlockBytes;
    options.blocks_per_leaf_page = kBlocksPerLeafPage;
    if (kCacheBytes > 0) cache_ = std::make_unique<TestCache>(kCacheBytes);
    reader_ = MustOpenTable(WriteTable(options, entries), cache_.get(), order);
  }
  std::unique_ptr<InternalIterator> NewIterator() {
    return reader_ == nullptr ? NewEmptyIterator() : TableReader::NewIterator(reader_, kKind);
  }

 private:
  std::unique_ptr<TestCache> cache_;
  std::shared_ptr<TableReader> reader_;
};

using Kind = TableReader::ReadKind;
using CachedTable = TableSource<Kind::kUser, 300, 3, (size_t{1} << 20)>;
using OneEntryBlocks = TableSource<Kind::kUser, 1, 5, (size_t{1} << 20)>;
using OneEntryBlocksCramped = TableSource<Kind::kUser, 1, 5, 3000>;
using CrampedTable = TableSource<Kind::kUser, 4096, 64, 3000>;
using UncachedTable = TableSource<Kind::kUser, 256, 1, 0>;
using NoFillTable = TableSource<Kind::kUserNoFill, 1000, 2, (size_t{1} << 20)>;
using CompactionTable = TableSource<Kind::kCompaction, 300, 3, (size_t{1} << 20)>;

INSTANTIATE_TYPED_TEST_SUITE_P(CachedTable, IteratorConformance, CachedTable);
INSTANTIATE_TYPED_TEST_SUITE_P(OneEntryBlocks, IteratorConformance, OneEntryBlocks);
INSTANTIATE_TYPED_TEST_SUITE_P(OneEntryBlocksCramped, IteratorConformance, OneEntryBlocksCramped);
INSTANTIATE_TYPED_TEST_SUITE_P(CrampedTable, IteratorConformance, CrampedTable);
INSTANTIATE_TYPED_TEST_SUITE_P(UncachedTable, IteratorConformance, UncachedTable);
INSTANTIATE_TYPED_TEST_SUITE_P(NoFillTable, IteratorConformance, NoFillTable);
INSTANTIATE_TYPED_TEST_SUITE_P(CompactionTable, IteratorConformance, CompactionTable);

// A scan in both directions gives the entries; returns how many reads it took.
uint64_t Scan(Kind kind, bool forward, const std::vector<TestEntry>& entries, TestCache* cache) {
  auto faults = std::make_shared<ReadFaults>();
  auto reader = OpenTable(std::make_shared<const std::string>(WriteTable(TestWriterOptions(), entries)), cache,
                          KeyOrder(), faults);
  EXPECT_TRUE(reader.ok());
  const uint64_t before = faults->reads;
  const std::unique_ptr<InternalIterator> it = TableReader::NewIterator(*reader, kind);
  size_t count = 0;
  if (forward) {
    for (it->SeekToFirst(); it->Valid(); it->Next()) EXPECT_EQ(it->key(), entries[count++].key());
  } else {
    for (it->SeekToLast(); it->Valid(); it->Prev()) EXPECT_EQ(it->key(), entries[entries.size() - ++count].key());
  }
  EXPECT_TRUE(it->status().ok());
  EXPECT_EQ(count, entries.size());
  return faults->reads - before;
}

TEST(TableIteratorTest, ScansReadAheadInTheirDirectionAndCompactionsForwardOnly) {
  const std::vector<TestEntry> entries = EvenEntries(30000, 100);  // about 3.6 MB, 900 blocks
  TestCache cache(size_t{64} << 20);
  EXPECT_LT(Scan(Kind::kCompaction, true, entries, &cache), 40u);
  EXPECT_EQ(cache.budget.used(MemoryPart::kDataBlocks), 0u);
  EXPECT_EQ(cache.budget.used(MemoryPart::kCompaction), 0u);
  EXPECT_LT(Scan(Kind::kUser, true, entries, &cache), 60u);
  EXPECT_LT(Scan(Kind::kUserNoFill, true, entries, &cache), 60u);
  EXPECT_LT(Scan(Kind::kUser, false, entries, &cache), 60u);
  EXPECT_LT(Scan(Kind::kUserNoFill, false, entries, &cache), 60u);
  EXPECT_GT(Scan(Kind::kCompaction, false, entries, &cache), 500u);
}

TEST(TableIteratorTest, UserScansFillTheCacheOnlyWhereAsked) {
  const std::vector<TestEntry> entries = EvenEntries(5000, 100);
  TestCache cache(size_t{64} << 20);
  std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(TestWriterOptions(), entries), &cache);
  for (const Kind kind : {Kind::kCompaction, Kind::kUserNoFill, Kind::kUser}) {
    const std::unique_ptr<InternalIterator> it = TableReader::NewIterator(reader, kind);
    for (it->SeekToFirst(); it->Valid(); it->Next()) {
    }
    if (kind == Kind::kUser) {
      EXPECT_GT(cache.budget.used(MemoryPart::kDataBlocks), 400'000u);
    } else {
      EXPECT_EQ(cache.budget.used(MemoryPart::kDataBlocks), 0u);
    }
  }
}

// A table whose blocks a user's scan has put into the cache.
class CompactionOfCachedBlocks : public testing::Test {
 protected:
  void Cache(size_t begin, size_t end) {
    const std::unique_ptr<InternalIterator> it = TableReader::NewIterator(reader_, Kind::kUser);
    it->Seek(entries_[begin].key());
    for (size_t i = begin; i < end; ++i, it->Next()) ASSERT_TRUE(it->Valid());
  }
  void ExpectACompactionSeesAll() {
    const std::unique_ptr<InternalIterator> it = TableReader::NewIterator(reader_, Kind::kCompaction);
    size_t count = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next(), ++count) {
      ASSERT_EQ(it->key(), entries_[count].key());
      ASSERT_EQ(it->value(), entries_[count].value);
    }
    EXPECT_TRUE(it->status().ok()) << it->status();
    EXPECT_EQ(count, entries_.size());
  }
  size_t DataInCache() const { return cache_.budget.used(MemoryPart::kDataBlocks); }
  uint64_t BytesRead() const { return cache_.statistics.Get(Ticker::kBlockReadBytes); }

  const std::vector<TestEntry> entries_ = EvenEntries(30000, 100);  // about 3.6 MB, 900 blocks
  const std::shared_ptr<ReadFaults> faults_ = std::make_shared<ReadFaults>();
  TestCache cache_{size_t{64} << 20};
  const std::shared_ptr<TableReader> reader_ = *OpenTable(
      std::make_shared<const std::string>(WriteTable(TestWriterOptions(), entries_)), &cache_, KeyOrder(), faults_);
};

TEST_F(CompactionOfCachedBlocks, ReadsNothingAndCountsNothing) {
  Cache(0, entries_.size());
  const uint64_t reads = faults_->reads, hits = cache_.statistics.Get(Ticker::kBlockCacheHits);
  ExpectACompactionSeesAll();
  EXPECT_EQ(faults_->reads, reads);
  EXPECT_EQ(cache_.statistics.Get(Ticker::kBlockCacheHits), hits);
}

TEST_F(CompactionOfCachedBlocks, LeavesTheirMemoryToOthersUnlessSomebodyFoundThemThere) {
  Cache(0, entries_.size());
  const size_t all = DataInCache();
  Cache(0, entries_.size() / 3);
  ExpectACompactionSeesAll();
  EXPECT_NEAR(static_cast<double>(DataInCache()), static_cast<double>(all) / 3, static_cast<double>(all) / 100);
}

TEST_F(CompactionOfCachedBlocks, ReadsNoFurtherThanToWhatIsCached) {
  Cache(0, 14000);
  Cache(15000, entries_.size());
  const uint64_t bytes = BytesRead(), reads = faults_->reads;
  ExpectACompactionSeesAll();
  const double share = 1000.0 / static_cast<double>(entries_.size());
  EXPECT_NEAR(static_cast<double>(BytesRead() - bytes), static_cast<double>(reader_->properties().data_bytes) * share,
              10'000);
  EXPECT_LE(faults_->reads - reads, 2u);
}

TEST_F(CompactionOfCachedBlocks, ReadsThroughSingleBlocksThatAre) {
  for (size_t i = 0; i < entries_.size(); i += 333) Cache(i, i + 1);  // one block in ten
  const uint64_t reads = faults_->reads;
  ExpectACompactionSeesAll();
  EXPECT_LT(faults_->reads - reads, 30u);
}

// How often a cache was asked.
struct CacheAsked {
  uint64_t blocks = 0;
  uint64_t pages = 0;

  static CacheAsked Of(const TestCache& cache) {
    const StatisticsImpl& all = cache.statistics;
    return {all.Get(Ticker::kBlockCacheHits) + all.Get(Ticker::kBlockCacheMisses),
            all.Get(Ticker::kMetadataCacheHits) + all.Get(Ticker::kMetadataCacheMisses)};
  }
  CacheAsked Since(const CacheAsked& before) const { return {blocks - before.blocks, pages - before.pages}; }
  friend bool operator==(const CacheAsked&, const CacheAsked&) = default;
  friend std::ostream& operator<<(std::ostream& out, const CacheAsked& asked) {
    return out << asked.blocks << " blocks, " << asked.pages << " pages";
  }
};

// By index, the first entry of each block.
std::vector<size_t> FirstEntriesOfBlocks(const TableReader& reader) {
  std::vector<size_t> firsts;
  size_t entries = 0;
  EXPECT_TRUE(reader
                  .ForEachBlock([&](const TableReader::BlockInfo& block) {
                    firsts.push_back(entries);
                    entries += block.entries;
                    return absl::OkStatus();
                  })
                  .ok());
  return firsts;
}

TEST(TableIteratorTest, ASeekAsksTheCacheForNothingThatTheIteratorHolds) {
  TableWriterOptions options = TestWriterOptions();
  options.block_bytes = 1000;
  options.blocks_per_leaf_page = 4;
  const std::vector<TestEntry> entries = EvenEntries(300, 100);
  TestCache cache(size_t{1} << 20);
  const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(options, entries), &cache);
  const std::vector<size_t> firsts = FirstEntriesOfBlocks(*reader);
  ASSERT_GT(firsts.size(), 8u);
  ASSERT_GE(firsts[2] - firsts[1], 3u);
  for (const Kind kind : {Kind::kUser, Kind::kUserNoFill}) {
    for (const bool prepared : {false, true}) {
      SCOPED_TRACE(prepared);
      const std::unique_ptr<InternalIterator> it = TableReader::NewIterator(reader, kind);
      const auto asked_by_seek = [&](size_t i) {
        const CacheAsked before = CacheAsked::Of(cache);
        const InternalKeyView target = entries[i].key();
        for (int step = 0; prepared && step < InternalIterator::kSeekSteps; ++step) it->PrepareSeek(target, step);
        it->Seek(target);
        EXPECT_TRUE(it->Valid() && it->key() == target) << i;
        return CacheAsked::Of(cache).Since(before);
      };
      EXPECT_EQ(asked_by_seek(firsts[1]), (CacheAsked{.blocks = 1, .pages = 1}));
      for (size_t i = firsts[1]; i < firsts[2]; ++i) EXPECT_EQ(asked_by_seek(i), CacheAsked());
      for (size_t i = firsts[2]; i-- > firsts[1];) EXPECT_EQ(asked_by_seek(i), CacheAsked());
      const CacheAsked before = CacheAsked::Of(cache);
      it->SeekBefore(entries[firsts[2] - 1].key());
      EXPECT_TRUE(it->Valid() && it->key() == entries[firsts[2] - 2].key());
      EXPECT_EQ(CacheAsked::Of(cache).Since(before), CacheAsked());
      // Another block of the same page, and one of the next page.
      EXPECT_EQ(asked_by_seek(firsts[3]), (CacheAsked{.blocks = 1, .pages = 0}));
      EXPECT_EQ(asked_by_seek(firsts[4]), (CacheAsked{.blocks = 1, .pages = 1}));
      EXPECT_EQ(asked_by_seek(firsts[4] + 1), CacheAsked());
    }
  }
}

TEST(TableIteratorTest, AnIteratorAtRestHoldsNothingAndGoesOnAnywhere) {
  const std::vector<TestEntry> entries = EvenEntries(5000, 100);
  for (const Kind kind : {Kind::kUser, Kind::kUserNoFill, Kind::kCompaction}) {
    constexpr size_t kLimit = size_t{8} << 20;
    TestCache cache(kLimit);
    const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(TestWriterOptions(), entries), &cache);
    // Blocks that stay although all memory is wanted are those that are held.
    const auto held = [&] {
      cache.budget.Charge(MemoryPart::kMemtables, kLimit);
      cache.cache.Shrink();
      cache.budget.Release(MemoryPart::kMemtables, kLimit);
      return cache.budget.used(MemoryPart::kDataBlocks) + cache.budget.used(MemoryPart::kLeafPages) +
             cache.budget.used(MemoryPart::kPins);
    };
    const uint64_t held_by_the_reader = held();
    const std::unique_ptr<InternalIterator> it = TableReader::NewIterator(reader, kind);
    it->SeekToFirst();
    for (int i = 0; i < 1000; ++i) it->Advance();
    ASSERT_TRUE(it->Valid());
    const MemoryPart window = kind == Kind::kCompaction ? MemoryPart::kCompaction : MemoryPart::kReadAhead;
    EXPECT_GT(cache.budget.used(window), 0u) << "it reads ahead";
    if (kind != Kind::kCompaction) {
      EXPECT_GT(held(), held_by_the_reader);
    }
    it->Rest();
    EXPECT_FALSE(it->Valid());
    EXPECT_TRUE(it->status().ok());
    EXPECT_EQ(cache.budget.used(window), 0u);
    EXPECT_EQ(held(), held_by_the_reader);
    it->Seek(entries[4000].key());
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->key(), entries[4000].key());
    it->Advance();
    EXPECT_EQ(it->key(), entries[4001].key());
    it->Rest();
    it->SeekBefore(entries[10].key());
    ASSERT_TRUE(it->Valid());
    EXPECT_EQ(it->key(), entries[9].key());
  }
}

// Where each value has a block of its own, others are prefetched by where they once lay.
TEST(TableIteratorTest, ValuesAsLargeAsBlocksAreMetInOrderWhereverItTurns) {
  constexpr int64_t kEntries = 400;
  std::vector<TestEntry> entries = EvenEntries(kEntries);
  for (size_t i = 0; i < entries.size(); ++i) entries[i].value.assign(4100 + 37 * (i % 50), static_cast<char>(i));
  TestCache cache(size_t{512} << 10);  // about a quarter of the table, so that much of what was seen is gone
  const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(TestWriterOptions(), entries), &cache);
  ASSERT_EQ(reader->properties().data_blocks, entries.size());
  const std::unique_ptr<InternalIterator> it = TableReader::NewIterator(reader, Kind::kUser);
  std::mt19937 random(7);
  for (int walk = 0; walk < 200; ++walk) {
    int64_t at = static_cast<int64_t>(random() % kEntries);
    it->Seek(entries[static_cast<size_t>(at)].key());
    for (int turn = 0; turn < 4; ++turn) {
      const int direction = turn % 2 == 0 ? 1 : -1;
      for (uint32_t steps = random() % 100; steps > 0; --steps) {
        ASSERT_TRUE(it->Valid()) << it->status();
        ASSERT_EQ(it->key(), entries[static_cast<size_t>(at)].key());
        ASSERT_EQ(it->value(), entries[static_cast<size_t>(at)].value);
        if (at + direction < 0 || at + direction == kEntries) break;
        direction > 0 ? it->Advance() : it->Retreat();
        at += direction;
      }
    }
  }
}

TEST(TableIteratorTest, OutlivesEveryOtherHolderOfTheReader) {
  TestCache cache(size_t{1} << 20);
  std::unique_ptr<InternalIterator> it =
      TableReader::NewIterator(MustOpenTable(WriteTable(TestWriterOptions(), EvenEntries(1000)), &cache), Kind::kUser);
  it->SeekToLast();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key().user_key, "key001998");
}

TEST(TableIteratorTest, WhatCannotBeReadOfAWindowFailsNothingBeforeIt) {
  const std::vector<TestEntry> entries = EvenEntries(3000, 100);
  for (const Kind kind : {Kind::kUser, Kind::kUserNoFill, Kind::kCompaction}) {
    auto faults = std::make_shared<ReadFaults>();
    auto reader = OpenTable(std::make_shared<const std::string>(WriteTable(TestWriterOptions(), entries)), nullptr,
                            KeyOrder(), faults);
    ASSERT_TRUE(reader.ok());
    std::vector<BlockHandle> blocks;
    std::vector<size_t> ends;  // behind their last entries
    ASSERT_TRUE((*reader)
                    ->ForEachBlock([&](const TableReader::BlockInfo& block) {
                      blocks.push_back(block.handle);
                      ends.push_back((ends.empty() ? 0 : ends.back()) + block.entries);
                      return absl::OkStatus();
                    })
                    .ok());
    ASSERT_GT(blocks.size(), 40u);
    faults->status = absl::InternalError("a bad sector");
    faults->from = blocks[30].offset + 1;
    faults->to = faults->from + 1;
    const std::unique_ptr<InternalIterator> it = TableReader::NewIterator(*reader, kind);
    size_t count = 0;
    for (it->SeekToFirst(); it->Valid(); it->Next()) ++count;
    EXPECT_EQ(count, ends[29]);
    EXPECT_TRUE(absl::IsInternal(it->status())) << it->status();
    for (it->Seek(entries[ends[30]].key()); it->Valid(); it->Next()) ++count;
    EXPECT_TRUE(it->status().ok()) << it->status();
    EXPECT_EQ(count, entries.size() - (ends[30] - ends[29]));
  }
}

TEST(TableIteratorTest, AFailedReadIsTheStatusAndTheIteratorRecovers) {
  const std::vector<TestEntry> entries = EvenEntries(3000);
  for (const Kind kind : {Kind::kUser, Kind::kCompaction}) {
    auto faults = std::make_shared<ReadFaults>();
    auto reader = OpenTable(std::make_shared<const std::string>(WriteTable(TestWriterOptions(), entries)), nullptr,
                            KeyOrder(), faults);
    ASSERT_TRUE(reader.ok());
    const std::unique_ptr<InternalIterator> it = TableReader::NewIterator(*reader, kind);
    faults->status = absl::InternalError("the disk is gone");
    it->SeekToFirst();
    EXPECT_FALSE(it->Valid());
    EXPECT_EQ(it->status().code(), absl::StatusCode::kInternal);
    it->SeekBefore({"key", kFirstTrailer});
    EXPECT_EQ(it->status().code(), absl::StatusCode::kInternal);
    faults->status = absl::OkStatus();
    it->Seek(entries[100].key());
    ASSERT_TRUE(it->Valid());
    EXPECT_TRUE(it->status().ok());
    EXPECT_EQ(it->key(), entries[100].key());
  }
}

}  // namespace
}  // namespace sepal

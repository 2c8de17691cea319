#include "tests/table/iterator_conformance.h"
#include "tests/table/table_fixture.h"

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
using CrampedTable = TableSource<Kind::kUser, 4096, 64, 3000>;
using UncachedTable = TableSource<Kind::kUser, 256, 1, 0>;
using NoFillTable = TableSource<Kind::kUserNoFill, 1000, 2, (size_t{1} << 20)>;
using CompactionTable = TableSource<Kind::kCompaction, 300, 3, (size_t{1} << 20)>;

INSTANTIATE_TYPED_TEST_SUITE_P(CachedTable, IteratorConformance, CachedTable);
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

TEST(TableIteratorTest, OutlivesEveryOtherHolderOfTheReader) {
  TestCache cache(size_t{1} << 20);
  std::unique_ptr<InternalIterator> it =
      TableReader::NewIterator(MustOpenTable(WriteTable(TestWriterOptions(), EvenEntries(1000)), &cache), Kind::kUser);
  it->SeekToLast();
  ASSERT_TRUE(it->Valid());
  EXPECT_EQ(it->key().user_key, "key001998");
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

#include "table/file/table_reader.h"

#include <optional>

#include "tests/table/file/table_fixture.h"
#include "tests/table/iterate/iterator_conformance.h"
#include "util/base/compression.h"

namespace sepal {
namespace {

struct Shape {
  CompressionKind compression = CompressionKind::kSnappy;
  size_t block_bytes = 4096;
  uint32_t blocks_per_leaf_page = 64;
  FilterPolicy policy = {};
  const Comparator* comparator = BytewiseComparator();
};

TableWriterOptions OptionsOf(const Shape& shape) {
  TableWriterOptions options = TestWriterOptions();
  options.compression = shape.compression;
  options.block_bytes = shape.block_bytes;
  options.blocks_per_leaf_page = shape.blocks_per_leaf_page;
  options.filter_policy = shape.policy;
  options.order = KeyOrder(shape.comparator);
  return options;
}

std::string Describe(const Shape& shape) {
  return std::string(Name(shape.compression)) + ", blocks of " + std::to_string(shape.block_bytes) +
         ", leaf pages of " + std::to_string(shape.blocks_per_leaf_page) + ", lanes of " +
         std::to_string(shape.policy.lane_bits_per_key) + " bits, guard of " +
         std::to_string(shape.policy.guard_bits_per_key) + " bits, order " + std::string(shape.comparator->Name());
}

std::vector<Shape> AllShapes() {
  std::vector<Shape> shapes;
  size_t turn = 0;
  const CompressionKind kinds[] = {CompressionKind::kNone, CompressionKind::kSnappy, CompressionKind::kLz4,
                                   CompressionKind::kZstd};
  const FilterPolicy policies[] = {FilterPolicy::None(),
                                   {.lane_bits_per_key = 8, .guard_bits_per_key = 0},
                                   {.lane_bits_per_key = 0, .guard_bits_per_key = 6},
                                   {},
                                   {.lane_bits_per_key = 1, .guard_bits_per_key = 1},
                                   {.lane_bits_per_key = 16}};
  const Comparator* comparators[] = {BytewiseComparator(), ReverseComparatorForTest(), CaselessComparatorForTest()};
  for (const size_t block_bytes : {size_t{256}, size_t{1000}, size_t{4096}, size_t{65536}}) {
    for (const uint32_t blocks_per_leaf_page : {1u, 2u, 7u, 64u}) {
      for (const Comparator* comparator : comparators) {
        ++turn;
        shapes.push_back(
            {kinds[turn % 4], block_bytes, blocks_per_leaf_page, policies[turn % std::size(policies)], comparator});
      }
    }
  }
  return shapes;
}

// Every key at many sequence numbers, and keys that are not there, against the model.
void CheckLookups(const TableReader& reader, const std::vector<TestEntry>& entries, KeyOrder order,
                  uint64_t hash_seed) {
  Random random(entries.size());
  LevelFilterStatistics filters;
  const auto check = [&](const std::string& user_key, SequenceNumber visible) {
    LookupKey key = TestLookupKey(user_key, visible);
    key.hash_seed = hash_seed;
    key.hash = HashKey(user_key, hash_seed);
    TableHit hit;
    const absl::Status status = reader.Lookup(key, {.fill_cache = random.OneIn(2)}, &filters, &hit);
    ASSERT_TRUE(status.ok()) << status;
    const TestEntry* expected = FindInModel(entries, order, user_key, visible);
    ASSERT_EQ(hit.kind, expected == nullptr ? TableHit::Kind::kAbsent : TableHit::Kind::kFound)
        << ToString(InternalKeyView{user_key, SeekTrailer(visible)});
    if (expected == nullptr) return;
    ASSERT_EQ(hit.trailer, expected->trailer);
    ASSERT_EQ(hit.value, expected->value);
  };
  for (const TestEntry& entry : entries) {
    check(entry.user_key, kMaxSequenceNumber);
    check(entry.user_key, entry.key().sequence());
    if (entry.key().sequence().value() > 0) check(entry.user_key, SequenceNumber(entry.key().sequence().value() - 1));
    check(entry.user_key, SequenceNumber(random.Uniform(entries.size() + 2)));
    check(entry.user_key + "x", kMaxSequenceNumber);
    check(entry.user_key.substr(0, entry.user_key.size() / 2), kMaxSequenceNumber);
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(TableReaderTest, LookupsAgreeWithTheModelForEveryShapeOfTable) {
  for (const Shape& shape : AllShapes()) {
    SCOPED_TRACE(Describe(shape));
    const KeyOrder order(shape.comparator);
    const std::vector<TestEntry> entries = RandomTestEntries(order, 600, shape.block_bytes);
    const std::string contents = WriteTable(OptionsOf(shape), entries);
    EpochDomain epochs;
    TestCache peeking_cache(size_t{8} << 20, &epochs);
    TestCache cache(size_t{8} << 20);
    const std::shared_ptr<TableReader> peeking_reader = MustOpenTable(contents, &peeking_cache, order);
    const std::shared_ptr<TableReader> reader = MustOpenTable(contents, &cache, order);
    ASSERT_NE(reader, nullptr);
    CheckLookups(*reader, entries, order, kTestHashSeed);
    {
      const EpochDomain::Guard guard(&epochs);
      CheckLookups(*peeking_reader, entries, order, kTestHashSeed);
    }
    const absl::Status verified = reader->Verify();
    ASSERT_TRUE(verified.ok()) << verified;
    if (HasFatalFailure()) return;
  }
}

// One key with so many versions that they fill many blocks and leaf pages, between neighbours.
std::vector<TestEntry> ManyVersions(size_t versions) {
  std::vector<TestEntry> entries;
  entries.push_back({"a", PackTrailer(SequenceNumber(1), ValueKind::kPut), "first"});
  for (size_t i = versions; i > 0; --i) {
    entries.push_back({"hot", PackTrailer(SequenceNumber(10 * i), ValueKind::kPut), "value " + std::to_string(i)});
  }
  entries.push_back({"hot!", PackTrailer(SequenceNumber(2), ValueKind::kDelete), ""});
  entries.push_back({"z", PackTrailer(SequenceNumber(3), ValueKind::kPut), "last"});
  return entries;
}

TEST(TableReaderTest, VersionsOfAKeyAreFoundAcrossContinuationBlocksAndLeafPages) {
  Shape shape;
  shape.block_bytes = 256;
  shape.blocks_per_leaf_page = 2;
  const std::vector<TestEntry> entries = ManyVersions(500);
  const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(OptionsOf(shape), entries), nullptr);
  ASSERT_GT(reader->properties().leaf_pages, 5u);
  EXPECT_EQ(reader->properties().distinct_keys, 4u);
  size_t continuations = 0;
  ASSERT_TRUE(reader
                  ->ForEachBlock([&](const TableReader::BlockInfo& block) {
                    continuations += block.continuation ? 1 : 0;
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_GT(continuations, 5u);
  LevelFilterStatistics filters;
  for (uint64_t visible = 0; visible < 5020; ++visible) {
    TableHit hit;
    ASSERT_TRUE(reader->Lookup(TestLookupKey("hot", SequenceNumber(visible)), {}, &filters, &hit).ok());
    if (visible < 10) {
      ASSERT_EQ(hit.kind, TableHit::Kind::kAbsent) << visible;
    } else {
      ASSERT_EQ(hit.kind, TableHit::Kind::kFound) << visible;
      ASSERT_EQ(hit.value, "value " + std::to_string(std::min<uint64_t>(visible / 10, 500)));
    }
  }
  const absl::Status verified = reader->Verify();
  EXPECT_TRUE(verified.ok()) << verified;
}

TEST(TableReaderTest, AKeyHashedWithAnotherSeedIsHashedAgain) {
  const std::vector<TestEntry> entries = EvenEntries(500);
  const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(OptionsOf({}), entries), nullptr);
  CheckLookups(*reader, entries, KeyOrder(), kTestHashSeed + 1);
}

TEST(TableReaderTest, WorksWithoutACacheAndWithAnyAmountOfIt) {
  Shape shape;
  shape.block_bytes = 512;
  shape.blocks_per_leaf_page = 4;
  const std::vector<TestEntry> entries = RandomTestEntries(KeyOrder(), 500, 3);
  const std::string contents = WriteTable(OptionsOf(shape), entries);
  CheckLookups(*MustOpenTable(contents, nullptr), entries, KeyOrder(), kTestHashSeed);
  for (const size_t limit : {size_t{0}, size_t{2000}, size_t{20000}, size_t{1} << 20}) {
    SCOPED_TRACE(limit);
    TestCache cache(limit);
    const std::shared_ptr<TableReader> reader = MustOpenTable(contents, &cache);
    CheckLookups(*reader, entries, KeyOrder(), kTestHashSeed);
    if (HasFatalFailure()) return;
  }
}

TEST(TableReaderTest, TheSecondLookupReadsNothing) {
  const std::vector<TestEntry> entries = EvenEntries(3000);
  TestCache cache(size_t{8} << 20);
  auto faults = std::make_shared<ReadFaults>();
  const auto reader =
      OpenTable(std::make_shared<const std::string>(WriteTable(OptionsOf({}), entries)), &cache, KeyOrder(), faults);
  ASSERT_TRUE(reader.ok());
  EXPECT_LE(faults->reads, 3u);
  LevelFilterStatistics filters;
  TableHit hit;
  ASSERT_TRUE((*reader)->Lookup(TestLookupKey("key003000"), {}, &filters, &hit).ok());
  ASSERT_EQ(hit.kind, TableHit::Kind::kFound);
  const uint64_t reads = faults->reads;
  ASSERT_TRUE((*reader)->Lookup(TestLookupKey("key003000"), {}, &filters, &hit).ok());
  ASSERT_EQ(hit.kind, TableHit::Kind::kFound);
  EXPECT_EQ(faults->reads, reads);
  EXPECT_GE(cache.statistics.Get(Ticker::kBlockCacheHits), 1u);
  EXPECT_EQ(cache.statistics.Get(Ticker::kBlockCacheMisses), 1u);
  EXPECT_EQ(cache.statistics.Get(Ticker::kMetadataCacheMisses), 2u);
  EXPECT_EQ(cache.statistics.Get(Ticker::kMetadataCacheHits), 2u);
}

TEST(TableReaderTest, WithoutFillCacheABlockIsNotKept) {
  const std::vector<TestEntry> entries = EvenEntries(3000);
  TestCache cache(size_t{8} << 20);
  const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(OptionsOf({}), entries), &cache);
  LevelFilterStatistics filters;
  for (int i = 0; i < 2; ++i) {
    TableHit hit;
    ASSERT_TRUE(reader->Lookup(TestLookupKey("key003000"), {.fill_cache = false}, &filters, &hit).ok());
    ASSERT_EQ(hit.kind, TableHit::Kind::kFound);
    EXPECT_GT(cache.budget.used(MemoryPart::kPins), 0u);
  }
  EXPECT_EQ(cache.budget.used(MemoryPart::kPins), 0u);
  EXPECT_EQ(cache.budget.used(MemoryPart::kDataBlocks), 0u);
  EXPECT_EQ(cache.statistics.Get(Ticker::kBlockCacheMisses), 2u);
}

TEST(TableReaderTest, ALargeValueIsPinnedAloneAndOutlivesItsReader) {
  std::vector<TestEntry> entries = EvenEntries(100);
  entries[50].value = std::string(kLoneValueBytes + 1000, 'L');
  TestCache cache(size_t{8} << 20);
  std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(OptionsOf({}), entries), &cache);
  LevelFilterStatistics filters;
  TableHit hit;
  ASSERT_TRUE(reader->Lookup(TestLookupKey(entries[50].user_key), {}, &filters, &hit).ok());
  ASSERT_EQ(hit.kind, TableHit::Kind::kFound);
  EXPECT_GE(cache.budget.used(MemoryPart::kPins), kLoneValueBytes);
  reader.reset();
  EXPECT_EQ(hit.value, entries[50].value);
  hit.pin.Reset();
  EXPECT_EQ(cache.budget.used(MemoryPart::kPins), 0u);
}

TEST(TableReaderTest, CachedOnlySaysMaybeWhereMemoryCannotTell) {
  const std::vector<TestEntry> entries = EvenEntries(3000);
  TestCache cache(size_t{8} << 20);
  auto faults = std::make_shared<ReadFaults>();
  const auto reader =
      OpenTable(std::make_shared<const std::string>(WriteTable(OptionsOf({}), entries)), &cache, KeyOrder(), faults);
  ASSERT_TRUE(reader.ok());
  const auto kind = [&](std::string_view key, bool cached_only) {
    LevelFilterStatistics filters;
    TableHit hit;
    EXPECT_TRUE((*reader)->Lookup(TestLookupKey(key), {.cached_only = cached_only}, &filters, &hit).ok());
    return hit.kind;
  };
  const uint64_t reads = faults->reads;
  EXPECT_EQ(kind("key003000", true), TableHit::Kind::kMaybe);
  EXPECT_EQ(kind("zzz", true), TableHit::Kind::kAbsent);  // behind the last key: the root knows
  EXPECT_EQ(faults->reads, reads);
  EXPECT_EQ(kind("key003000", false), TableHit::Kind::kFound);
  EXPECT_EQ(kind("key003000", true), TableHit::Kind::kFound);
  size_t absent = 0;
  for (int i = 1; i < 1000; i += 2) {
    const std::string number = std::to_string(i);
    absent += kind("key" + std::string(6 - number.size(), '0') + number, true) == TableHit::Kind::kAbsent ? 1 : 0;
  }
  EXPECT_GT(absent, 400u);
}

TEST(TableReaderTest, StatisticsSayWhichFilterRuledAKeyOut) {
  const std::vector<TestEntry> entries = EvenEntries(5000);
  const auto count = [&](FilterPolicy policy, bool present) {
    Shape shape;
    shape.policy = policy;
    const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(OptionsOf(shape), entries), nullptr);
    LevelFilterStatistics filters;
    for (size_t i = 0; i < 2000; ++i) {
      TableHit hit;
      std::string key = entries[i].user_key;
      if (!present) ++key.back();
      EXPECT_TRUE(reader->Lookup(TestLookupKey(key), {}, &filters, &hit).ok());
      EXPECT_EQ(hit.kind, present ? TableHit::Kind::kFound : TableHit::Kind::kAbsent);
    }
    EXPECT_EQ(filters.lookups, 2000u);
    EXPECT_EQ(filters.guard_rejections + filters.lane_rejections + filters.blocks_searched, 2000u);
    EXPECT_EQ(filters.false_positives, present ? 0 : filters.blocks_searched);
    return filters;
  };
  const LevelFilterStatistics hits = count({}, true);
  EXPECT_EQ(hits.blocks_searched, 2000u);
  const LevelFilterStatistics none = count(FilterPolicy::None(), false);
  EXPECT_EQ(none.blocks_searched, 2000u);
  const LevelFilterStatistics lanes = count({.lane_bits_per_key = 8, .guard_bits_per_key = 0}, false);
  EXPECT_EQ(lanes.guard_rejections, 0u);
  EXPECT_GT(lanes.lane_rejections, 1900u);
  const LevelFilterStatistics guard = count({.lane_bits_per_key = 0, .guard_bits_per_key = 8}, false);
  EXPECT_EQ(guard.lane_rejections, 0u);
  EXPECT_GT(guard.guard_rejections, 1900u);
  const LevelFilterStatistics both = count({.lane_bits_per_key = 4, .guard_bits_per_key = 4}, false);
  EXPECT_GT(both.guard_rejections, 1500u);
  EXPECT_GT(both.lane_rejections, 100u);
  EXPECT_LT(both.blocks_searched, 100u);
}

TEST(TableReaderTest, ApproximateOffsetGrowsWithTheKeyAndCoversTheData) {
  Shape shape;
  shape.block_bytes = 512;
  shape.blocks_per_leaf_page = 5;
  shape.compression = CompressionKind::kNone;
  const std::vector<TestEntry> entries = EvenEntries(5000);
  const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(OptionsOf(shape), entries), nullptr);
  const double data_bytes = static_cast<double>(reader->properties().data_bytes);
  uint64_t last = 0;
  for (size_t i = 0; i < entries.size(); i += 50) {
    const absl::StatusOr<uint64_t> offset = reader->ApproximateOffset(entries[i].user_key);
    ASSERT_TRUE(offset.ok());
    EXPECT_GE(*offset, last);
    EXPECT_NEAR(static_cast<double>(*offset) / data_bytes, static_cast<double>(i) / 5000, 0.02);
    last = *offset;
  }
  EXPECT_EQ(*reader->ApproximateOffset(""), 0u);
  EXPECT_EQ(*reader->ApproximateOffset("zzz"), reader->properties().data_bytes);
}

TEST(TableReaderTest, EvenCutsPartTheEntriesEvenlyAndReadNothing) {
  TableWriterOptions options = TestWriterOptions();
  options.block_bytes = 512;
  options.blocks_per_leaf_page = 5;
  const std::vector<TestEntry> entries = EvenEntries(5000);
  const auto faults = std::make_shared<ReadFaults>();
  const std::shared_ptr<TableReader> reader =
      *OpenTable(std::make_shared<const std::string>(WriteTable(options, entries)), nullptr, KeyOrder(), faults);
  const uint64_t reads = faults->reads;
  EXPECT_TRUE(reader->EvenCuts(0).empty());
  const std::vector<std::string> cuts = reader->EvenCuts(3);
  ASSERT_EQ(cuts.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    const auto at =
        std::lower_bound(entries.begin(), entries.end(), cuts[i],
                         [](const TestEntry& entry, const std::string& key) { return entry.user_key < key; });
    EXPECT_NEAR(static_cast<double>(at - entries.begin()), 1250.0 * static_cast<double>(i + 1), 150) << cuts[i];
  }
  // No finer than pages are.
  const std::vector<std::string> finest = reader->EvenCuts(5000);
  EXPECT_EQ(finest.size(), reader->properties().leaf_pages - 1);
  EXPECT_TRUE(std::is_sorted(finest.begin(), finest.end()));
  EXPECT_EQ(faults->reads, reads);
}

TEST(TableReaderTest, TheManifestsWordIsCheckedAtOpening) {
  const std::string contents = WriteTable(OptionsOf({}), EvenEntries(10));
  const uint64_t checksum = Footer::ChecksumOf(contents);
  const auto open = [&](std::optional<uint64_t> size, std::optional<uint64_t> id, std::optional<uint64_t> footer) {
    TableReaderOptions options;
    options.name = "000007.sst";
    options.expected_size = size;
    options.expected_table_id = id;
    options.expected_footer_checksum = footer;
    const absl::Status status =
        TableReader::Open(std::move(options), std::make_unique<StringReadableFile>(contents)).status();
    EXPECT_TRUE(status.ok() || status.ToString().find("000007.sst") != std::string::npos) << status;
    return status.code();
  };
  EXPECT_EQ(open(contents.size(), kTestTableId, checksum), absl::StatusCode::kOk);
  EXPECT_EQ(open(contents.size() + 1, {}, {}), absl::StatusCode::kDataLoss);
  EXPECT_EQ(open({}, kTestTableId + 1, {}), absl::StatusCode::kDataLoss);
  EXPECT_EQ(open({}, {}, checksum + 1), absl::StatusCode::kDataLoss);
}

TEST(TableReaderTest, AnotherComparatorIsRefusedByName) {
  const std::string contents = WriteTable(OptionsOf({}), EvenEntries(10));
  const absl::Status status =
      OpenTable(std::make_shared<const std::string>(contents), nullptr, KeyOrder(ReverseComparatorForTest())).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("test.reverse"), std::string::npos) << status;
}

TEST(TableReaderTest, AComparatorThatAnswersDifferentlyThanWhenTheFileWasWrittenIsRefused) {
  class Changed final : public Comparator {
   public:
    int Compare(std::string_view a, std::string_view b) const override { return a.compare(b); }
    std::string_view Name() const override { return KeyOrder().comparator()->Name(); }
  };
  const Changed changed;
  const std::string contents = WriteTable(OptionsOf({}), EvenEntries(10));
  const absl::Status status =
      OpenTable(std::make_shared<const std::string>(contents), nullptr, KeyOrder(&changed)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.ToString().find("EqualMeansIdentical"), std::string::npos) << status;
}

TEST(TableReaderTest, AFileWhoseSizeOrBytesCannotBeHadIsNotOpened) {
  const auto contents = std::make_shared<const std::string>(WriteTable(OptionsOf({}), EvenEntries(10)));
  const auto faults = std::make_shared<ReadFaults>();
  const auto open = [&] { return OpenTable(contents, nullptr, KeyOrder(), faults).status(); };
  EXPECT_TRUE(open().ok());
  faults->size_status = absl::InternalError("no size");
  EXPECT_EQ(open(), faults->size_status);
  faults->size_status = absl::OkStatus();
  faults->end = contents->size() - 1;
  EXPECT_EQ(open().code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(open().ToString().find("the file became shorter"), std::string::npos);
  // One that is too short for a footer is damaged whatever its footer should be.
  TableReaderOptions options;
  options.name = "short.sst";
  options.expected_footer_checksum = 7;
  const absl::Status status =
      TableReader::Open(std::move(options), std::make_unique<StringReadableFile>("too short")).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(status.ToString().find("too short for a footer"), std::string::npos) << status;
}

TEST(TableReaderTest, ARootFarFromTheEndIsReadByItself) {
  // The guard alone is longer than what one read at opening covers.
  TableWriterOptions options = OptionsOf({});
  options.filter_policy.guard_bits_per_key = 32;
  const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(options, EvenEntries(20'000, 1)), nullptr);
  ASSERT_GT(reader->footer().guard.size, size_t{64} << 10);
  EXPECT_TRUE(reader->Verify().ok());
}

TEST(TableReaderTest, HeldMemoryIsChargedWhileTheReaderLives) {
  TestCache cache(size_t{8} << 20);
  Shape shape;
  shape.blocks_per_leaf_page = 1;
  {
    const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(OptionsOf(shape), EvenEntries(5000)), &cache);
    EXPECT_EQ(cache.budget.used(MemoryPart::kTables), reader->MemoryBytes());
    EXPECT_GT(reader->MemoryBytes(), reader->properties().leaf_pages * 8);
  }
  EXPECT_EQ(cache.budget.used(MemoryPart::kTables), 0u);
}

// Looks every key up.
void AskForAll(const TableReader& reader, const std::vector<TestEntry>& entries) {
  for (const TestEntry& entry : entries) {
    const LookupKey key{.user_key = entry.user_key,
                        .hash = HashKey(entry.user_key, reader.footer().hash_seed),
                        .hash_seed = reader.footer().hash_seed,
                        .visible = kMaxSequenceNumber};
    LevelFilterStatistics filters;
    TableHit hit;
    ASSERT_TRUE(reader.Lookup(key, {}, &filters, &hit).ok());
    ASSERT_EQ(hit.kind, TableHit::Kind::kFound);
  }
}

TEST(TableReaderTest, HintsForBlocksAreChargedAndGivenBackWithTheReader) {
  TestCache cache(size_t{8} << 20);
  const std::vector<TestEntry> entries = EvenEntries(5000);
  {
    const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(OptionsOf({}), entries), &cache);
    const size_t before = reader->MemoryBytes();
    AskForAll(*reader, entries);
    EXPECT_EQ(reader->MemoryBytes(), before + reader->properties().data_blocks * sizeof(BlockHint));
    EXPECT_EQ(cache.budget.used(MemoryPart::kTables), reader->MemoryBytes());
  }
  EXPECT_EQ(cache.budget.used(MemoryPart::kTables), 0u);
}

TEST(TableReaderTest, NoHintsAreMadeWhereOpenTablesTakeTheirShareOfMemory) {
  TestCache cache(size_t{8} << 20);
  const std::vector<TestEntry> entries = EvenEntries(5000);
  const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(OptionsOf({}), entries), &cache);
  const size_t before = reader->MemoryBytes();
  cache.budget.Charge(MemoryPart::kTables, size_t{1} << 20);
  AskForAll(*reader, entries);
  const std::unique_ptr<InternalIterator> it = TableReader::NewIterator(reader, TableReader::ReadKind::kUser);
  size_t seen = 0;
  for (it->SeekToFirst(); it->Valid(); it->Advance()) ++seen;
  EXPECT_EQ(seen, entries.size());
  EXPECT_EQ(reader->MemoryBytes(), before);
  cache.budget.Release(MemoryPart::kTables, size_t{1} << 20);
}

TEST(TableReaderTest, ForEachBlockDescribesWhatIsThere) {
  Shape shape;
  shape.block_bytes = 1024;
  shape.blocks_per_leaf_page = 3;
  const double bits = shape.policy.lane_bits_per_key;
  const std::vector<TestEntry> entries = RandomTestEntries(KeyOrder(), 700, 4);
  const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(OptionsOf(shape), entries), nullptr);
  uint64_t counted = 0, offset = 0, blocks = 0;
  ASSERT_TRUE(reader
                  ->ForEachBlock([&](const TableReader::BlockInfo& block) {
                    EXPECT_EQ(block.handle.offset, offset);
                    offset += block.handle.size + kUnitTrailerBytes;
                    counted += block.entries;
                    ++blocks;
                    EXPECT_LE(block.keys, block.entries);
                    EXPECT_GE(static_cast<double>(block.lane_bits), static_cast<double>(block.keys) * bits);
                    EXPECT_EQ(block.lane_probes, FilterPolicy::ProbesFor(bits));
                    EXPECT_GT(block.lane_fill, 0.02);
                    EXPECT_LT(block.lane_fill, 0.75);
                    return absl::OkStatus();
                  })
                  .ok());
  EXPECT_EQ(counted, entries.size());
  EXPECT_EQ(blocks, reader->properties().data_blocks);
  EXPECT_EQ(offset, reader->properties().data_bytes);
  EXPECT_EQ(reader->ForEachBlock([](const TableReader::BlockInfo&) { return absl::CancelledError("stop"); }).code(),
            absl::StatusCode::kCancelled);
}

}  // namespace
}  // namespace sepal

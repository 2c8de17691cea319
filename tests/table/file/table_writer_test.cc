#include "table/file/table_writer.h"

#include "table/block/block.h"
#include "table/file/table_reader_impl.h"
#include "tests/table/file/table_fixture.h"
#include "tests/table/iterate/iterator_conformance.h"
#include "util/base/compression.h"

namespace sepal {
namespace {

std::vector<TableReader::BlockInfo> BlocksOf(const TableReader& reader) {
  std::vector<TableReader::BlockInfo> blocks;
  const absl::Status status = reader.ForEachBlock([&](const TableReader::BlockInfo& block) {
    blocks.push_back(block);
    return absl::OkStatus();
  });
  EXPECT_TRUE(status.ok()) << status;
  return blocks;
}

TEST(TableWriterTest, BlocksCloseAtTheTargetAndNeverGrowBeyondFourTimesIt) {
  TableWriterOptions options = TestWriterOptions();
  options.compression = CompressionKind::kNone;
  options.block_bytes = 512;
  std::vector<TestEntry> entries = EvenEntries(2000);
  Random random(5);
  for (TestEntry& entry : entries) {
    if (random.OneIn(7)) entry.value = std::string(random.Uniform(1900), 'v');
  }
  const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(options, entries), nullptr);
  const std::vector<TableReader::BlockInfo> blocks = BlocksOf(*reader);
  ASSERT_GT(blocks.size(), 100u);
  size_t small = 0;
  for (const TableReader::BlockInfo& block : blocks) {
    EXPECT_LE(block.raw_bytes, 4 * options.block_bytes);
    if (block.raw_bytes < options.block_bytes) ++small;
  }
  // Only a block before an entry that would not have fitted may be small, and the last one.
  EXPECT_LT(small, blocks.size() / 3);
}

TEST(TableWriterTest, TellsOfEachUnitWithTheBytesThatAReaderKeepsOfIt) {
  for (const CompressionKind kind : {CompressionKind::kNone, CompressionKind::kSnappy}) {
    TableWriterOptions options = TestWriterOptions();
    options.compression = kind;
    options.blocks_per_leaf_page = 8;
    std::vector<std::pair<BlockHandle, UnitKind>> handles;
    std::vector<std::string> units;
    options.on_unit = [&](BlockHandle handle, UnitKind unit_kind, std::string_view bytes) {
      handles.emplace_back(handle, unit_kind);
      units.emplace_back(bytes);
    };
    const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(options, EvenEntries(3000, 100)), nullptr);
    EXPECT_EQ(std::count_if(handles.begin(), handles.end(), [](const auto& h) { return h.second == UnitKind::kGuard; }),
              1);
    EXPECT_EQ(handles.size(), reader->properties().data_blocks + reader->properties().leaf_pages + 1);
    for (size_t i = 0; i < handles.size(); ++i) {
      const absl::StatusOr<BlockBuffer> read = reader->impl().source->Read(handles[i].first, handles[i].second);
      ASSERT_TRUE(read.ok()) << read.status();
      EXPECT_EQ(read->view(), units[i]);
    }
  }
}

TEST(TableWriterTest, ALargeValueStandsAlone) {
  TableWriterOptions options = TestWriterOptions();
  options.block_bytes = size_t{1} << 20;
  std::vector<TestEntry> entries = EvenEntries(30);
  entries[10].value = std::string(kLoneValueBytes + 1, 'v');
  const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(options, entries), nullptr);
  const std::vector<TableReader::BlockInfo> blocks = BlocksOf(*reader);
  ASSERT_EQ(blocks.size(), 3u);
  EXPECT_EQ(blocks[0].entries, 10u);
  EXPECT_EQ(blocks[1].entries, 1u);
  EXPECT_EQ(blocks[2].entries, 19u);
}

TEST(TableWriterTest, CompressionIsKeptOnlyWhereItSavesAnEighth) {
  TableWriterOptions options = TestWriterOptions();
  options.block_bytes = 1024;
  for (const CompressionKind kind : {CompressionKind::kSnappy, CompressionKind::kLz4, CompressionKind::kZstd}) {
    options.compression = kind;
    std::vector<TestEntry> entries = EvenEntries(200, 100);
    for (size_t i = 0; i < 100; ++i) entries[i].value = std::string(100, 'c');
    const std::shared_ptr<TableReader> reader = MustOpenTable(WriteTable(options, entries), nullptr);
    const std::vector<TableReader::BlockInfo> blocks = BlocksOf(*reader);
    EXPECT_EQ(blocks.front().compression, kind) << Name(kind);
    EXPECT_LE(blocks.front().handle.size, blocks.front().raw_bytes * 7 / 8);
    EXPECT_EQ(blocks.back().compression, CompressionKind::kNone) << Name(kind);
    EXPECT_EQ(blocks.back().handle.size, blocks.back().raw_bytes);
  }
}

TEST(TableWriterTest, WritesInLargePiecesAndBehind) {
  TableWriterOptions options = TestWriterOptions();
  options.compression = CompressionKind::kNone;
  StringWritableFile file;
  TableWriter writer(options, &file);
  WriteEntries(EvenEntries(50000, 100), &writer);
  ASSERT_GT(file.contents.size(), size_t{5} << 20);
  for (size_t i = 0; i + 1 < file.append_sizes.size(); ++i)
    EXPECT_GT(file.append_sizes[i], options.write_buffer_bytes / 2);
  ASSERT_GE(file.sync_ranges.size(), 2u);
  EXPECT_EQ(file.sync_ranges[0].first, 0u);
  EXPECT_EQ(file.sync_ranges[1].first, file.sync_ranges[0].second);
}

TEST(TableWriterTest, PropertiesSayWhatWasAdded) {
  TableWriterOptions options = TestWriterOptions();
  options.block_bytes = 256;
  options.blocks_per_leaf_page = 3;
  const std::vector<TestEntry> entries = {
      {"a", PackTrailer(SequenceNumber(9), ValueKind::kPut), "12345"},
      {"a", PackTrailer(SequenceNumber(4), ValueKind::kDelete), ""},
      {"bcd", PackTrailer(SequenceNumber(30), ValueKind::kSingleDelete), ""},
      {"e", PackTrailer(SequenceNumber(7), ValueKind::kPut), "1"},
  };
  const std::string contents = WriteTable(options, entries);
  const std::shared_ptr<TableReader> reader = MustOpenTable(contents, nullptr);
  const TableProperties& p = reader->properties();
  EXPECT_EQ(p.entries, 4u);
  EXPECT_EQ(p.tombstones, 2u);
  EXPECT_EQ(p.distinct_keys, 3u);
  EXPECT_EQ(p.raw_key_bytes, 6u);
  EXPECT_EQ(p.raw_value_bytes, 6u);
  EXPECT_EQ(p.data_blocks, 1u);
  EXPECT_EQ(p.leaf_pages, 1u);
  EXPECT_EQ(p.lowest_sequence, SequenceNumber(4));
  EXPECT_EQ(p.highest_sequence, SequenceNumber(30));
  EXPECT_EQ(ParseInternalKey(p.smallest_key), entries.front().key());
  EXPECT_EQ(ParseInternalKey(p.largest_key), entries.back().key());
  EXPECT_EQ(p.comparator_name, BytewiseComparator()->Name());
  EXPECT_EQ(p.column_family_name, "family");
  EXPECT_EQ(p.column_family_id, 3u);
  EXPECT_EQ(p.creation_unix_micros, 1234567u);
  EXPECT_EQ(p.filter_policy, FilterPolicy());
  EXPECT_DOUBLE_EQ(p.expected_filter_rate, FilterPolicy().ExpectedRate());
  EXPECT_EQ(p.block_bytes, 256u);
  EXPECT_EQ(p.database_id, 77u);
  EXPECT_EQ(reader->footer().table_id, kTestTableId);
  EXPECT_EQ(reader->footer().hash_seed, kTestHashSeed);
  EXPECT_EQ(reader->footer().file_size, contents.size());
}

TEST(TableWriterTest, KeysOutOfOrderAreRefusedForGood) {
  StringWritableFile file;
  TableWriter writer(TestWriterOptions(), &file);
  ASSERT_TRUE(writer.Add({"b", PackTrailer(SequenceNumber(5), ValueKind::kPut)}, "").ok());
  EXPECT_EQ(writer.Add({"b", PackTrailer(SequenceNumber(5), ValueKind::kPut)}, "").code(), absl::StatusCode::kInternal);
  EXPECT_FALSE(writer.Add({"c", PackTrailer(SequenceNumber(5), ValueKind::kPut)}, "").ok());
  EXPECT_FALSE(writer.Finish().ok());
}

TEST(TableWriterTest, AFailedWriteIsFinal) {
  TableWriterOptions options = TestWriterOptions();
  options.write_buffer_bytes = 1000;
  StringWritableFile file;
  TableWriter writer(options, &file);
  file.append_status = absl::ResourceExhaustedError("disk full");
  absl::Status status;
  for (const TestEntry& entry : EvenEntries(1000)) {
    status = writer.Add(entry.key(), entry.value);
    if (!status.ok()) break;
  }
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  file.append_status = absl::OkStatus();
  EXPECT_EQ(writer.Finish().code(), absl::StatusCode::kResourceExhausted);
}

TEST(TableWriterTest, MemoryIsChargedWhileItLives) {
  MemoryBudget budget(size_t{64} << 20);
  TableWriterOptions options = TestWriterOptions();
  options.budget = &budget;
  {
    StringWritableFile file;
    TableWriter writer(options, &file);
    const size_t empty = budget.used(MemoryPart::kCompaction);
    EXPECT_GE(empty, options.write_buffer_bytes);
    WriteEntries(EvenEntries(20000), &writer);
    EXPECT_GE(budget.used(MemoryPart::kCompaction), empty + 20000 * sizeof(uint64_t));
  }
  EXPECT_EQ(budget.used(MemoryPart::kCompaction), 0u);
}

TEST(TableWriterTest, ReliefIsAskedForOnlyAsItsMemoryGrows) {
  MemoryBudget budget(1000);
  size_t asked = 0;
  budget.RelieveBy([&] { ++asked; });
  TableWriterOptions options = TestWriterOptions();
  options.budget = &budget;
  StringWritableFile file;
  TableWriter writer(options, &file);
  EXPECT_EQ(asked, 1u);
  const size_t empty = budget.used(MemoryPart::kCompaction);
  WriteEntries(EvenEntries(50000), &writer);
  EXPECT_GE(asked, 2u);
  EXPECT_LE(asked, 2 + (budget.used(MemoryPart::kCompaction) - empty) / (size_t{64} << 10));
}

TEST(TableWriterTest, TheEstimateOfTheFileSizeIsNear) {
  TableWriterOptions options = TestWriterOptions();
  options.compression = CompressionKind::kNone;
  StringWritableFile file;
  TableWriter writer(options, &file);
  const std::vector<TestEntry> entries = EvenEntries(20000, 100);
  for (const TestEntry& entry : entries) ASSERT_TRUE(writer.Add(entry.key(), entry.value).ok());
  const double estimate = static_cast<double>(writer.EstimatedFileSize());
  ASSERT_TRUE(writer.Finish().ok());
  EXPECT_NEAR(estimate / static_cast<double>(writer.FileSize()), 1.0, 0.02);
}

TEST(TableWriterTest, FilterPolicyDecidesWhatFiltersThereAre) {
  const std::vector<TestEntry> entries = EvenEntries(2000);
  const auto open = [&](FilterPolicy policy) {
    TableWriterOptions options = TestWriterOptions();
    options.filter_policy = policy;
    return MustOpenTable(WriteTable(options, entries), nullptr);
  };
  const auto none = open(FilterPolicy::None());
  EXPECT_EQ(none->properties().lane_bytes, 0u);
  EXPECT_EQ(none->footer().guard, BlockHandle{});
  EXPECT_FALSE((*none->ReadGuardInfo()).has_value());
  const auto lanes = open({.lane_bits_per_key = 10, .guard_bits_per_key = 0});
  EXPECT_GE(lanes->properties().lane_bytes, 2000u * 10 / 8);
  EXPECT_EQ(lanes->properties().guard_bytes, 0u);
  EXPECT_EQ(lanes->properties().lane_probes, static_cast<uint32_t>(FilterPolicy::ProbesFor(10)));
  EXPECT_EQ(lanes->footer().version, 1u);
  const auto guard = open({.lane_bits_per_key = 0, .guard_bits_per_key = 10});
  EXPECT_EQ(guard->properties().lane_bytes, 0u);
  const absl::StatusOr<std::optional<TableReader::GuardInfo>> info = guard->ReadGuardInfo();
  ASSERT_TRUE(info.ok() && info->has_value());
  EXPECT_EQ((*info)->keys, 2000u);
  EXPECT_GE((*info)->bits, 20000u);
  EXPECT_NEAR((*info)->fill, 0.5, 0.1);
}

TEST(TableWriterTest, AGuardThatNoReaderWouldReadIsLeftOut) {
  const std::vector<TestEntry> entries = EvenEntries(2000);
  TableWriterOptions options = TestWriterOptions();
  options.filter_policy = {.lane_bits_per_key = 6, .guard_bits_per_key = 10};
  const uint64_t bytes = MustOpenTable(WriteTable(options, entries), nullptr)->footer().guard.size;
  for (const uint64_t most : {bytes, bytes - 1}) {
    options.max_guard_bytes = most;
    const auto reader = MustOpenTable(WriteTable(options, entries), nullptr);
    EXPECT_EQ(reader->footer().guard.size, most == bytes ? bytes : 0);
    EXPECT_EQ(reader->properties().guard_bytes, reader->footer().guard.size);
    EXPECT_EQ(reader->properties().filter_policy.guard_bits_per_key, most == bytes ? 10 : 0);
    EXPECT_TRUE(reader->Verify().ok()) << reader->Verify();
  }
}

}  // namespace
}  // namespace sepal

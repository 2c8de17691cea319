// Damaged tables: whatever happens to the bytes, the answer is right or DataLoss; never wrong, never "absent".
#include "tests/table/file/table_exercise.h"
#include "tests/table/file/table_fixture.h"
#include "tests/table/file/table_parts.h"
#include "tests/table/iterate/iterator_conformance.h"

namespace sepal {
namespace {

TableWriterOptions SmallOptions() {
  TableWriterOptions options = TestWriterOptions();
  options.block_bytes = 256;
  options.blocks_per_leaf_page = 2;
  return options;
}

std::vector<TestEntry> SmallEntries() {
  std::vector<TestEntry> entries = EvenEntries(30, 15);
  for (size_t i = 0; i < entries.size(); i += 3) entries[i].value = std::string(40, 'c');
  return entries;
}

std::vector<std::string> SmallKeys() {
  std::vector<std::string> keys;
  for (const TestEntry& entry : SmallEntries()) {
    keys.push_back(entry.user_key);
    keys.push_back(entry.user_key + "x");
  }
  return keys;
}

absl::StatusOr<std::shared_ptr<TableReader>> Open(std::string contents) {
  return OpenTable(std::make_shared<const std::string>(std::move(contents)), nullptr);
}

TEST(TableDamageTest, AnyFlippedBitGivesTheRightAnswersOrDataLoss) {
  const std::vector<TestEntry> entries = SmallEntries();
  const std::string contents = WriteTable(SmallOptions(), entries);
  const std::vector<std::string> keys = SmallKeys();
  size_t opened = 0;
  for (size_t byte = 0; byte < contents.size(); ++byte) {
    std::string damaged = contents;
    damaged[byte] ^= static_cast<char>(1 << (byte % 8));
    const absl::StatusOr<std::shared_ptr<TableReader>> reader = Open(damaged);
    if (!reader.ok()) {
      const bool version = byte >= contents.size() - 20 && byte < contents.size() - 16;
      ASSERT_TRUE(IsDamage(reader.status()) || version) << byte << ": " << reader.status();
      continue;
    }
    ++opened;
    ExerciseTable(*reader, &entries, keys);
    const absl::Status verified = (*reader)->Verify();
    ASSERT_TRUE(IsDamage(verified)) << byte << ": " << verified;
    ASSERT_NE(verified.ToString().find("test.sst"), std::string::npos) << verified;
    if (HasFatalFailure()) FAIL() << "flipped bit in byte " << byte;
  }
  EXPECT_GT(opened, size_t{500});
}

TEST(TableDamageTest, ATableCutShortAnywhereIsDataLoss) {
  const std::string contents = WriteTable(SmallOptions(), SmallEntries());
  for (size_t length = 0; length < contents.size(); ++length) {
    const absl::Status status = Open(contents.substr(0, length)).status();
    ASSERT_TRUE(IsDamage(status)) << length << ": " << status;
  }
  EXPECT_TRUE(IsDamage(Open(contents + "x").status()));
}

TEST(TableDamageTest, ADamagedGuardOrLeafPageIsDataLossForPresentAndAbsentKeysAlike) {
  const std::vector<TestEntry> entries = SmallEntries();
  const std::string contents = WriteTable(SmallOptions(), entries);
  const Footer footer = (*Open(contents))->footer();
  std::string damaged = contents;
  damaged[footer.guard.offset + 70] ^= 1;
  auto reader = Open(damaged);
  ASSERT_TRUE(reader.ok()) << reader.status();
  for (const std::string& key : SmallKeys()) {
    LevelFilterStatistics filters;
    TableHit hit;
    EXPECT_TRUE(IsDamage((*reader)->Lookup(TestLookupKey(key), {}, &filters, &hit))) << key;
  }
  EXPECT_TRUE(IsDamage((*reader)->ReadGuardInfo().status()));
}

TEST(TableDamageTest, WithDamagedLanesOnlyTheGuardSaysAbsent) {
  const std::vector<TestEntry> entries = EvenEntries(500, 15);
  TableWriterOptions options = SmallOptions();
  options.filter_policy = {.lane_bits_per_key = 8, .guard_bits_per_key = 2};
  std::string contents = WriteTable(options, entries);
  for (const LeafLanes& page : LanesOf(contents)) ASSERT_TRUE(page.Blank(&contents));
  TestCache cache(size_t{8} << 20);
  const std::shared_ptr<TableReader> reader = MustOpenTable(contents, &cache);
  ASSERT_NE(reader, nullptr);
  size_t denied = 0, lost = 0;
  const auto ask = [&](const std::string& key) {
    LevelFilterStatistics filters;
    TableHit hit;
    const absl::Status status = reader->Lookup(TestLookupKey(key), {}, &filters, &hit);
    const bool guard_denies = filters.guard_rejections == 1;
    ++(guard_denies ? denied : lost);
    EXPECT_EQ(status.ok(), guard_denies) << key << ": " << status;
    EXPECT_TRUE(guard_denies || IsDamage(status)) << key << ": " << status;
    const absl::Status in_memory = reader->Lookup(TestLookupKey(key), {.cached_only = true}, &filters, &hit);
    EXPECT_TRUE(in_memory.ok()) << in_memory;
    EXPECT_EQ(hit.kind, guard_denies ? TableHit::Kind::kAbsent : TableHit::Kind::kMaybe) << key;
  };
  for (const TestEntry& entry : entries) ask(entry.user_key);
  EXPECT_EQ(denied, 0u);
  lost = 0;
  // Not the last one: behind it there is no lane.
  for (size_t i = 0; i + 1 < entries.size(); ++i) ask(entries[i].user_key + "x");
  EXPECT_GT(denied, 50u);
  EXPECT_GT(lost, 50u);
}

TEST(TableDamageTest, SwappedStaleAndMisdirectedBlocksAreCaught) {
  TableWriterOptions options = SmallOptions();
  options.compression = CompressionKind::kNone;
  std::vector<TestEntry> entries = EvenEntries(60, 15);
  const std::string contents = WriteTable(options, entries);
  std::vector<BlockHandle> blocks;
  ASSERT_TRUE((*Open(contents))
                  ->ForEachBlock([&](const TableReader::BlockInfo& block) {
                    blocks.push_back(block.handle);
                    return absl::OkStatus();
                  })
                  .ok());
  ASSERT_GT(blocks.size(), 2u);
  ASSERT_EQ(blocks[0].size, blocks[1].size);
  const auto unit = [&](const std::string& file, int i) {
    return file.substr(blocks[i].offset, blocks[i].size + kUnitTrailerBytes);
  };
  const auto replaced = [&](int i, const std::string& bytes) {
    std::string damaged = contents;
    return damaged.replace(blocks[i].offset, bytes.size(), bytes);
  };
  EXPECT_TRUE(IsDamage((*Open(replaced(0, unit(contents, 1))))->Verify()));
  EXPECT_TRUE((*Open(replaced(0, unit(contents, 0))))->Verify().ok());
  ++options.table_id;
  EXPECT_TRUE(IsDamage((*Open(replaced(0, unit(WriteTable(options, entries), 0))))->Verify()));
}

TEST(TableDamageTest, WhatCannotBeReadNearTheEndFailsNoOtherUnit) {
  const std::vector<TestEntry> entries = SmallEntries();
  auto contents = std::make_shared<const std::string>(WriteTable(SmallOptions(), entries));
  auto faults = std::make_shared<ReadFaults>();
  faults->status = absl::InternalError("a bad sector");
  faults->to = 1;
  auto reader = OpenTable(contents, nullptr, KeyOrder(), faults);
  ASSERT_TRUE(reader.ok()) << reader.status();
  LevelFilterStatistics filters;
  TableHit hit;
  EXPECT_TRUE(absl::IsInternal((*reader)->Lookup(TestLookupKey(entries[0].user_key), {}, &filters, &hit)));
  EXPECT_TRUE((*reader)->Lookup(TestLookupKey(entries.back().user_key), {}, &filters, &hit).ok());
  EXPECT_EQ(hit.value, entries.back().value);
  // What opening needs.
  faults->from = contents->size() - 1;
  faults->to = contents->size();
  EXPECT_TRUE(absl::IsInternal(OpenTable(contents, nullptr, KeyOrder(), faults).status()));
}

// The units of a table, in order of their place.
std::vector<BlockHandle> UnitsOf(const std::string& contents) {
  std::vector<BlockHandle> units;
  const std::shared_ptr<TableReader> reader = *Open(contents);
  EXPECT_TRUE(reader
                  ->ForEachBlock([&](const TableReader::BlockInfo& block) {
                    units.push_back(block.handle);
                    return absl::OkStatus();
                  })
                  .ok());
  units.push_back(reader->footer().root);
  units.push_back(reader->footer().guard);
  units.push_back(reader->footer().properties);
  return units;
}

TEST(TableDamageTest, HostileBytesUnderRightChecksumsAreReadWithinBounds) {
  TableWriterOptions options = SmallOptions();
  const std::string contents = WriteTable(options, SmallEntries());
  const std::vector<BlockHandle> units = UnitsOf(contents);
  const std::vector<std::string> keys = SmallKeys();
  Random random(17);
  size_t refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::string hostile = contents;
    const BlockHandle unit = units[random.Uniform(units.size())];
    for (uint64_t n = 1 + random.Uniform(3); n > 0; --n) {
      hostile[unit.offset + random.Uniform(unit.size)] = static_cast<char>(random.Next());
    }
    char* trailer = hostile.data() + unit.offset + unit.size;
    EncodeFixed32(trailer + 1, UnitChecksum({hostile.data() + unit.offset, unit.size},
                                            static_cast<CompressionKind>(trailer[0]), kTestTableId, unit.offset));
    const absl::StatusOr<std::shared_ptr<TableReader>> reader = Open(hostile);
    if (!reader.ok()) {
      ++refused;
      continue;
    }
    ExerciseTable(*reader, nullptr, keys);
    if (HasFatalFailure()) FAIL() << "round " << round;
    refused += (*reader)->Verify().ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 1500u);
}

}  // namespace
}  // namespace sepal

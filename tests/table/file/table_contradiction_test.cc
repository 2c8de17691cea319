// Tables whose checksums are all good and whose parts contradict each other: `Verify` finds each contradiction and
// names it, and opening finds those that it needs to rely on.
#include <algorithm>
#include <optional>

#include "absl/strings/str_format.h"
#include "gmock/gmock.h"
#include "tests/table/file/table_fixture.h"
#include "tests/table/file/table_parts.h"
#include "util/base/hyperloglog.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

// Single keys, a key with so many versions that they fill blocks and leaf pages, and tombstones.
std::vector<TestEntry> ContradictionEntries() {
  std::vector<TestEntry> entries = EvenEntries(60, 15);
  std::vector<TestEntry> versions;
  for (uint64_t sequence = 60; sequence > 0; --sequence) {
    const ValueKind kind = sequence % 4 == 0 ? ValueKind::kDelete : ValueKind::kPut;
    versions.push_back({.user_key = "key000041",
                        .trailer = PackTrailer(SequenceNumber(sequence), kind),
                        .value = kind == ValueKind::kDelete ? "" : std::string(15, 'v')});
  }
  entries.insert(entries.begin() + 21, versions.begin(), versions.end());
  return entries;
}

std::string ContradictionTable() {
  TableWriterOptions options = TestWriterOptions();
  options.block_bytes = 256;
  options.blocks_per_leaf_page = 3;
  options.compression = CompressionKind::kNone;
  return WriteTable(options, ContradictionEntries());
}

absl::Status VerifyParts(const TableParts& parts) {
  const auto reader = OpenTable(std::make_shared<const std::string>(parts.Bytes()), nullptr);
  return reader.ok() ? (*reader)->Verify() : reader.status();
}

// The place of entry `i`'s tag in a block.
size_t TagOffset(std::string_view block, uint32_t i) {
  const char* header = block.data() + block.size() - kBlockHeaderBytes;
  const uint32_t n = DecodeFixed32(header);
  const auto flags = static_cast<uint8_t>(header[24]);
  const size_t sequences = DecodeFixed32(header + 4) + DecodeFixed32(header + 16);
  return sequences + n * static_cast<uint8_t>(header[26]) + ((flags & kBlockUniformKind) != 0 ? 0 : n) + i;
}

class TableContradictionTest : public ::testing::Test {
 protected:
  // `change` makes of a table that is whole one that is damaged, as `what` says.
  void Expect(const std::function<void(TableParts*)>& change, const std::string& what) {
    SCOPED_TRACE(what);
    TableParts parts(contents);
    change(&parts);
    const absl::Status status = VerifyParts(parts);
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(status.ToString(), HasSubstr(what));
    EXPECT_THAT(status.ToString(), HasSubstr("test.sst"));
  }
  // The first data block that continues the key of the one before it, and its leaf page.
  std::pair<size_t, size_t> FirstContinuation() const {
    const TableParts parts(contents);
    for (size_t leaf = 0; leaf < parts.leaves.size(); ++leaf) {
      for (size_t i = 0; i < parts.leaves[leaf].items.size(); ++i) {
        const BlockHandle handle = parts.Block(leaf, i);
        const char flags = parts.data[handle.offset + handle.size - kBlockHeaderBytes + 24];
        if ((flags & kBlockContinuation) != 0) return {leaf, i};
      }
    }
    ADD_FAILURE() << "no continuation";
    return {0, 0};
  }

  const std::string contents = ContradictionTable();
};

TEST_F(TableContradictionTest, ATablePutTogetherUnchangedIsTheSameAndWhole) {
  const TableParts parts(contents);
  EXPECT_EQ(parts.Bytes(), contents);
  EXPECT_GE(parts.leaves.size(), 4u);
  EXPECT_TRUE(VerifyParts(parts).ok()) << VerifyParts(parts);
}

TEST_F(TableContradictionTest, CountsOfLeafPages) {
  Expect([](TableParts* p) { ++p->leaves[1].entries_before; }, "leaf page's count of entries before it");
  Expect([](TableParts* p) { ++p->leaves[1].entries; }, "leaf page's count of entries");
  Expect([](TableParts* p) { p->leaves[0].items.pop_back(); }, "leaf page's count of entries");
  Expect([](TableParts* p) { p->leaves[0].items.erase(p->leaves[0].items.begin()); }, "leaf page's first block");
  Expect([](TableParts* p) { p->leaves[1].items[0].dead ^= 1; }, "leaf page: share of tombstones of a block");
  Expect(
      [](TableParts* p) {
        // Between the data and the leaf pages there is something else.
        p->data += "stray";
        p->properties.data_bytes += 5;
      },
      "end of the data blocks");
}

TEST_F(TableContradictionTest, SeparatorsOfLeafPages) {
  Expect([](TableParts* p) { p->root.items.back().separator.user_key.back() += 1; },
         "is not the one that the root has");
  // A leaf page that ends within the versions of one key has an internal key as its separator.
  size_t within = 0;
  const TableParts whole(contents);
  while (within < whole.root.items.size() && !whole.root.items[within].separator.has_trailer) ++within;
  ASSERT_LT(within, whole.root.items.size());
  Expect([&](TableParts* p) { p->root.items[within].separator.trailer -= 1; }, "is not the one that the root has");
  // Without it the separator is after all versions of the key, and so out of order before the next.
  size_t last = within;
  while (whole.root.items[last + 1].separator.has_trailer) ++last;
  Expect([&](TableParts* p) { p->root.items[last].separator.has_trailer = false; }, "is not the one that the root has");

  Expect([](TableParts* p) { p->leaves[0].items[0].separator.user_key = "key"; },
         "its last entry is after its separator");
  // Then the first key of the second block.
  const std::string end_of_first = whole.leaves[0].items[0].separator.user_key;
  const std::vector<TestEntry> entries = ContradictionEntries();
  const auto next = std::find_if(entries.begin(), entries.end(),
                                 [&](const TestEntry& entry) { return entry.user_key > end_of_first; });
  ASSERT_NE(next, entries.end());
  Expect([&](TableParts* p) { p->leaves[0].items[0].separator.user_key = next->user_key; },
         "its first entry is not after the separator before it");
}

TEST_F(TableContradictionTest, EntriesOfBlocks) {
  const auto [leaf, block] = FirstContinuation();
  const auto flip_continuation = [](std::string* bytes) {
    (*bytes)[bytes->size() - kBlockHeaderBytes + 24] ^= kBlockContinuation;
  };
  Expect([&, l = leaf, b = block](TableParts* p) { p->ChangeBlock(p->Block(l, b), flip_continuation); },
         "continuation flag");
  Expect([&](TableParts* p) { p->ChangeBlock(p->Block(0, 0), flip_continuation); }, "continuation flag");
  Expect(
      [](TableParts* p) {
        p->ChangeBlock(p->Block(0, 0), [](std::string* bytes) { (*bytes)[TagOffset(*bytes, 0)] ^= 1; });
      },
      "a lookup does not find its entry");
  // The newest version of a key has another tag: a lookup of it finds the next.
  Expect(
      [l = leaf, b = block](TableParts* p) {
        p->ChangeBlock(p->Block(l, b), [](std::string* bytes) { (*bytes)[TagOffset(*bytes, 0)] ^= 1; });
      },
      "a lookup does not find its entry");
  // A block is a copy of an earlier one.
  std::optional<std::pair<BlockHandle, BlockHandle>> same_size;
  std::vector<BlockHandle> blocks;
  for (const IndexParts& page : TableParts(contents).leaves) {
    for (const IndexItem& item : page.items) blocks.push_back(item.handle);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (size_t j = i + 1; j < blocks.size(); ++j) {
      if (blocks[i].size == blocks[j].size) same_size = {blocks[i], blocks[j]};
    }
  }
  ASSERT_TRUE(same_size.has_value());
  Expect(
      [&](TableParts* p) {
        const std::string bytes = p->data.substr(same_size->first.offset, same_size->first.size);
        p->ChangeBlock(same_size->second, [&](std::string* second) { *second = bytes; });
      },
      "is not after the entry before it");
}

TEST_F(TableContradictionTest, EntriesOfKindsThatNobodyMayWriteAreRefusedWithTheirPlace) {
  for (int kind = kMaxValueKind + 1; kind < 256; ++kind) {
    if (IsKindOnDisk(static_cast<uint8_t>(kind))) continue;
    TableParts parts(contents);
    const BlockHandle second = parts.Block(0, 1);
    parts.ChangeBlock(second, [&](std::string* bytes) {
      char* const header = bytes->data() + bytes->size() - kBlockHeaderBytes;
      ASSERT_EQ(header[24] & kBlockUniformKind, 0);
      const size_t kinds = DecodeFixed32(header + 4) + DecodeFixed32(header + 16) +
                           size_t{DecodeFixed32(header)} * static_cast<uint8_t>(header[26]);
      (*bytes)[kinds + DecodeFixed32(header) - 1] = static_cast<char>(kind);
    });
    const absl::Status verified = VerifyParts(parts);
    EXPECT_TRUE(absl::IsDataLoss(verified)) << kind << ": " << verified;
    // So does a lookup that comes to the block.
    const std::shared_ptr<TableReader> reader = MustOpenTable(parts.Bytes(), nullptr);
    LevelFilterStatistics filters;
    TableHit hit;
    const absl::Status looked_up =
        reader->Lookup(TestLookupKey(parts.leaves[0].items[1].separator.user_key), {}, &filters, &hit);
    EXPECT_TRUE(absl::IsDataLoss(looked_up)) << kind << ": " << looked_up;
    EXPECT_THAT(looked_up.ToString(), HasSubstr(absl::StrFormat("test.sst: offset %u", second.offset)));
    // A key of the properties is no entry, and refused all the same.
    TableParts named(contents);
    named.properties.largest_key[named.properties.largest_key.size() - kTrailerBytes] = static_cast<char>(kind);
    EXPECT_TRUE(absl::IsDataLoss(VerifyParts(named))) << kind;
  }
}

TEST_F(TableContradictionTest, FiltersThatDenyWhatIsThere) {
  Expect([](TableParts* p) { p->leaves[0].items[0].lane.assign(p->leaves[0].items[0].lane.size(), '\0'); },
         "its lane denies its key");
  Expect([](TableParts* p) { std::fill(p->guard.begin() + kGuardLineBytes, p->guard.end(), '\0'); },
         "guard: it denies the key");
}

TEST_F(TableContradictionTest, EachFieldOfTheProperties) {
  Expect([](TableParts* p) { ++p->properties.tombstones; }, "properties: tombstones");
  Expect([](TableParts* p) { ++p->properties.distinct_keys; }, "properties: distinct keys");
  Expect([](TableParts* p) { ++p->properties.raw_key_bytes; }, "properties: bytes of keys");
  Expect([](TableParts* p) { ++p->properties.raw_value_bytes; }, "properties: bytes of values");
  Expect([](TableParts* p) { ++p->properties.data_blocks; }, "properties: data blocks");
  Expect([](TableParts* p) { ++p->properties.leaf_page_bytes; }, "properties: bytes of leaf pages");
  Expect([](TableParts* p) { ++p->properties.lane_bytes; }, "properties: bytes of lanes");
  Expect([](TableParts* p) { EncodeFixed64(p->guard.data() + 16, DecodeFixed64(p->guard.data() + 16) + 1); },
         "guard: count of keys");
  Expect([](TableParts* p) { ++p->properties.guard_bytes; }, "properties: bytes of the guard");
  Expect([](TableParts* p) { p->properties.lowest_sequence = SequenceNumber(0); }, "properties: lowest sequence");
  Expect([](TableParts* p) { p->properties.highest_sequence = kMaxSequenceNumber; }, "properties: highest sequence");
  Expect([](TableParts* p) { p->properties.smallest_key[0] ^= 1; }, "properties: smallest key");
  Expect([](TableParts* p) { p->properties.largest_key[0] ^= 1; }, "properties: largest key");
  Expect([](TableParts* p) { p->properties.key_sketch[0] ^= 1; }, "properties: sketch of the keys");
}

TEST_F(TableContradictionTest, OpeningComparesRootAndProperties) {
  const std::string what = "root and properties do not agree";
  Expect([](TableParts* p) { ++p->properties.entries; }, what);
  Expect([](TableParts* p) { ++p->properties.leaf_pages; }, what);
  Expect([](TableParts* p) { ++p->properties.data_bytes; }, what);
  // The pages of the root end before the root.
  Expect(
      [](TableParts* p) {
        p->root.items.pop_back();
        p->leaves.pop_back();
        --p->properties.leaf_pages;
        p->change_root = [](std::string* bytes) {
          const uint32_t n = DecodeFixed32(bytes->data());
          char* const end = bytes->data() + kIndexPageHeaderBytes + n * 8 + (n - 1) * 4;
          EncodeFixed32(end, DecodeFixed32(end) - 1);
        };
      },
      what);
}

TEST_F(TableContradictionTest, TheCountOfEntriesIsComparedWithTheEntries) {
  Expect(
      [](TableParts* p) {
        ++p->root.entries;
        ++p->properties.entries;
      },
      "properties: entries");
}

TEST_F(TableContradictionTest, AKeyThatOnlyTheRootAdmitsLiesBehindItsLeafPage) {
  TableParts parts(contents);
  const std::string key = parts.root.items.back().separator.user_key + "!";
  parts.root.items.back().separator.user_key += "~";
  const std::shared_ptr<TableReader> reader = MustOpenTable(parts.Bytes(), nullptr);
  ASSERT_NE(reader, nullptr);
  EXPECT_EQ(reader->ApproximateOffset(key).value(), parts.data.size());
  absl::Status looked_up;
  for (int i = 0; i < 1000 && looked_up.ok(); ++i) {  // until the guard lets one pass
    LevelFilterStatistics filters;
    TableHit hit;
    looked_up = reader->Lookup(TestLookupKey(key + std::to_string(i)), {}, &filters, &hit);
  }
  EXPECT_TRUE(absl::IsDataLoss(looked_up)) << looked_up;
}

TEST_F(TableContradictionTest, DescribingBlocksEndsAtAPageOrBlockThatCannotBeRead) {
  const TableParts parts(contents);
  for (const uint64_t offset : {parts.Block(0, 0).offset, parts.Block(1, 1).offset, uint64_t{parts.data.size()}}) {
    std::string damaged = contents;
    damaged[offset + 3] ^= 1;
    const std::shared_ptr<TableReader> reader = MustOpenTable(damaged, nullptr);
    EXPECT_TRUE(absl::IsDataLoss(reader->ForEachBlock([](const TableReader::BlockInfo&) { return absl::OkStatus(); })));
  }
  const std::shared_ptr<TableReader> reader = MustOpenTable(contents, nullptr);
  EXPECT_TRUE(absl::IsCancelled(
      reader->ForEachBlock([](const TableReader::BlockInfo&) { return absl::CancelledError("enough"); })));
}

TEST_F(TableContradictionTest, UnitsOfAnotherKindAreRefusedInTheirPlace) {
  // A leaf page as the root, and a root as a leaf page.
  Expect([](TableParts* p) { p->change_root = [](std::string* bytes) { (*bytes)[4] = 0; }; },
         "a page of another level");
  Expect([](TableParts* p) { p->change_root = [](std::string* bytes) { (*bytes)[4] = 2; }; },
         "unknown level of the index page");
  Expect([](TableParts* p) { p->guard[0] ^= 1; }, "guard");
}

}  // namespace
}  // namespace sepal

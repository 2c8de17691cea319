// Index pages and blocks whose fields are impossible, one after another: each is refused by name.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "sepal/db.h"
#include "table/block/block.h"
#include "table/file/table_format.h"
#include "table/index/index_page.h"
#include "tests/table/block/block_fixture.h"
#include "util/memory/mapped_memory.h"

namespace sepal {
namespace {

using Change = std::function<void(std::string*)>;

Change SetByte(size_t offset, int value) {
  return [=](std::string* bytes) { (*bytes)[offset] = static_cast<char>(value); };
}
Change SetFixed32(size_t offset, uint32_t value) {
  return [=](std::string* bytes) { EncodeFixed32(bytes->data() + offset, value); };
}
Change SetFixed16(size_t offset, uint16_t value) {
  return [=](std::string* bytes) { EncodeFixed16(bytes->data() + offset, value); };
}

// --- index pages ---

// Two blocks of 95 bytes from offset 1000 on, with lanes of 8 bytes. The first separator has a fence of eight bytes and
// a tail of two, the second one a fence of one byte and a trailer.
std::string TwoBlockPage(KeyOrder order) {
  IndexPageBuilder builder(0, order, /*lane_probes=*/6);
  builder.Add({"a1234567xy", false, 0}, {1000, 95}, 10, 1, std::string(8, 'l'));
  builder.Add({"b", true, PackTrailer(SequenceNumber(9), ValueKind::kPut)}, {1100, 95}, 10, 0, std::string(8, 'm'));
  return builder.Finish(0);
}
constexpr size_t kPageFences = kIndexPageHeaderBytes;
constexpr size_t kPageBlockEnds = kPageFences + 2 * 8;
constexpr size_t kPageTailEnds = kPageBlockEnds + 2 * 4;
constexpr size_t kPageLaneEnds = kPageTailEnds + 2 * 4;
constexpr size_t kPageShapes = kPageLaneEnds + 2 * 2;

std::string WhyPageIsRefused(const Change& change, KeyOrder order = {}, uint64_t file_size = 1 << 20) {
  std::string page = TwoBlockPage(order);
  change(&page);
  const PaddedBytes padded(page);
  std::string why;
  return IndexPageView::Validate(padded.view(), file_size, order, &why) ? "" : why;
}

TEST(IndexPageValidationTest, APageThatIsWholeIsAccepted) {
  const Change none = [](std::string*) {};
  const BackwardComparator backward(true);
  EXPECT_EQ(WhyPageIsRefused(none), "");
  EXPECT_EQ(WhyPageIsRefused(none, KeyOrder(&backward)), "order of separator 1 of an index page");
}

TEST(IndexPageValidationTest, ImpossibleHeadersAreRefused) {
  EXPECT_EQ(WhyPageIsRefused([](std::string* b) { b->resize(63); }), "size of the index page");
  EXPECT_EQ(WhyPageIsRefused(SetFixed32(0, 0)), "index page without blocks");
  EXPECT_EQ(WhyPageIsRefused(SetByte(4, 2)), "unknown level of the index page");
  EXPECT_EQ(WhyPageIsRefused(SetByte(7, 1)), "unknown fields in the header of the index page");
  EXPECT_EQ(WhyPageIsRefused(SetByte(48, 1)), "unknown fields in the header of the index page");
  EXPECT_EQ(WhyPageIsRefused(SetByte(63, 1)), "unknown fields in the header of the index page");
  EXPECT_EQ(WhyPageIsRefused(SetByte(5, 3)), "unknown kind of lanes");
  EXPECT_EQ(WhyPageIsRefused(SetByte(6, 0)), "probes of the lanes") << "Bloom without probes";
  EXPECT_EQ(WhyPageIsRefused(SetByte(6, kMaxLaneProbes + 1)), "probes of the lanes");
  EXPECT_EQ(WhyPageIsRefused([](std::string* b) { (*b)[5] = (*b)[6] = 0; }), "lanes of no kind") << "none, with bytes";
  EXPECT_EQ(WhyPageIsRefused(SetFixed32(24, kMaxKeyBytes + 1)), "length of the separators' prefix");
  const BackwardComparator backward(true);
  EXPECT_EQ(WhyPageIsRefused(SetFixed32(24, 1), KeyOrder(&backward)), "length of the separators' prefix");
  for (const size_t offset : {size_t{0}, size_t{28}, size_t{32}, size_t{36}}) {
    for (const uint32_t value : {uint32_t{200}, ~uint32_t{0}}) {
      EXPECT_EQ(WhyPageIsRefused(SetFixed32(offset, value)), "parts of the index page do not add up to its size");
    }
  }
  const MappedMemory untouched(size_t{1} << 32);
  std::string why;
  EXPECT_FALSE(IndexPageView::Validate({untouched.data(), untouched.size()}, 1 << 20, {}, &why));
  EXPECT_EQ(why, "size of the index page");
}

TEST(IndexPageValidationTest, EndsThatDoNotAscendOrLeaveTheFileAreRefused) {
  EXPECT_EQ(WhyPageIsRefused([](std::string*) {}, {}, 999), "end of block 1 of an index page");
  EXPECT_EQ(WhyPageIsRefused([](std::string*) {}, {}, 1199), "end of block 1 of an index page");
  EXPECT_EQ(WhyPageIsRefused(SetFixed32(kPageTailEnds + 4, 9)), "end of the separator of block 1 of an index page");
  EXPECT_EQ(WhyPageIsRefused(SetFixed16(kPageLaneEnds + 2, 1)), "end of the lane of block 1 of an index page");
  EXPECT_EQ(WhyPageIsRefused(SetFixed32(kPageBlockEnds, 4)), "end of block 0 of an index page");
  EXPECT_EQ(WhyPageIsRefused(SetFixed32(kPageBlockEnds, 196)), "end of block 1 of an index page");
  EXPECT_EQ(WhyPageIsRefused(SetFixed32(kPageTailEnds, 11)), "end of the separator of block 1 of an index page");
  EXPECT_EQ(WhyPageIsRefused(SetFixed16(kPageLaneEnds, 3)), "end of the lane of block 1 of an index page");
}

TEST(IndexPageValidationTest, ImpossibleSeparatorsAreRefused) {
  EXPECT_EQ(WhyPageIsRefused(SetByte(kPageShapes, 8 | 0x10)), "shape of separator 0 of an index page");
  EXPECT_EQ(WhyPageIsRefused(SetByte(kPageShapes, 9)), "shape of separator 0 of an index page");
  const BackwardComparator backward(true);
  EXPECT_EQ(WhyPageIsRefused(SetByte(kPageShapes, 1), KeyOrder(&backward)), "shape of separator 0 of an index page");
  EXPECT_EQ(WhyPageIsRefused(SetByte(kPageShapes, 8 | kSeparatorHasTrailer)),
            "trailer of separator 0 of an index page");
  EXPECT_EQ(WhyPageIsRefused(SetByte(kPageShapes, 7)), "tail of separator 0 of an index page");
  EXPECT_EQ(WhyPageIsRefused(SetByte(kPageShapes + 1, 0 | kSeparatorHasTrailer)),
            "fence of separator 1 of an index page");
  EXPECT_EQ(WhyPageIsRefused(SetByte(kPageFences + 7, 'c')), "order of separator 1 of an index page");
  // A key that is too long, in one piece or together with the prefix.
  const auto refused = [](const std::vector<std::string>& keys) {
    IndexPageBuilder builder(1, {}, {});
    uint64_t offset = 0;
    for (const std::string& key : keys) {
      builder.Add({key, false, 0}, {offset, 10}, 1, 0, "");
      offset += 10 + kUnitTrailerBytes;
    }
    const PaddedBytes padded(builder.Finish(0));
    std::string why;
    return IndexPageView::Validate(padded.view(), 1 << 20, {}, &why) ? "" : why;
  };
  EXPECT_EQ(refused({std::string(kMaxKeyBytes, 'k')}), "");
  EXPECT_EQ(refused({std::string(kMaxKeyBytes, 'k'), std::string(kMaxKeyBytes, 'k') + "l"}),
            "length of separator 1 of an index page");
}

// --- blocks ---

// Three entries of which keys differ in length and kinds differ, with tags.
std::string ThreeEntryBlock() {
  BlockBuilder builder(/*tags=*/true);
  const auto add = [&](std::string_view key, uint64_t sequence, ValueKind kind, std::string_view value) {
    builder.Add({key, PackTrailer(SequenceNumber(sequence), kind)}, value, HashKey(key, kBlockHashSeed));
  };
  add("ka", 7, ValueKind::kPut, "value");
  add("kbb", 300, ValueKind::kDelete, "");
  add("kccc", 9, ValueKind::kPut, "v");
  return std::string(builder.Finish(false));
}

std::string WhyBlockIsRefused(const std::function<void(std::string*, char* header)>& change, KeyOrder order = {}) {
  std::string block = ThreeEntryBlock();
  change(&block, block.data() + block.size() - kBlockHeaderBytes);
  const PaddedBytes padded(block);
  std::string why;
  return BlockView::Validate(padded.view(), order, &why) ? "" : why;
}

TEST(BlockValidationTest, ImpossibleHeadersAreRefused) {
  const auto with_byte = [](size_t offset, int value) {
    return WhyBlockIsRefused([=](std::string*, char* header) { header[offset] = static_cast<char>(value); });
  };
  const auto with_fixed32 = [](size_t offset, uint32_t value) {
    return WhyBlockIsRefused([=](std::string*, char* header) { EncodeFixed32(header + offset, value); });
  };
  const auto flags = [&](int set, int cleared) {
    return WhyBlockIsRefused(
        [=](std::string*, char* header) { header[24] = static_cast<char>((header[24] | set) & ~cleared); });
  };
  EXPECT_EQ(flags(0, 0), "");
  EXPECT_EQ(WhyBlockIsRefused([](std::string* b, char*) { b->resize(kBlockHeaderBytes - 1); }), "size of the block");
  EXPECT_EQ(with_fixed32(0, 0), "block without entries");
  EXPECT_EQ(flags(64, 0), "unknown flags in the block header");
  EXPECT_EQ(with_byte(27, 1), "unknown flags in the block header");
  EXPECT_EQ(with_byte(26, 8), "width of sequence numbers");
  EXPECT_EQ(with_byte(25, 1), "uniform kind");
  EXPECT_EQ(WhyBlockIsRefused([](std::string*, char* header) {
              header[24] |= kBlockUniformKind;
              header[25] = static_cast<char>(ValueKind::kFoldedMerge);
            }),
            "uniform kind");
  EXPECT_EQ(with_fixed32(20, kMaxKeyBytes + 1), "length of the key prefix");
  EXPECT_EQ(flags(kBlockWideValues, 0), "width of value begins");
  EXPECT_EQ(with_fixed32(4, UINT16_MAX + 1), "width of value begins");
  EXPECT_EQ(flags(kBlockWideKeys, 0), "width of key begins");
  EXPECT_EQ(with_fixed32(16, UINT16_MAX + 1), "width of key begins");
  EXPECT_EQ(WhyBlockIsRefused([](std::string*, char* header) {
              header[24] |= kBlockUniformKeySize;
              EncodeFixed32(header + 16, 7);
            }),
            "length of the keys");
  for (const size_t offset : {size_t{0}, size_t{4}, size_t{16}, size_t{20}}) {
    EXPECT_EQ(with_fixed32(offset, 1000), "parts of the block do not add up to its size") << offset;
  }
}

TEST(BlockValidationTest, ImpossibleEntriesAreRefused) {
  // Values 6, keys 2+1+... : the columns follow from the header.
  const std::string block = ThreeEntryBlock();
  const char* header = block.data() + block.size() - kBlockHeaderBytes;
  const size_t prefix = DecodeFixed32(header + 20);
  ASSERT_EQ(prefix, 1u);
  const size_t key_begins = block.size() - kBlockHeaderBytes - prefix - 3 * 2;
  const size_t value_begins = key_begins - 3 * 2;
  const size_t kinds = value_begins - 3 /* tags */ - 3;
  const auto with = [](const Change& change) {
    return WhyBlockIsRefused([&](std::string* bytes, char*) { change(bytes); });
  };
  EXPECT_EQ(with(SetFixed16(value_begins, 1)), "begin of entry 0");
  EXPECT_EQ(with(SetFixed16(key_begins, 1)), "begin of entry 0");
  EXPECT_EQ(with(SetFixed16(value_begins + 2, 6000)), "begin of the value of entry 0");
  EXPECT_EQ(with(SetFixed16(value_begins + 4, 1)), "begin of the value of entry 1");
  EXPECT_EQ(with(SetFixed16(key_begins + 2, 6000)), "begin of the key of entry 0");
  EXPECT_EQ(with(SetFixed16(key_begins + 4, 0)), "begin of the key of entry 1");
  EXPECT_EQ(with(SetByte(kinds + 1, static_cast<uint8_t>(ValueKind::kFoldedMerge))), "kind of entry 1");
  EXPECT_EQ(WhyBlockIsRefused([](std::string*, char* h) { EncodeFixed64(h + 8, kMaxSequenceNumber.value() + 1); }),
            "sequence number of entry 0");
  EXPECT_EQ(WhyBlockIsRefused([](std::string*, char* h) { EncodeFixed64(h + 8, kMaxSequenceNumber.value()); }),
            "sequence number of entry 1");
  const BackwardComparator backward(true);
  EXPECT_EQ(WhyBlockIsRefused([](std::string* b, char*) { std::swap((*b)[6], (*b)[8]); }, KeyOrder(&backward)),
            "order of entry 1");
}

TEST(BlockValidationTest, AKeyThatIsTooLongIsRefused) {
  const auto refused = [](std::string_view first, std::string_view second) {
    BlockBuilder builder(/*tags=*/false);
    builder.Add({first, PackTrailer(SequenceNumber(2), ValueKind::kPut)}, "v", 0);
    builder.Add({second, PackTrailer(SequenceNumber(1), ValueKind::kPut)}, "v", 0);
    const PaddedBytes padded(builder.Finish(false));
    std::string why;
    return BlockView::Validate(padded.view(), {}, &why) ? "" : why;
  };
  const std::string longest(kMaxKeyBytes, 'k');
  EXPECT_EQ(refused(longest, longest), "");
  EXPECT_EQ(refused(longest, longest + "l"), "key length of entry 1");
}

}  // namespace
}  // namespace sepal

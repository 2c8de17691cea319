// The bytes of a small table. If this test fails, the format has changed: files of before can no longer be read.
#include "tests/table/file/table_fixture.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

std::string GoldenTable() {
  TableWriterOptions options = TestWriterOptions();
  options.compression = CompressionKind::kNone;
  options.block_bytes = 256;
  options.blocks_per_leaf_page = 64;
  options.filter_policy = {.lane_bits_per_key = 8, .guard_bits_per_key = 5};
  const auto put = [](uint64_t sequence) { return PackTrailer(SequenceNumber(sequence), ValueKind::kPut); };
  const std::vector<TestEntry> entries = {
      {"apple", put(9), "red"},
      {"apple", PackTrailer(SequenceNumber(7), ValueKind::kDelete), ""},
      {"apricot", put(8), std::string(250, 'o')},
      {"banana", put(300), "yellow"},
  };
  return WriteTable(options, entries);
}

// The unit's bytes and trailer, in hexadecimal.
std::string HexOf(const std::string& contents, uint64_t offset, uint64_t size) {
  return ToHex(std::string_view(contents).substr(offset, size + kUnitTrailerBytes));
}

std::string Zeros(size_t bytes) { return std::string(2 * bytes, '0'); }

// clang-format off: each comment stands beside the bytes that it explains.

TEST(TableGoldenTest, DataBlocksAreStable) {
  const std::string contents = GoldenTable();
  std::string os;
  for (int i = 0; i < 250; ++i) os += "6f";
  EXPECT_EQ(HexOf(contents, 0, 315),
            "726564" +          // values: red, nothing,
                os +            // many o
                "706c65"        // keys: (ap)ple,
                "706c65"        // (ap)ple,
                "7269636f74"    // (ap)ricot
                "020001"        // sequences less 7
                "010001"        // kinds
                "8a8a36"        // tags
                "000003000300"  // value begins
                "000003000600"  // key begins
                "6170"          // prefix: ap
                "03000000"
                "fd000000"          // 3 entries, 253 bytes of values
                "0700000000000000"  // base sequence
                "0b000000"          // 11 bytes of keys
                "02000000"          // prefix length
                "01"
                "00"
                "01"
                "00"  // flags: tags; kinds differ; sequences of 1 byte
                "00"
                "18b189fc");  // trailer: not compressed, checksum
  EXPECT_EQ(HexOf(contents, 320, 43),
            "79656c6c6f77"  // value: yellow; the key is all prefix
            "13"            // tag
            "0000"          // value begin
            "62616e616e61"  // prefix: banana
            "01000000"
            "06000000"          // 1 entry, 6 bytes of values
            "2c01000000000000"  // base sequence: 300
            "00000000"          // no bytes of keys
            "06000000"          // prefix length
            "15"
            "01"
            "00"
            "00"  // flags: tags, uniform kind, keys of one length; put; no sequences
            "00"
            "ec1ea01e");  // trailer
}

TEST(TableGoldenTest, LeafPagesAndRootAreStable) {
  const std::string contents = GoldenTable();
  EXPECT_EQ(HexOf(contents, 368, 144),
            "02000000"
            "00"
            "01"
            "06"
            "00"  // 2 blocks; leaf page; Bloom lanes with 6 probes
            "0000000000000000"
            "0400000000000000"  // base offset; entries
            "01000000"
            "00000000"  // lengths of prefix and tails
            "80000000"
            "10000000"  // lanes: offset and length
            "0000000000000000" +
                Zeros(16) +  // no entries before
                "0000000000000000"
                "000000616e616e61"  // fences: (b), (b)anana
                "40010000"
                "70010000"  // block ends: 320, 368
                "00000000"
                "00000000"  // tail ends
                "0100"
                "0200"  // lane ends, in units of 8 bytes
                "00"
                "05"  // shapes: 0 and 5 bytes in the fence
                "55"
                "00"  // dead: a third of the first block
                "62" +
                Zeros(23) +  // prefix: b; padding
                "20010282201c8011"
                "00ab010000000000"  // lanes
                "00"
                "6ca839d3");  // trailer
  EXPECT_EQ(HexOf(contents, 517, 128),
            "01000000"
            "01"
            "00"
            "00"
            "00"  // 1 leaf page; root; no lanes
            "7001000000000000"
            "0400000000000000"  // base offset: 368; entries
            "06000000"
            "00000000"  // lengths of prefix and tails
            "80000000"
            "00000000"  // no lanes
            "0000000000000000" +
                Zeros(16) +         //
                "0000000000000000"  // fence: (banana)
                "95000000"
                "00000000"
                "0000"
                "00"
                "40"  // block end: 149; tail end; lane end; shape; dead: a quarter
                "62616e616e61" +
                Zeros(38) +  // prefix: banana; padding
                "00"
                "a9d1e061");  // trailer
}

TEST(TableGoldenTest, GuardIsStable) {
  EXPECT_EQ(HexOf(GoldenTable(), 650, 128),
            "01"
            "03"
            "000000000000"  // Bloom, 3 probes
            "0100000000000000"
            "0300000000000000" +  // 1 line; 3 keys
                Zeros(40) +       //
                "0000000000001000"
                "0000000000008000"  // the line: 9 bits
                "0000000000000000"
                "0000004000000000"  //
                "0000000000000001"
                "0002000000000000"  //
                "0008000081000000"
                "0000000000800000"  //
                "00"
                "d65c5dd3");  // trailer
}

// clang-format on

TEST(TableGoldenTest, PropertiesAndFooterCloseTheFile) {
  const std::string contents = GoldenTable();
  const std::shared_ptr<TableReader> reader = MustOpenTable(contents, nullptr);
  const Footer& footer = reader->footer();
  EXPECT_EQ(footer.root, (BlockHandle{517, 128}));
  EXPECT_EQ(footer.guard, (BlockHandle{650, 128}));
  EXPECT_EQ(footer.properties.offset, 783u);
  EXPECT_EQ(footer.properties.offset + footer.properties.size + kUnitTrailerBytes + kFooterBytes, contents.size());
  EXPECT_EQ(contents.substr(footer.properties.offset, footer.properties.size), reader->properties().Encode());
  EXPECT_EQ(contents.substr(contents.size() - kFooterBytes), footer.Encode());
}

}  // namespace
}  // namespace sepal

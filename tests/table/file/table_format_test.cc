#include "table/file/table_format.h"

#include "absl/strings/escaping.h"
#include "gtest/gtest.h"
#include "sepal/version.h"
#include "util/base/coding.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

Footer TestFooter() {
  Footer footer;
  footer.root = {1000, 200};
  footer.guard = {1205, 128};
  footer.properties = {1338, 300};
  footer.table_id = 0x1122334455667788;
  footer.hash_seed = 0x99aabbccddeeff00;
  footer.file_size = 1338 + 300 + 5 + kFooterBytes;
  return footer;
}

// `bytes` with the checksum that they should have.
std::string Resealed(std::string bytes) {
  EncodeFixed64(bytes.data() + 96, Checksum64(std::string_view(bytes).substr(0, 96), 0));
  return bytes;
}

absl::StatusOr<Footer> Decode(const Footer& footer) { return Footer::Decode(footer.Encode(), "f", footer.file_size); }

TEST(FooterTest, BytesAreStable) {
  const std::string bytes = TestFooter().Encode();
  ASSERT_EQ(bytes.size(), kFooterBytes);
  EXPECT_EQ(ToHex(bytes.substr(0, 96)),
            "e803000000000000c800000000000000"  // root
            "00000000000000000000000000000000"  // range deletes
            "b5040000000000008000000000000000"  // guard
            "3a050000000000002c01000000000000"  // properties
            "8877665544332211"                  // table id
            "00ffeeddccbbaa99"                  // hash seed
            "db06000000000000"                  // file size
            "01"                                // checksum kind
            "01"                                // hash kind
            "0100"                              // flags: hashable
            "01000000");                        // format version
  EXPECT_EQ(DecodeFixed64(bytes.data() + 96), Checksum64(bytes.substr(0, 96), 0));
  EXPECT_EQ(bytes.substr(104), "SPALTBL1");
}

TEST(FooterTest, ComesBackAsItWas) {
  Footer footer = TestFooter();
  footer.hashable = false;
  const absl::StatusOr<Footer> decoded = Decode(footer);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->root, footer.root);
  EXPECT_EQ(decoded->guard, footer.guard);
  EXPECT_EQ(decoded->properties, footer.properties);
  EXPECT_EQ(decoded->table_id, footer.table_id);
  EXPECT_EQ(decoded->hash_seed, footer.hash_seed);
  EXPECT_EQ(decoded->file_size, footer.file_size);
  EXPECT_FALSE(decoded->hashable);
  EXPECT_EQ(Footer::ChecksumOf(footer.Encode()), DecodeFixed64(footer.Encode().data() + 96));
}

TEST(FooterTest, RefusesANewerVersionByName) {
  std::string bytes = TestFooter().Encode();
  EncodeFixed32(bytes.data() + 92, 3);
  const absl::Status status = Footer::Decode(bytes, "000012.sst", TestFooter().file_size).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_NE(status.ToString().find("000012.sst"), std::string::npos) << status;
  EXPECT_NE(status.ToString().find("version 3"), std::string::npos) << status;
}

// A footer of format version 2 as 0.1.0 wrote it.
TEST(FooterTest, RefusesATableWithFingerprintLanesByName) {
  std::string bytes = absl::HexStringToBytes(
      "e803000000000000c800000000000000"  // root
      "00000000000000000000000000000000"  // range deletes
      "b5040000000000008000000000000000"  // guard
      "3a050000000000002c01000000000000"  // properties
      "8877665544332211"                  // table id
      "00ffeeddccbbaa99"                  // hash seed
      "db06000000000000"                  // file size
      "01010100"                          // checksum kind, hash kind, flags
      "02000000"                          // format version
      "d40db36c0a93ae5e"                  // checksum
      "5350414c54424c31");                // magic number
  const auto refusal = [](std::string_view footer) {
    return Footer::Decode(footer, "000012.sst", TestFooter().file_size).status();
  };
  EXPECT_EQ(refusal(bytes), absl::FailedPreconditionError(
                                "000012.sst: the table has fingerprint lanes (format 2), which this version does not "
                                "read; rewrite it with Sepal 0.1.0"));
  bytes[0] ^= 1;
  EXPECT_EQ(refusal(bytes).code(), absl::StatusCode::kDataLoss) << "damage is told as damage";
}

TEST(FooterTest, RefusesKindsAndFlagsThatItDoesNotKnow) {
  for (const size_t offset : {size_t{88}, size_t{89}, size_t{90}, size_t{91}}) {
    std::string bytes = TestFooter().Encode();
    bytes[offset] = 6;
    EXPECT_EQ(Footer::Decode(Resealed(bytes), "f", TestFooter().file_size).status().code(),
              absl::StatusCode::kFailedPrecondition)
        << offset;
  }
}

TEST(FooterTest, RefusesRangeDeletesRatherThanIgnoringThem) {
  Footer footer = TestFooter();
  footer.range_deletes = {1205, 10};
  EXPECT_EQ(Decode(footer).status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST(FooterTest, AForeignFileIsDataLossThatSaysSo) {
  const std::string foreign(1000, 'x');
  const absl::Status status = Footer::Decode(foreign, "notes.txt", foreign.size()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kDataLoss);
  EXPECT_NE(status.ToString().find("not a table file"), std::string::npos) << status;
  EXPECT_EQ(Footer::Decode("", "empty", 0).status().code(), absl::StatusCode::kDataLoss);
}

TEST(FooterTest, AnyFlippedBitIsSeen) {
  const std::string bytes = TestFooter().Encode();
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    const absl::StatusOr<Footer> decoded = Footer::Decode(damaged, "f", TestFooter().file_size);
    ASSERT_FALSE(decoded.ok()) << bit;
    const bool version = bit / 8 >= 92 && bit / 8 < 96;
    ASSERT_TRUE(decoded.status().code() == absl::StatusCode::kDataLoss || version) << bit << decoded.status();
  }
}

TEST(FooterTest, UnitsMustFollowEachOtherWithoutGaps) {
  const auto broken = [](auto change) {
    Footer footer = TestFooter();
    change(footer);
    return Decode(footer).status().code();
  };
  EXPECT_EQ(broken([](Footer&) {}), absl::StatusCode::kOk);
  EXPECT_EQ(broken([](Footer& f) { ++f.root.size; }), absl::StatusCode::kDataLoss);
  EXPECT_EQ(broken([](Footer& f) { --f.guard.offset; }), absl::StatusCode::kDataLoss);
  EXPECT_EQ(broken([](Footer& f) { ++f.properties.size; }), absl::StatusCode::kDataLoss);
  EXPECT_EQ(broken([](Footer& f) { f.root.offset = ~uint64_t{0} - 3; }), absl::StatusCode::kDataLoss);
  EXPECT_EQ(broken([](Footer& f) { f.guard.size = ~uint64_t{0} - 1337; }), absl::StatusCode::kDataLoss);
  EXPECT_EQ(broken([](Footer& f) { f.guard = {}; }), absl::StatusCode::kDataLoss);
  EXPECT_EQ(broken([](Footer& f) { f.root = {}; }), absl::StatusCode::kDataLoss);
}

TEST(FooterTest, AFileThatGrewOrShrankIsDataLoss) {
  const std::string bytes = TestFooter().Encode();
  EXPECT_EQ(Footer::Decode(bytes, "f", TestFooter().file_size + 1).status().code(), absl::StatusCode::kDataLoss);
  EXPECT_EQ(Footer::Decode(bytes, "f", TestFooter().file_size - 1).status().code(), absl::StatusCode::kDataLoss);
}

TableProperties TestProperties() {
  TableProperties p;
  p.entries = 1;
  p.tombstones = 2;
  p.distinct_keys = 300;
  p.raw_key_bytes = 4;
  p.raw_value_bytes = 5;
  p.data_blocks = 6;
  p.data_bytes = 7;
  p.leaf_pages = 8;
  p.leaf_page_bytes = 9;
  p.guard_bytes = 10;
  p.lowest_sequence = SequenceNumber(11);
  p.highest_sequence = SequenceNumber(12);
  p.smallest_key = std::string("a") + std::string(8, '\1');
  p.largest_key = std::string("z") + std::string(8, '\1');
  p.comparator_name = "order";
  p.column_family_name = "family";
  p.column_family_id = 17;
  p.creation_unix_micros = 18;
  p.filter_policy = {.lane_bits_per_key = 1.5, .guard_bits_per_key = 2.5};
  p.lane_probes = 21;
  p.guard_probes = 22;
  p.expected_filter_rate = 0.25;
  p.compression = 24;
  p.block_bytes = 25;
  p.key_sketch = "sketch";
  p.writer_version = "1.2.3";
  p.database_id = 28;
  p.lane_bytes = 29;
  return p;
}

TEST(TablePropertiesTest, BytesAreStable) {
  EXPECT_EQ(ToHex(TestProperties().Encode()),
            "010101"    // entries
            "020102"    // tombstones
            "0302ac02"  // distinct keys
            "040104"
            "050105"  // raw bytes of keys and values
            "060106"
            "070107"  // data blocks and their bytes
            "080108"
            "090109"  // leaf pages and their bytes
            "0a010a"  // guard bytes
            "0b010b"
            "0c010c"  // sequences
            "0d0961"
            "0101010101010101"  // smallest key
            "0e097a"
            "0101010101010101"  // largest key
            "0f056f72646572"    // comparator
            "100666616d696c79"
            "110111"  // column family's name and number
            "120112"  // creation
            "1308000000000000f83f"
            "14080000000000000440"  // bits per key
            "150115"
            "160116"                // probes
            "1708000000000000d03f"  // expected rate
            "180118"
            "190119"            // compression, block bytes
            "1a06736b65746368"  // sketch
            "1b05312e322e33"    // version
            "1c011c"
            "1d011d");  // database, lane bytes
}

TEST(TablePropertiesTest, EveryFieldComesBack) {
  const std::string bytes = TestProperties().Encode();
  const absl::StatusOr<TableProperties> decoded = TableProperties::Decode(bytes, "f");
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(ToHex(decoded->Encode()), ToHex(bytes));
  EXPECT_EQ(decoded->filter_policy, TestProperties().filter_policy);
  EXPECT_EQ(decoded->highest_sequence, SequenceNumber(12));
}

TEST(TablePropertiesTest, SkipsFieldsOfLaterWriters) {
  std::string bytes = TestProperties().Encode();
  PutVarint(&bytes, 1000);
  PutLengthPrefixed(&bytes, "something new");
  const absl::StatusOr<TableProperties> decoded = TableProperties::Decode(bytes, "f");
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(ToHex(decoded->Encode()), ToHex(TestProperties().Encode()));
}

TEST(TablePropertiesTest, MalformedBytesAreDataLoss) {
  const std::string bytes = TestProperties().Encode();
  const auto code = [](const std::string& b) { return TableProperties::Decode(b, "f").status().code(); };
  EXPECT_EQ(code(bytes + '\1'), absl::StatusCode::kDataLoss);                                  // half a field
  EXPECT_EQ(code(bytes + std::string("\1\1\1", 3)), absl::StatusCode::kDataLoss);              // a tag that goes back
  EXPECT_EQ(code(std::string("\1\2\1\1", 4) + bytes.substr(3)), absl::StatusCode::kDataLoss);  // a number and more
  EXPECT_EQ(code(""), absl::StatusCode::kDataLoss);
  TableProperties impossible = TestProperties();
  impossible.smallest_key = "short";
  EXPECT_EQ(code(impossible.Encode()), absl::StatusCode::kDataLoss);
  impossible = TestProperties();
  impossible.lowest_sequence = SequenceNumber(13);
  EXPECT_EQ(code(impossible.Encode()), absl::StatusCode::kDataLoss);
}

TEST(UnitChecksumTest, DependsOnBytesKindTableAndPlace) {
  const uint32_t checksum = UnitChecksum("bytes", CompressionKind::kNone, 1, 2);
  EXPECT_EQ(checksum, UnitChecksum("bytes", CompressionKind::kNone, 1, 2));
  EXPECT_NE(checksum, UnitChecksum("bytez", CompressionKind::kNone, 1, 2));
  EXPECT_NE(checksum, UnitChecksum("bytes", CompressionKind::kSnappy, 1, 2));
  EXPECT_NE(checksum, UnitChecksum("bytes", CompressionKind::kNone, 2, 2));
  EXPECT_NE(checksum, UnitChecksum("bytes", CompressionKind::kNone, 1, 3));
}

TEST(FooterTest, UnitsThatAreNotThereOrAFileTooShortForAFooterAreDataLoss) {
  Footer footer = TestFooter();
  footer.root.size = 0;
  EXPECT_TRUE(absl::IsDataLoss(Decode(footer).status()));
  footer = TestFooter();
  footer.properties.size = 0;
  EXPECT_TRUE(absl::IsDataLoss(Decode(footer).status()));
  EXPECT_TRUE(absl::IsDataLoss(Footer::Decode(TestFooter().Encode(), "f", kFooterBytes - 1).status()));
  std::string bytes = TestFooter().Encode();
  EncodeFixed32(bytes.data() + 92, 0);
  EXPECT_TRUE(absl::IsFailedPrecondition(Footer::Decode(Resealed(bytes), "f", TestFooter().file_size).status()));
}

TEST(TablePropertiesTest, ImpossibleCountsKeysAndLengthsAreDataLoss) {
  const auto refused = [](auto change) {
    TableProperties properties = TestProperties();
    change(properties);
    return absl::IsDataLoss(TableProperties::Decode(properties.Encode(), "f").status());
  };
  EXPECT_FALSE(refused([](TableProperties&) {}));
  EXPECT_TRUE(refused([](TableProperties& p) { p.entries = 0; }));
  EXPECT_TRUE(refused([](TableProperties& p) { p.data_blocks = 0; }));
  EXPECT_TRUE(refused([](TableProperties& p) { p.leaf_pages = 0; }));
  EXPECT_TRUE(refused([](TableProperties& p) { p.smallest_key = "short"; }));
  EXPECT_TRUE(refused([](TableProperties& p) { p.largest_key = std::string(9, '\xff'); }));
  const std::string bytes = TestProperties().Encode();
  for (size_t size = 0; size < bytes.size(); ++size) {
    TableProperties::Decode(bytes.substr(0, size), "f").status().IgnoreError();
  }
  EXPECT_TRUE(absl::IsDataLoss(TableProperties::Decode(bytes.substr(0, bytes.size() - 1), "f").status()));
  EXPECT_TRUE(absl::IsDataLoss(TableProperties::Decode(bytes + "\x7f\x90", "f").status()));
}

}  // namespace
}  // namespace sepal

#include "db/format/log_format.h"

#include <gtest/gtest.h>

#include <string>

#include "util/base/coding.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

LogHeader SampleHeader() {
  LogHeader h;
  h.database_id = 0x0102030405060708;
  h.number = FileNumber(9);
  h.salt = 0x1112131415161718;
  h.start = LogPosition(1000);
  h.predecessor = {FileNumber(8), 0x2122232425262728, 712};
  h.durable = LogPosition(900);
  h.manifest = {FileNumber(5), 345};
  return h;
}

TEST(LogFormatTest, TheHeaderIsAsTheTableSays) {
  const std::string bytes = SampleHeader().Encode();
  ASSERT_EQ(bytes.size(), kLogHeaderBytes);
  EXPECT_EQ(ToHex(bytes.substr(0, 96)),
            "5350414c4c4f4731"
            "01000000"
            "00000000"          // "SPALLOG1", version 1, 0
            "0807060504030201"  // database id
            "0900000000000000"
            "1817161514131211"  // number, salt
            "e803000000000000"  // start
            "0800000000000000"
            "2827262524232221"
            "c802000000000000"  // predecessor
            "8403000000000000"  // durable
            "0500000000000000"
            "5901000000000000");  // manifest
  EXPECT_EQ(bytes.substr(96, 408), std::string(408, '\0'));
  LogHeader with_ring = SampleHeader();
  with_ring.ring = {FileNumber(7), 0x400000, /*length_is_durable=*/true};
  const std::string ring_bytes = with_ring.Encode();
  EXPECT_EQ(ToHex(ring_bytes.substr(8, 4)), "02000000") << "version 2";
  EXPECT_EQ(ToHex(ring_bytes.substr(96, 16)), "07000000000000000000400000000000");
  EXPECT_EQ(ToHex(ring_bytes.substr(112, 8)), "0100000000000000");
  EXPECT_EQ(ring_bytes.substr(120, 384), std::string(384, '\0'));
  EXPECT_EQ(*LogHeader::Decode(ring_bytes, "f"), with_ring);
  EXPECT_EQ(DecodeFixed64(bytes.data() + 504), Checksum64(std::string_view(bytes).substr(0, 504), 0));
}

TEST(LogFormatTest, TheHeaderOfARingIsAsTheTableSays) {
  const std::string bytes = RingHeader{0x400000, FileNumber(9)}.Encode();
  ASSERT_EQ(bytes.size(), 40u);
  EXPECT_EQ(ToHex(bytes.substr(0, 32)),
            "5350414c524e4731"  // "SPALRNG1"
            "02000000"
            "00000000"
            "0000400000000000"
            "0900000000000000");
  EXPECT_EQ(DecodeFixed64(bytes.data() + 32), Checksum64(std::string_view(bytes).substr(0, 32), 0));
  EXPECT_EQ(RingHeader::Decode(bytes), (RingHeader{0x400000, FileNumber(9)}));
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    EXPECT_EQ(RingHeader::Decode(damaged), std::nullopt) << bit;
  }
  for (size_t n = 0; n < bytes.size(); ++n) EXPECT_EQ(RingHeader::Decode(bytes.substr(0, n)), std::nullopt) << n;
  std::string other = bytes;
  other[0] = 'T';
  EncodeFixed64(other.data() + 32, Checksum64(std::string_view(other).substr(0, 32), 0));
  EXPECT_EQ(RingHeader::Decode(other), std::nullopt) << "another magic, of a good checksum";
}

TEST(LogFormatTest, AHeaderIsDecodedAndEveryFlippedBitInItIsDataLoss) {
  std::string bytes = SampleHeader().Encode();
  ASSERT_TRUE(LogHeader::Decode(bytes, "f").ok());
  EXPECT_EQ(*LogHeader::Decode(bytes, "f"), SampleHeader());
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    EXPECT_TRUE(absl::IsDataLoss(LogHeader::Decode(bytes, "f").status())) << bit;
    bytes[bit / 8] ^= static_cast<char>(1 << (bit % 8));
  }
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_TRUE(absl::IsDataLoss(LogHeader::Decode(bytes.substr(0, n), "f").status())) << n;
  }
}

// What it decodes to when its format is said to be `version`.
absl::Status DecodedAs(uint32_t version, const LogHeader& header) {
  std::string bytes = header.Encode();
  EncodeFixed32(bytes.data() + 8, version);
  EncodeFixed64(bytes.data() + 504, Checksum64(std::string_view(bytes).substr(0, 504), 0));
  return LogHeader::Decode(bytes, "f").status();
}

TEST(LogFormatTest, AnUnknownFormatIsRefusedAsSuch) {
  EXPECT_TRUE(absl::IsFailedPrecondition(DecodedAs(kLogFormatVersion + 1, SampleHeader())));
  EXPECT_TRUE(absl::IsFailedPrecondition(DecodedAs(0, SampleHeader())));
}

TEST(LogFormatTest, OnlyTheFirstFormatIsWithoutARing) {
  LogHeader with_ring = SampleHeader();
  with_ring.ring = {FileNumber(9), 4096};
  EXPECT_TRUE(DecodedAs(1, SampleHeader()).ok());
  EXPECT_TRUE(absl::IsDataLoss(DecodedAs(2, SampleHeader())));
  EXPECT_TRUE(absl::IsDataLoss(DecodedAs(1, with_ring)));
  EXPECT_TRUE(DecodedAs(2, with_ring).ok());
}

TEST(LogFormatTest, ImpossibleNumbersInAHeaderAreDataLoss) {
  LogHeader h = SampleHeader();
  h.durable = LogPosition(1001);
  EXPECT_TRUE(absl::IsDataLoss(LogHeader::Decode(h.Encode(), "f").status())) << "durable behind the start";
  h = SampleHeader();
  h.predecessor.number = h.number;
  EXPECT_TRUE(absl::IsDataLoss(LogHeader::Decode(h.Encode(), "f").status())) << "its own predecessor";
  for (const RingReference& ring :
       {RingReference{FileNumber(10), 4096}, RingReference{FileNumber(9), 0}, RingReference{FileNumber(0), 4096},
        RingReference{FileNumber(9), uint64_t{1} << 40}}) {
    h = SampleHeader();
    h.ring = ring;
    EXPECT_TRUE(absl::IsDataLoss(LogHeader::Decode(h.Encode(), "f").status())) << ring.number.value();
  }
  h = SampleHeader();
  h.start = LogPosition(kMaxLogPosition);
  EXPECT_TRUE(absl::IsDataLoss(LogHeader::Decode(h.Encode(), "f").status())) << "start out of range";
  h = SampleHeader();
  h.predecessor.length_bytes = 511;
  EXPECT_TRUE(absl::IsDataLoss(LogHeader::Decode(h.Encode(), "f").status())) << "predecessor shorter than a header";
  h = SampleHeader();
  h.number = FileNumber(0);
  h.predecessor = {};
  EXPECT_TRUE(absl::IsDataLoss(LogHeader::Decode(h.Encode(), "f").status())) << "number zero";
}

TEST(LogFormatTest, HeadersThatDifferAreNotEqual) {
  LogHeader h = SampleHeader();
  h.predecessor.salt = 1;
  EXPECT_FALSE(h == SampleHeader());
  EXPECT_FALSE(h.predecessor == SampleHeader().predecessor);
  h = SampleHeader();
  h.manifest.durable_bytes = 1;
  EXPECT_FALSE(h == SampleHeader());
  EXPECT_FALSE(h.manifest == SampleHeader().manifest);
}

TEST(LogFormatTest, TheRecordHeaderIsAsTheTableSays) {
  char bytes[kLogRecordHeaderBytes];
  const LogPosition position(0x2000);
  EncodeLogRecordHeader(bytes, 77, position, SequenceNumber(0x0a0b), LogRecordKind::kMiddle, LogPosition(0x1f00),
                        "payload");
  const uint64_t seed = LogSeed(77, position);
  EXPECT_EQ(DecodeFixed32(bytes), Checksum32({bytes + 4, 24}, seed));
  EXPECT_EQ(DecodeFixed32(bytes + 4), Checksum32("payload", seed));
  EXPECT_EQ(ToHex({bytes + 8, 20}),
            "07000000"
            "030b0a0000000000"
            "001f000000000000");
  EXPECT_EQ(ToHex({bytes, 8}), "5ac8632212b3f7fb");
}

TEST(LogFormatTest, ARecordHeaderPassesOnlyInItsPlaceAndItsLog) {
  char bytes[kLogRecordHeaderBytes];
  const LogPosition position(5000);
  EncodeLogRecordHeader(bytes, 77, position, SequenceNumber(12), LogRecordKind::kFull, LogPosition(4000), "payload");
  const auto header = DecodeLogRecordHeader(bytes, 77, position);
  ASSERT_TRUE(header.has_value());
  EXPECT_EQ(header->payload_bytes, 7u);
  EXPECT_EQ(header->first_sequence, SequenceNumber(12));
  EXPECT_EQ(header->kind, LogRecordKind::kFull);
  EXPECT_EQ(header->durable, LogPosition(4000));
  EXPECT_FALSE(DecodeLogRecordHeader(bytes, 78, position).has_value());
  EXPECT_FALSE(DecodeLogRecordHeader(bytes, 77, LogPosition(5001)).has_value());
  for (size_t bit = 0; bit < 8 * kLogRecordHeaderBytes; ++bit) {
    bytes[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    EXPECT_FALSE(DecodeLogRecordHeader(bytes, 77, position).has_value()) << bit;
    bytes[bit / 8] ^= static_cast<char>(1 << (bit % 8));
  }
}

TEST(LogFormatTest, ZerosAreNoRecord) {
  const char zeros[kLogRecordHeaderBytes] = {};
  EXPECT_FALSE(DecodeLogRecordHeader(zeros, 0, LogPosition(0)).has_value());
}

}  // namespace
}  // namespace sepal

#include "db/format/manifest_format.h"

#include <gtest/gtest.h>

#include <string>

#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

const ManifestHeader kHeader{FileNumber(5), 0x0102030405060708};

TEST(ManifestFormatTest, TheHeaderIsAsTheTableSays) {
  const std::string bytes = kHeader.Encode();
  ASSERT_EQ(bytes.size(), kManifestHeaderBytes);
  EXPECT_EQ(ToHex(bytes.substr(0, 32)),
            "5350414c4d414e31"
            "01000000"
            "00000000"
            "0500000000000000"
            "0807060504030201");
  EXPECT_EQ(ManifestHeaderChecksum(bytes), Checksum64(std::string_view(bytes).substr(0, 32), 0));
  EXPECT_EQ(ToHex(bytes.substr(32)), "9813c439ae8b53b6");
}

TEST(ManifestFormatTest, AHeaderIsDecodedAndEveryFlippedBitInItIsDataLoss) {
  std::string bytes = kHeader.Encode();
  EXPECT_EQ(*ManifestHeader::Decode(bytes, "f"), kHeader);
  for (size_t bit = 0; bit < 8 * bytes.size(); ++bit) {
    bytes[bit / 8] ^= static_cast<char>(1 << (bit % 8));
    EXPECT_TRUE(absl::IsDataLoss(ManifestHeader::Decode(bytes, "f").status())) << bit;
    bytes[bit / 8] ^= static_cast<char>(1 << (bit % 8));
  }
  EXPECT_TRUE(absl::IsDataLoss(ManifestHeader::Decode(bytes.substr(0, 39), "f").status()));
}

TEST(ManifestFormatTest, ANewerFormatIsRefusedAsSuch) {
  std::string bytes = kHeader.Encode();
  EncodeFixed32(bytes.data() + 8, 2);
  EncodeFixed64(bytes.data() + 32, Checksum64(std::string_view(bytes).substr(0, 32), 0));
  EXPECT_TRUE(absl::IsFailedPrecondition(ManifestHeader::Decode(bytes, "f").status()));
}

TEST(ManifestFormatTest, ARecordIsAsTheTableSaysAndChained) {
  std::string out = "before";
  const uint64_t checksum = AppendManifestRecord(&out, ManifestRecordKind::kEdit, "payload", 42);
  EXPECT_EQ(checksum, Checksum64("\x01payload", 42));
  std::string expected = "before";
  PutFixed32(&expected, 7);
  PutFixed64(&expected, checksum);
  expected += "\x01payload";
  EXPECT_EQ(ToHex(out), ToHex(expected));
  std::string other;
  EXPECT_NE(AppendManifestRecord(&other, ManifestRecordKind::kEdit, "payload", 43), checksum);
}

TEST(ManifestFormatTest, APayloadIsAsLongAsFourBytesCanSay) {
  EXPECT_TRUE(CheckManifestPayload(0).ok());
  EXPECT_TRUE(CheckManifestPayload(0xffff'ffff).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(CheckManifestPayload(uint64_t{1} << 32)));
}

TEST(ManifestFormatTest, ASealIsTwoNumbers) {
  const std::string payload = EncodeManifestSeal(3, 0x1122);
  EXPECT_EQ(ToHex(payload),
            "0300000000000000"
            "2211000000000000");
  EXPECT_EQ(DecodeManifestSeal(payload)->records, 3u);
  EXPECT_EQ(DecodeManifestSeal(payload)->checksum, 0x1122u);
  EXPECT_FALSE(DecodeManifestSeal(payload + "x").has_value());
}

TEST(ManifestFormatTest, AControlPayloadPassesOnlyForItsKindPlaceAndFile) {
  const std::string payload = EncodeManifestControl(ManifestRecordKind::kSynced, 100, 200, 300);
  EXPECT_EQ(payload.size(), kManifestControlBytes);
  EXPECT_EQ(ToHex(payload.substr(0, 8)), "6400000000000000");
  EXPECT_EQ(ToHex(payload.substr(8)), "288faeb944f66666");
  EXPECT_EQ(DecodeManifestControl(ManifestRecordKind::kSynced, payload, 200, 300), 100u);
  EXPECT_FALSE(DecodeManifestControl(ManifestRecordKind::kContinuedIn, payload, 200, 300).has_value());
  EXPECT_FALSE(DecodeManifestControl(ManifestRecordKind::kSynced, payload, 201, 300).has_value());
  EXPECT_FALSE(DecodeManifestControl(ManifestRecordKind::kSynced, payload, 200, 301).has_value());
  EXPECT_FALSE(DecodeManifestControl(ManifestRecordKind::kSynced, payload.substr(1), 200, 300).has_value());
}

TEST(ManifestFormatTest, HeadersThatDifferAreNotEqual) {
  EXPECT_FALSE((ManifestHeader{FileNumber(1), 2} == ManifestHeader{FileNumber(1), 3}));
}

}  // namespace
}  // namespace sepal

// Value files, references to what is in them, and what the manifest says of both.
#include <gtest/gtest.h>

#include <string>

#include "db/format/batch_format.h"
#include "db/format/stored_value.h"
#include "db/format/value_file.h"
#include "db/format/value_reference.h"
#include "db/format/version_edit.h"
#include "sepal/db.h"
#include "sepal/write_batch.h"
#include "tests/noise.h"
#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

TEST(ValueFormatTest, AReferenceIsAsTheTableSays) {
  const ValueReference reference{FileNumber(300), 64, 5, 0x01020304};
  EXPECT_EQ(ToHex(EncodeValueReference(reference)), "00ac02400504030201");
  EXPECT_EQ(ParseValueReference(EncodeValueReference(reference)), reference);
  const ValueReference made = ReferenceTo(FileNumber(7), 100, "value");
  EXPECT_EQ(made.checksum, Checksum32("value", Mix64(Mix64(7) ^ 100)));
  EXPECT_TRUE(IsStoredOf(made, "value"));
  EXPECT_FALSE(IsStoredOf(made, "valuf"));
  EXPECT_FALSE(IsStoredOf(made, "valu"));
  // The same bytes in another place are another value.
  EXPECT_NE(ReferenceTo(FileNumber(7), 101, "value").checksum, made.checksum);
  EXPECT_NE(ReferenceTo(FileNumber(8), 100, "value").checksum, made.checksum);
}

TEST(ValueFormatTest, WhatIsNoReferenceIsRefused) {
  const std::string whole = EncodeValueReference({FileNumber(300), 64, 5, 1});
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(ParseValueReference(whole.substr(0, size)).has_value());
  EXPECT_FALSE(ParseValueReference(whole + "x").has_value());
  for (int flags = 2; flags < 256; ++flags) {  // 2: then a codec follows
    std::string other = whole;
    other[0] = static_cast<char>(flags);
    EXPECT_FALSE(ParseValueReference(other).has_value()) << flags;
  }
  for (const ValueReference& impossible :
       {ValueReference{FileNumber(0), 64, 5, 1}, ValueReference{FileNumber(1), 63, 5, 1},
        ValueReference{FileNumber(1), kMostValueFileBytes, 5, 1}, ValueReference{FileNumber(1), 64, 1 << 30, 1}}) {
    EXPECT_EQ(ParseValueReference(EncodeValueReference(impossible)).has_value(), impossible.stored_bytes == 1 << 30);
  }
  EXPECT_FALSE(ParseValueReference(EncodeValueReference({FileNumber(1), 64, (1 << 30) + 1, 1})).has_value());
}

TEST(ValueFormatTest, AChunkedValueIsCheckedByTheSumsOfItsChunks) {
  const ValueReference reference{FileNumber(300), 64, 5, 0x01020304, /*chunked=*/true};
  EXPECT_EQ(ToHex(EncodeValueReference(reference)), "01ac02400504030201");
  EXPECT_EQ(ParseValueReference(EncodeValueReference(reference)), reference);
  const std::string value = std::string(65536, 'a') + std::string(65536, 'b') + "c";
  std::string sums;
  AppendChunkSums(FileNumber(7), 64, std::string_view(value).substr(0, 65536), &sums);
  AppendChunkSums(FileNumber(7), 64 + 65536, std::string_view(value).substr(65536), &sums);
  ASSERT_EQ(sums.size(), 12u);
  EXPECT_EQ(DecodeFixed32(sums.data()), Checksum32(std::string(65536, 'a'), Mix64(Mix64(7) ^ 64)));
  EXPECT_EQ(DecodeFixed32(sums.data() + 4), Checksum32(std::string(65536, 'b'), Mix64(Mix64(7) ^ (64 + 65536))));
  EXPECT_EQ(DecodeFixed32(sums.data() + 8), Checksum32("c", Mix64(Mix64(7) ^ (64 + 131072))));
  const ValueReference made = ReferenceToChunked(FileNumber(7), 64, value.size(), sums);
  EXPECT_EQ(made.checksum, Checksum32(sums, Mix64(Mix64(7) ^ 64)));
  EXPECT_EQ(made.sums_offset(), 64u + 131073);
  EXPECT_EQ(made.sums_bytes(), 12u);
  EXPECT_TRUE(AreSumsOf(made, sums));
  EXPECT_FALSE(AreSumsOf(made, sums.substr(0, 8)));
  EXPECT_TRUE(IsStoredOf(made, value));
  for (const size_t at : {size_t{0}, size_t{65536}, value.size() - 1}) {
    std::string other = value;
    other[at] ^= 1;
    EXPECT_FALSE(IsStoredOf(made, other)) << at;
  }
  EXPECT_FALSE(IsStoredOf(made, value.substr(1)));
  ValueReference plain = made;
  plain.chunked = false;
  EXPECT_FALSE(IsStoredOf(plain, value));
}

TEST(ValueFormatTest, ACompressedValueHasItsCodecAndItsOwnSizeInTheReference) {
  const ValueReference reference{.file = FileNumber(300),
                                 .offset = 64,
                                 .stored_bytes = 5,
                                 .checksum = 0x01020304,
                                 .codec = CompressionKind::kLz4,
                                 .uncompressed_bytes = 300};
  EXPECT_EQ(ToHex(EncodeValueReference(reference)), "02ac02400502ac0204030201");
  EXPECT_EQ(ParseValueReference(EncodeValueReference(reference)), reference);
  EXPECT_EQ(reference.value_bytes(), 300u);
  const std::string value(1000, 'v');
  for (const CompressionKind codec : {CompressionKind::kSnappy, CompressionKind::kLz4, CompressionKind::kZstd}) {
    const CompressedValue compressed(codec, value);
    const StoredValue& stored = compressed.stored();
    ASSERT_EQ(stored.codec, codec);
    EXPECT_LT(stored.bytes.size(), 100u);
    const ValueReference made = ReferenceTo(FileNumber(7), 100, stored);
    EXPECT_EQ(made.stored_bytes, stored.bytes.size());
    EXPECT_EQ(made.value_bytes(), 1000u);
    EXPECT_EQ(made.checksum, Checksum32(stored.bytes, Mix64(Mix64(7) ^ 100)));
    EXPECT_TRUE(IsStoredOf(made, stored.bytes));
    EXPECT_FALSE(IsStoredOf(made, value));
    EXPECT_EQ(ParseValueReference(EncodeValueReference(made)), made);
    ASSERT_TRUE(CheckUncompressedSize("f", made, stored.bytes).ok());
    std::string again(1000, '\0');
    ASSERT_TRUE(DecompressValue("f", made, stored.bytes, again.data()).ok());
    EXPECT_EQ(again, value);
  }
}

TEST(ValueFormatTest, AValueIsStoredAsItIsWhereItsCodecSavesLessThanAnEighth) {
  const std::string noise = NoiseOf(1, 100'000);
  for (const CompressionKind codec :
       {CompressionKind::kNone, CompressionKind::kSnappy, CompressionKind::kLz4, CompressionKind::kZstd}) {
    for (const size_t bytes : {size_t{1}, size_t{64}, size_t{4096}, size_t{100'000}}) {
      const std::string_view value = std::string_view(noise).substr(0, bytes);
      const CompressedValue as_it_is(codec, value);
      EXPECT_FALSE(as_it_is.stored().compressed());
      EXPECT_EQ(as_it_is.stored().bytes.data(), value.data()) << "no byte is copied";
      EXPECT_EQ(ReferenceTo(FileNumber(7), 100, as_it_is.stored()), ReferenceTo(FileNumber(7), 100, value));
    }
    if (codec == CompressionKind::kNone) continue;
    // Of which about a sixteenth, and about a quarter, repeats.
    EXPECT_FALSE(CompressedValue(codec, noise.substr(0, 15'000) + std::string(1'000, 'a')).stored().compressed());
    EXPECT_TRUE(CompressedValue(codec, noise.substr(0, 15'000) + std::string(5'000, 'a')).stored().compressed());
  }
  // Larger than what is kept of memory.
  const std::string large = PatternOf(2, 900'000);
  EXPECT_LT(CompressedValue(CompressionKind::kSnappy, large).stored().bytes.size(), 90'000u);
}

TEST(ValueFormatTest, AReferenceThatLiesAboutACompressedValueIsRefused) {
  const ValueReference good{.file = FileNumber(300),
                            .offset = 64,
                            .stored_bytes = 5,
                            .checksum = 1,
                            .codec = CompressionKind::kSnappy,
                            .uncompressed_bytes = kMaxValueBytes};
  const std::string whole = EncodeValueReference(good);
  EXPECT_TRUE(ParseValueReference(whole).has_value());
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(ParseValueReference(whole.substr(0, size)).has_value());
  const auto refuses = [&](auto change) {
    ValueReference bad = good;
    change(&bad);
    return !ParseValueReference(EncodeValueReference(bad)).has_value();
  };
  EXPECT_TRUE(refuses([](ValueReference* r) { r->uncompressed_bytes = kMaxValueBytes + 1; }));
  EXPECT_TRUE(refuses([](ValueReference* r) { r->uncompressed_bytes = UINT64_MAX; }));
  EXPECT_TRUE(refuses([](ValueReference* r) { r->uncompressed_bytes = 5; })) << "nothing was saved";
  EXPECT_TRUE(refuses([](ValueReference* r) { r->uncompressed_bytes = 0; }));
  EXPECT_TRUE(refuses([](ValueReference* r) { r->stored_bytes = 0; }));
  EXPECT_TRUE(refuses([](ValueReference* r) { r->codec = static_cast<CompressionKind>(4); }));
  EXPECT_TRUE(refuses([](ValueReference* r) { r->chunked = true; }));
  std::string none = whole;
  ASSERT_EQ(none[5], 1);
  none[5] = 0;
  EXPECT_FALSE(ParseValueReference(none).has_value()) << "compressed by no codec";
}

TEST(ValueFormatTest, StoredBytesThatSayAnotherSizeThanTheReferenceAreDamage) {
  const std::string value = PatternOf(1, 1000);
  for (const CompressionKind codec : {CompressionKind::kSnappy, CompressionKind::kLz4, CompressionKind::kZstd}) {
    const CompressedValue compressed(codec, value);
    const std::string stored(compressed.stored().bytes);
    const ValueReference made = ReferenceTo(FileNumber(7), 100, compressed.stored());
    for (const uint64_t claimed : {uint64_t{999}, uint64_t{1001}, uint64_t{kMaxValueBytes}}) {
      ValueReference lies = made;
      lies.uncompressed_bytes = claimed;
      const absl::Status status = CheckUncompressedSize("f", lies, stored);
      EXPECT_TRUE(absl::IsDataLoss(status)) << status;
      EXPECT_NE(status.ToString().find("f: offset 100: size of a compressed separated value: expected "),
                std::string::npos)
          << status;
    }
    EXPECT_TRUE(absl::IsDataLoss(CheckUncompressedSize("f", made, "")));
    EXPECT_TRUE(absl::IsDataLoss(CheckUncompressedSize("f", made, "\xff\xff\xff\xff\xff\xff")));
    std::string again(1000, '\0');
    EXPECT_TRUE(absl::IsDataLoss(DecompressValue("f", made, stored.substr(0, stored.size() - 1), again.data())));
  }
}

TEST(ValueFormatTest, AHeaderIsAsTheTableSays) {
  const ValueFileHeader header{0x0102030405060708, FileNumber(9), 0x1112131415161718};
  const std::string bytes = header.Encode();
  ASSERT_EQ(bytes.size(), kValueFileHeaderBytes);
  EXPECT_EQ(ToHex(bytes.substr(0, 56)),
            "5350414c56414c31"
            "0100000000000000"
            "0807060504030201"
            "0900000000000000"
            "1817161514131211"
            "00000000000000000000000000000000");
  EXPECT_EQ(DecodeFixed64(bytes.data() + 56), Checksum64(std::string_view(bytes).substr(0, 56), 0));
  EXPECT_EQ(ValueFileHeader::Decode(bytes, "f").value(), header);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(absl::IsDataLoss(ValueFileHeader::Decode(bytes.substr(0, size), "f").status()));
  }
  for (size_t at = 0; at < bytes.size(); ++at) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 4);
    EXPECT_TRUE(absl::IsDataLoss(ValueFileHeader::Decode(flipped, "f").status())) << at;
  }
  std::string newer = bytes;
  EncodeFixed32(newer.data() + 8, 2);
  EncodeFixed64(newer.data() + 56, Checksum64(std::string_view(newer).substr(0, 56), 0));
  const absl::Status refused = ValueFileHeader::Decode(newer, "f").status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused));
  EXPECT_NE(refused.ToString().find("version 2"), std::string::npos);
}

TEST(ValueFormatTest, ABatchOfALogHasReferencesAndAUsersHasNone) {
  std::string batch(kBatchHeaderBytes, '\0');
  AppendBatchEntry(&batch, ValueKind::kReference, ColumnFamilyId(1), "k",
                   EncodeValueReference({FileNumber(2), 64, 5, 1}));
  EXPECT_EQ(ToHex(batch), "010000000501016b080002400501000000");
  BatchReader reader(batch);
  BatchEntry entry;
  EXPECT_TRUE(reader.Next(&entry));
  EXPECT_EQ(ParseValueReference(entry.value)->file, FileNumber(2));
  EXPECT_TRUE(CheckBatch(batch).ok());
  EXPECT_TRUE(absl::IsDataLoss(WriteBatch::FromBytes(batch).status()));
  std::string broken(kBatchHeaderBytes, '\0');
  AppendBatchEntry(&broken, ValueKind::kReference, ColumnFamilyId(1), "k", "12345678");
  BatchReader of_broken(broken);
  EXPECT_FALSE(of_broken.Next(&entry));
  EXPECT_TRUE(absl::IsDataLoss(of_broken.status()));
}

TEST(ValueFormatTest, AnExpiringReferenceIsAnExpiryAndAReference) {
  const std::string reference = EncodeValueReference({FileNumber(2), 64, 5, 1});
  std::string batch(kBatchHeaderBytes, '\0');
  AppendReferringPut(&batch, ColumnFamilyId(1), "k", 0x010203040506, reference);
  EXPECT_EQ(ToHex(batch), "010000000801016b0e0605040302010002400501000000");
  BatchReader reader(batch);
  BatchEntry entry;
  ASSERT_TRUE(reader.Next(&entry));
  EXPECT_EQ(entry.kind, ValueKind::kExpiringReference);
  EXPECT_EQ(ReferenceOf(entry.kind, entry.value), ParseValueReference(reference));
  EXPECT_EQ(ReferenceOf(ValueKind::kExpiringPut, entry.value), std::nullopt);
  std::string_view rest = entry.value;
  EXPECT_EQ(TakeExpiry(entry.kind, &rest), 0x010203040506u);
  EXPECT_EQ(rest, reference);
  bool expires = false, own = false;
  EXPECT_TRUE(CheckBatch(batch, &expires, &own).ok());
  EXPECT_TRUE(expires && own);
  EXPECT_TRUE(absl::IsDataLoss(WriteBatch::FromBytes(batch).status()));
  // With another reference, or the value itself, it expires as it did.
  EXPECT_EQ(ToHex(WithSameExpiry(entry.kind, entry.value, "v")), "06050403020176");
  EXPECT_EQ(WithSameExpiry(ValueKind::kReference, reference, "v"), "v");
  for (const ValueKind kind : {ValueKind::kPut, ValueKind::kReference}) {
    EXPECT_EQ(ReferringKind(kind), ValueKind::kReference);
    EXPECT_EQ(InlineKind(kind), ValueKind::kPut);
  }
  EXPECT_EQ(InlineKind(ReferringKind(ValueKind::kExpiringPut)), ValueKind::kExpiringPut);
  std::string put(kBatchHeaderBytes, '\0');
  AppendReferringPut(&put, ColumnFamilyId(1), "k", 0, reference);
  EXPECT_EQ(ToHex(put), "010000000501016b080002400501000000") << "one that does not expire";
}

TEST(ValueFormatTest, ABatchWithAShortExpiringReferenceIsRefused) {
  for (size_t bytes = 0; bytes < kExpiryBytes + kLeastReferenceBytes; ++bytes) {
    std::string batch(kBatchHeaderBytes, '\0');
    AppendBatchEntry(&batch, ValueKind::kExpiringReference, ColumnFamilyId(0), "k", std::string(bytes, '\1'));
    EXPECT_TRUE(absl::IsDataLoss(CheckBatch(batch))) << bytes;
  }
}

TEST(ValueFormatTest, AnEditSaysThatThereAreValueFilesAndWhatATableRefersTo) {
  VersionEdit edit;
  edit.features |= Feature::kValueFiles;
  EXPECT_EQ(ToHex(edit.Encode()), "180120");
  EXPECT_EQ(VersionEdit::Decode(edit.Encode()).value(), edit);
  EXPECT_NE(ToString(edit).find("uses value files"), std::string::npos);

  VersionEdit chunked = edit;
  chunked.features |= Feature::kChunkedValues;
  EXPECT_EQ(ToHex(chunked.Encode()), "180160");
  EXPECT_EQ(VersionEdit::Decode(chunked.Encode()).value(), chunked);
  EXPECT_NE(ToString(chunked).find("uses chunked values"), std::string::npos);

  VersionEdit compressed = edit;
  compressed.features |= Feature::kCompressedValues;
  EXPECT_EQ(ToHex(compressed.Encode()), "1802a001");
  EXPECT_EQ(VersionEdit::Decode(compressed.Encode()).value(), compressed);
  EXPECT_NE(ToString(compressed).find("uses compressed values in value files"), std::string::npos);

  AddedTable& added = edit.added_tables.emplace_back();
  added.table.number = FileNumber(9);
  added.table.smallest = InternalKey("a", PackTrailer(SequenceNumber(1), ValueKind::kReference));
  added.table.largest = InternalKey("b", PackTrailer(SequenceNumber(2), ValueKind::kReference));
  added.table.value_links = {{FileNumber(3), 2, 300}, {FileNumber(300), 1, 7}};
  const std::string bytes = edit.Encode();
  EXPECT_EQ(ToHex(bytes.substr(bytes.size() - 10)), "06080302ac02ac020107");
  EXPECT_EQ(VersionEdit::Decode(bytes).value(), edit);
  for (const std::vector<ValueLinks>& impossible :
       {std::vector<ValueLinks>{{FileNumber(3), 0, 0}}, std::vector<ValueLinks>{{FileNumber(0), 1, 0}},
        std::vector<ValueLinks>{{FileNumber(3), 1, 1}, {FileNumber(3), 1, 1}}}) {
    edit.added_tables.front().table.value_links = impossible;
    EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(edit.Encode()).status()));
  }
}

}  // namespace
}  // namespace sepal

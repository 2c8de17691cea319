// The bytes of range deletes, in batches and in the manifest.
#include <gtest/gtest.h>

#include <string>

#include "db/format/batch_format.h"
#include "db/format/range_end.h"
#include "db/format/version_edit.h"
#include "sepal/write_batch.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

TEST(RangeDeleteFormatTest, ABatchHasTheFirstKeyAndTheEnd) {
  WriteBatch batch;
  batch.DeleteRange("b", "dd");
  batch.DeleteRange("x", std::nullopt);
  EXPECT_EQ(ToHex(batch.bytes()),
            "02000000"
            "0400"
            "0162"
            "03016464"
            "0400"
            "0178"
            "0100");
  EXPECT_TRUE(WriteBatch::FromBytes(batch.bytes()).ok());
}

TEST(RangeDeleteFormatTest, AnEndIsOneByteAndAKeyOrAZeroAlone) {
  EXPECT_EQ(DecodeRangeEnd(EncodeRangeEnd("k"))->key, "k");
  EXPECT_EQ(DecodeRangeEnd(EncodeRangeEnd(""))->key, "");
  EXPECT_EQ(DecodeRangeEnd(EncodeRangeEnd(std::nullopt))->key, std::nullopt);
  for (const std::string& bad : {std::string(), std::string("\0k", 2), std::string("\2"), std::string("k")}) {
    EXPECT_FALSE(DecodeRangeEnd(bad).has_value()) << ToHex(bad);
    std::string batch(kBatchHeaderBytes, '\0');
    AppendBatchEntry(&batch, ValueKind::kRangeDelete, ColumnFamilyId(0), "k", bad);
    EXPECT_TRUE(absl::IsDataLoss(CheckBatch(batch))) << ToHex(bad);
  }
}

TEST(RangeDeleteFormatTest, AnEditSaysThatTheDatabaseHasThem) {
  VersionEdit edit;
  edit.features |= Feature::kRangeDeletes;
  EXPECT_EQ(ToHex(edit.Encode()), "180102");
  const absl::StatusOr<VersionEdit> decoded = VersionEdit::Decode(edit.Encode());
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, edit);
}

TEST(RangeDeleteFormatTest, ATableSaysHowFarItIsSwept) {
  AddedTable added{.family = ColumnFamilyId(3), .level = 2, .table = {}};
  added.table.number = FileNumber(7);
  added.table.run = RunNumber(6);
  added.table.size_bytes = 5;
  added.table.table_id = 4;
  added.table.footer_checksum = 3;
  added.table.smallest = InternalKey("a", PackTrailer(SequenceNumber(1), ValueKind::kPut));
  added.table.largest = InternalKey("b", PackTrailer(SequenceNumber(2), ValueKind::kPut));
  added.table.lowest_sequence = SequenceNumber(1);
  added.table.highest_sequence = SequenceNumber(2);
  added.table.entries = 2;
  added.table.swept_through = SequenceNumber(300);
  VersionEdit edit;
  edit.added_tables.push_back(added);
  const std::string bytes = edit.Encode();
  EXPECT_EQ(ToHex(bytes),
            "1a33"
            "0302070605"
            "0400000000000000"
            "0300000000000000"
            "09610101000000000000"
            "09620102000000000000"
            "010202000000"
            "0202ac02");
  const absl::StatusOr<VersionEdit> decoded = VersionEdit::Decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, edit);
  edit.added_tables.front().table.swept_through = SequenceNumber(0);
  EXPECT_EQ(edit.Encode().front(), 18) << "as version 0.1.0 reads it";
}

}  // namespace
}  // namespace sepal

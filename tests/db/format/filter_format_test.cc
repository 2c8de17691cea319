// How the manifest says that a family has a filter, at which epoch, and how far a table is filtered.
#include <gtest/gtest.h>

#include <string>

#include "db/format/version_edit.h"
#include "sepal/compaction_filter.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

VersionEdit EditWithFilter() {
  VersionEdit edit;
  edit.schemas.push_back({.family = ColumnFamilyId(1), .filter = "f"});
  edit.schemas.front().filter_epochs = {{SequenceNumber(5), ""}, {SequenceNumber(300), "ab"}};
  return edit;
}

TEST(FilterFormatTest, AnEditSaysWhichFilterAFamilyHasAndItsEpochs) {
  const VersionEdit edit = EditWithFilter();
  // Feature 8; of family 1 the filter "f", then "" from 5 on and "ab" from 300 on.
  EXPECT_EQ(ToHex(edit.Encode()),
            "180108"
            "1c0d01"
            "060166"
            "0807"
            "0500"
            "ac02026162");
  const absl::StatusOr<VersionEdit> decoded = VersionEdit::Decode(edit.Encode());
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, edit);
  EXPECT_NE(ToString(edit).find("family 1 has filter \"f\"\n"), std::string::npos) << ToString(edit);
  EXPECT_NE(ToString(edit).find("epoch \"ab\" from sequence 300 on\n"), std::string::npos) << ToString(edit);
}

TEST(FilterFormatTest, EpochsThatAreTooLongOrOutOfOrderAreDamage) {
  const auto refused = [](std::vector<FilterEpoch> epochs) {
    VersionEdit edit = EditWithFilter();
    edit.schemas.front().filter_epochs = std::move(epochs);
    return absl::IsDataLoss(VersionEdit::Decode(edit.Encode()).status());
  };
  EXPECT_FALSE(refused({{SequenceNumber(1), std::string(kMaxFilterEpochBytes, 'e')}}));
  EXPECT_TRUE(refused({{SequenceNumber(1), std::string(kMaxFilterEpochBytes + 1, 'e')}}));
  EXPECT_TRUE(refused({{SequenceNumber(2), "a"}, {SequenceNumber(2), "b"}}));
  EXPECT_TRUE(refused({{SequenceNumber(2), "a"}, {SequenceNumber(1), "b"}}));
  std::string bytes = EditWithFilter().Encode();
  ASSERT_EQ(bytes[bytes.size() - 3], 2) << "the length of the last epoch";
  bytes[bytes.size() - 3] = 3;
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(bytes).status()));
}

TEST(FilterFormatTest, ATableSaysHowFarItIsFiltered) {
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
  added.table.filtered_through = SequenceNumber(300);
  VersionEdit edit;
  edit.added_tables.push_back(added);
  EXPECT_EQ(ToHex(edit.Encode()),
            "1a33"
            "0302070605"
            "0400000000000000"
            "0300000000000000"
            "09610101000000000000"
            "09620102000000000000"
            "010202000000"
            "0302ac02");
  edit.added_tables.front().table.swept_through = SequenceNumber(9);
  const absl::StatusOr<VersionEdit> decoded = VersionEdit::Decode(edit.Encode());
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, edit);
}

}  // namespace
}  // namespace sepal

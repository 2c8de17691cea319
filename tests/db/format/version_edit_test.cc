#include "db/format/version_edit.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "util/base/coding.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

TableMetadata SampleTable() {
  TableMetadata t;
  t.number = FileNumber(7);
  t.run = RunNumber(3);
  t.size_bytes = 300;
  t.table_id = 0x1122334455667788;
  t.footer_checksum = 0x99;
  t.smallest = InternalKey("a", PackTrailer(SequenceNumber(5), ValueKind::kPut));
  t.largest = InternalKey("", PackTrailer(SequenceNumber(2), ValueKind::kDelete));
  t.lowest_sequence = SequenceNumber(2);
  t.highest_sequence = SequenceNumber(5);
  t.entries = 4;
  t.tombstones = 1;
  t.raw_bytes = 50;
  t.creation_unix_micros = 1000;
  return t;
}

VersionEdit SampleEdit() {
  VersionEdit edit;
  edit.database_id = 0x0102030405060708;
  edit.hash_seed = 9;
  edit.next_file_number = FileNumber(200);
  edit.last_sequence = SequenceNumber(1000);
  edit.min_log_number = FileNumber(6);
  edit.created_families.push_back({ColumnFamilyId(1), "cf", "bw", true});
  edit.kept_options.push_back({ColumnFamilyId(1), std::string("\x01\x01\x03", 3)});
  edit.schemas.push_back({ColumnFamilyId(1), "add"});
  edit.dropped_families.push_back(ColumnFamilyId(2));
  edit.flushed_through.push_back({ColumnFamilyId(0), SequenceNumber(5)});
  edit.added_tables.push_back({ColumnFamilyId(0), 1, SampleTable()});
  edit.removed_tables.push_back({ColumnFamilyId(0), 2, FileNumber(4)});
  edit.closed_log = ClosedLog{FileNumber(6), 612};
  edit.log_directory = KeptLogDirectory{.logs = "/log", .database = "/d"};
  return edit;
}

TEST(VersionEditTest, BytesAreAsTheTableSays) {
  EXPECT_EQ(VersionEdit().Encode(), "");
  // Each field's number, its length, and what it holds.
  const std::pair<const char*, const char*> fields[] = {
      {"database id", "02 08 0807060504030201"},
      {"hash seed", "04 08 0900000000000000"},
      {"next file number 200", "06 02 c801"},
      {"last sequence 1000", "08 02 e807"},
      {"minimum log number", "0a 01 06"},
      {"family 1 \"cf\" \"bw\", identical", "0c 08 01 026366 026277 01"},
      {"family 1 is kept with ZSTD", "1b 04 01 010103"},
      {"the database uses merges", "18 01 01"},
      {"family 1 has merge operator \"add\"", "1c 06 01 02 03 616464"},
      {"drop 2", "0e 01 02"},
      {"family 0 flushed through 5", "10 02 0005"},
      {"add a table: family 0, level 1, number 7, run 3, size 300,", "12 30 00 01 07 03 ac02"},
      {"its id and its checksum,", "8877665544332211 9900000000000000"},
      {"from \"a\"@5:put", "09 61 0105000000000000"},
      {"to \"\"@2:delete,", "08 0002000000000000"},
      {"its sequences and counts", "02 05 04 01 32 e807"},
      {"remove a table: family 0, level 2, number 4", "14 03 00 02 04"},
      {"log 6 closed at 612", "16 03 06 e404"},
      {"the logs lie in \"/log\", the database in \"/d\"", "1d 08 042f6c6f67 022f64"},
  };
  std::string rest = ToHex(SampleEdit().Encode());
  for (const auto& [name, bytes] : fields) {
    std::string hex = bytes;
    std::erase(hex, ' ');
    EXPECT_EQ(rest.substr(0, hex.size()), hex) << name;
    rest.erase(0, hex.size());
  }
  EXPECT_EQ(rest, "");
}

TEST(VersionEditTest, WhatWasEncodedIsDecoded) {
  const auto edit = VersionEdit::Decode(SampleEdit().Encode());
  ASSERT_TRUE(edit.ok()) << edit.status();
  EXPECT_EQ(*edit, SampleEdit());
  EXPECT_EQ(*VersionEdit::Decode(""), VersionEdit());
}

// The bytes of one field.
std::string Field(int tag, std::string_view content) {
  std::string bytes;
  PutVarint(&bytes, static_cast<uint64_t>(tag));
  PutLengthPrefixed(&bytes, content);
  return bytes;
}

TEST(VersionEditTest, AHistoryIsAFieldOfTheSchemaAndItsFloorRises) {
  VersionEdit edit;
  edit.schemas.push_back({.family = ColumnFamilyId(5),
                          .history_millis = 300,
                          .history_floor = SequenceNumber(9),
                          .history_begun = SequenceNumber(7)});
  edit.history_floors.push_back({ColumnFamilyId(5), SequenceNumber(200)});
  EXPECT_EQ(ToHex(edit.Encode()),
            "180280081c07050a04ac020907"
            "28030"
            "5c801");
  EXPECT_EQ(*VersionEdit::Decode(edit.Encode()), edit);
  const auto refused = [](std::string_view history) {
    return absl::IsDataLoss(VersionEdit::Decode(Field(28, "\x05" + Field(10, history))).status());
  };
  EXPECT_TRUE(refused(std::string_view("\0\x09\x09", 3)));  // of no time
  EXPECT_TRUE(refused("\x09\x09\x0a"));                     // begun above its floor
  EXPECT_TRUE(refused("\x09\x09"));
  EXPECT_TRUE(refused("\x09\x09\x09\x09"));
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(Field(40, "\x05")).status()));
}

TEST(VersionEditTest, AFeatureThatIsNotKnownIsRefusedByName) {
  EXPECT_EQ(*VersionEdit::Decode(Field(24, "\x01")), VersionEdit()) << "merges are known";
  EXPECT_EQ(*VersionEdit::Decode(Field(24, std::string_view("\0", 1))), VersionEdit());
  const absl::Status refused =
      VersionEdit::Decode(Field(24, "\xa0\x80\x40")).status();  // bits 5, which is known, and 20
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_NE(refused.ToString().find("feature 20"), std::string::npos) << refused;
  EXPECT_NE(refused.ToString().find("newer version"), std::string::npos) << refused;
  EXPECT_TRUE(absl::IsFailedPrecondition(
      VersionEdit::Decode(Field(24, "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01")).status()));  // bit 63
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(Field(24, "")).status()));
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(Field(24, std::string_view("\0\0", 2))).status()));
}

TEST(VersionEditTest, AnAddedTableMayHaveFieldsOfItsOwn) {
  VersionEdit edit;
  edit.added_tables.push_back({ColumnFamilyId(0), 1, SampleTable()});
  const std::string as_today = edit.Encode();
  EXPECT_EQ(as_today[0], 18);
  const std::string table = as_today.substr(2);
  ASSERT_EQ(static_cast<size_t>(as_today[1]), table.size());
  EXPECT_EQ(*VersionEdit::Decode(Field(26, table)), edit);
  // The range of keys with entries of their own, which none of today's tables has, and one that nobody knows yet.
  const std::string points = Field(1, std::string_view("\x09"
                                                       "a"
                                                       "\x01\x05\0\0\0\0\0\0"
                                                       "\x09"
                                                       "b"
                                                       "\x01\x05\0\0\0\0\0\0",
                                                       20));
  EXPECT_EQ(*VersionEdit::Decode(Field(26, table + points + Field(77, "whatever"))), edit);
  EXPECT_TRUE(absl::IsFailedPrecondition(VersionEdit::Decode(Field(26, table + Field(4, ""))).status()));
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(Field(26, table + Field(2, ""))).status()));
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(Field(26, table + "\x01\x05")).status()));
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(Field(26, table.substr(0, table.size() - 3))).status()));
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(Field(18, table + points)).status()));
}

TEST(VersionEditTest, ASchemaIsRefusedUnlessItsFieldsMayBeSkipped) {
  EXPECT_EQ(*VersionEdit::Decode(Field(28, "\x05" + Field(1, "whatever"))), VersionEdit());
  const absl::Status refused = VersionEdit::Decode(Field(28, "\x05" + Field(12, "something"))).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(refused)) << refused;
  EXPECT_NE(refused.ToString().find("schema of a column family: unknown field 12"), std::string::npos) << refused;
}

TEST(VersionEditTest, KeptOptionsThatAreNoFieldsAreRefused) {
  VersionEdit edit;
  edit.kept_options.push_back({ColumnFamilyId(1), "\x01\x07"});
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(edit.Encode()).status()));
}

TEST(VersionEditTest, AnUnknownEvenFieldIsRefusedAndAnOddOneSkipped) {
  std::string bytes = SampleEdit().Encode();
  PutVarint(&bytes, 99);
  PutLengthPrefixed(&bytes, "whatever");
  ASSERT_TRUE(VersionEdit::Decode(bytes).ok());
  EXPECT_EQ(*VersionEdit::Decode(bytes), SampleEdit());
  PutVarint(&bytes, 100);
  PutLengthPrefixed(&bytes, "");
  EXPECT_TRUE(absl::IsFailedPrecondition(VersionEdit::Decode(bytes).status()));
}

TEST(VersionEditTest, EveryTruncationWithinAFieldIsRefused) {
  const std::string bytes = SampleEdit().Encode();
  int accepted = 0;
  for (size_t n = 0; n < bytes.size(); ++n) {
    const auto edit = VersionEdit::Decode(bytes.substr(0, n));
    if (edit.ok()) {
      EXPECT_EQ(*VersionEdit::Decode(edit->Encode()), *edit) << n;
      ++accepted;
    } else {
      EXPECT_TRUE(absl::IsDataLoss(edit.status()));
    }
  }
  EXPECT_EQ(accepted, 15) << "only between fields";
}

TEST(VersionEditTest, AFieldWithBytesLeftOverIsRefused) {
  std::string bytes;
  PutVarint(&bytes, 6);
  PutLengthPrefixed(&bytes, std::string_view("\x05\x00", 2));
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(bytes).status()));
}

TEST(VersionEditTest, ASingleFieldTwiceIsRefused) {
  VersionEdit edit;
  edit.last_sequence = SequenceNumber(3);
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(edit.Encode() + edit.Encode()).status()));
}

TEST(VersionEditTest, LevelsSequencesAndKindsOutOfRangeAreRefused) {
  VersionEdit level;
  level.removed_tables.push_back({ColumnFamilyId(0), kMaxLevels, FileNumber(1)});
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(level.Encode()).status()));
  VersionEdit sequence;
  sequence.last_sequence = SequenceNumber(uint64_t{1} << 56);
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(sequence.Encode()).status()));
  VersionEdit kind;
  kind.added_tables.push_back({ColumnFamilyId(0), 0, SampleTable()});
  for (int unknown = kMaxValueKind + 1; unknown < 256; ++unknown) {
    if (IsKindOnDisk(static_cast<uint8_t>(unknown))) continue;
    kind.added_tables[0].table.smallest.trailer = static_cast<Trailer>(unknown);
    EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(kind.Encode()).status())) << unknown;
  }
}

TEST(VersionEditTest, TextNamesEveryPart) {
  const std::string text = ToString(SampleEdit());
  for (const char* part : {"0x0102030405060708", "next file number 200", "last sequence 1000", "minimum log number 6",
                           "family 1 \"cf\"", "drop column family 2", "flushed through 5", "level 1 add table 000007",
                           "level 2 remove table 000004", "log 000006 closed at 612"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
}

TEST(VersionEditTest, AnAnswerThatIsNeitherYesNorNoIsRefused) {
  VersionEdit edit;
  edit.created_families.push_back({ColumnFamilyId(1), "cf", "bw", false});
  std::string bytes = edit.Encode();
  ASSERT_TRUE(VersionEdit::Decode(bytes).ok());
  EXPECT_FALSE(VersionEdit::Decode(bytes)->created_families.front().equal_means_identical);
  bytes.back() = 2;
  EXPECT_FALSE(VersionEdit::Decode(bytes).ok());
}

TEST(VersionEditTest, AnEmptyEditIsPrintedAsNothing) {
  EXPECT_EQ(ToString(VersionEdit()), "");
  VersionEdit edit;
  edit.created_families.push_back({ColumnFamilyId(1), "cf", "loose", false});
  EXPECT_NE(ToString(edit).find("equal keys may differ"), std::string::npos);
}

TEST(VersionEditTest, WhatDiffersIsNotEqual) {
  const auto changed = [](auto change) {
    VersionEdit edit = SampleEdit();
    change(edit);
    return !(edit == SampleEdit());
  };
  EXPECT_TRUE(changed([](VersionEdit& e) { e.created_families[0].name = "other"; }));
  EXPECT_TRUE(changed([](VersionEdit& e) { e.flushed_through[0].sequence = SequenceNumber(6); }));
  EXPECT_TRUE(changed([](VersionEdit& e) { e.added_tables[0].table.entries = 5; }));
  EXPECT_TRUE(changed([](VersionEdit& e) { e.removed_tables[0].level = 3; }));
  EXPECT_TRUE(changed([](VersionEdit& e) { e.closed_log->length_bytes = 613; }));
}

}  // namespace
}  // namespace sepal

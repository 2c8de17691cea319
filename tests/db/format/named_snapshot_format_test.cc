// How the manifest says that a snapshot has a name, and which names are there in the end.
#include <gtest/gtest.h>

#include <string>

#include "db/format/version_edit.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

VersionEdit EditWithSnapshots() {
  VersionEdit edit;
  edit.dropped_snapshots = {"ab"};
  edit.created_snapshots.push_back({.name = "c", .sequence = SequenceNumber(300), .created_millis = 5});
  edit.created_snapshots.push_back(
      {.name = "d", .sequence = SequenceNumber(0), .created_millis = 6, .expires_millis = 300});
  return edit;
}

TEST(NamedSnapshotFormatTest, AnEditSaysWhichSnapshotsAreCreatedAndDropped) {
  const VersionEdit edit = EditWithSnapshots();
  // Feature 16; "ab" is dropped; "c" at 300 from time 5, for ever; "d" at 0 from time 6 to 300.
  EXPECT_EQ(ToHex(edit.Encode()),
            "180110"
            "2003026162"
            "1e060163ac020500"
            "1e0601640006ac02");
  const absl::StatusOr<VersionEdit> decoded = VersionEdit::Decode(edit.Encode());
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, edit);
  const std::string text = ToString(edit);
  EXPECT_NE(text.find("drop snapshot \"ab\"\n"), std::string::npos) << text;
  EXPECT_NE(text.find("snapshot \"c\" at sequence 300, created at 5 ms\n"), std::string::npos) << text;
  EXPECT_NE(text.find("snapshot \"d\" at sequence 0, created at 6 ms, expires at 300 ms\n"), std::string::npos) << text;
  EXPECT_EQ(VersionEdit().Encode(), "") << "a database without them has no bytes for them";
}

TEST(NamedSnapshotFormatTest, ADropAloneNeedsTheFeatureToo) {
  VersionEdit edit;
  edit.dropped_snapshots = {"ab"};
  EXPECT_EQ(ToHex(edit.Encode()),
            "180110"
            "2003026162");
  EXPECT_EQ(*VersionEdit::Decode(edit.Encode()), edit);
}

TEST(NamedSnapshotFormatTest, WhatIsCutOffIsDamageAndOddFieldsToComeAreSkipped) {
  const auto decode = [](const std::string& field) {
    return VersionEdit::Decode(std::string("\x1e", 1) + static_cast<char>(field.size()) + field).status();
  };
  const std::string whole("\1c\5\6\0", 5);
  EXPECT_TRUE(decode(whole).ok());
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_TRUE(absl::IsDataLoss(decode(whole.substr(0, size)))) << size;
  }
  EXPECT_TRUE(decode(whole + std::string("\1\1x", 3)).ok());
  EXPECT_TRUE(absl::IsFailedPrecondition(decode(whole + std::string("\2\1x", 3))));
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(std::string("\x20\3\1ab", 5)).status())) << "more than the name";
}

}  // namespace
}  // namespace sepal

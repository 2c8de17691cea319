// The rows of the database itself: their bytes, and what keeps users' names, ids and batches apart from them.
#include "db/format/system_row.h"

#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_format.h"
#include "db/format/batch_format.h"
#include "db/format/version_edit.h"
#include "sepal/write_batch.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

TEST(SystemRowTest, ARowIsAPutOrADeleteInTheHighestFamily) {
  std::string batch = WriteBatch().bytes();
  PutSystemRow(&batch, SystemRowKind::kPreparedTransaction, "ab", "value");
  DeleteSystemRow(&batch, SystemRowKind::kTimeMark, "c");
  EXPECT_EQ(ToHex(batch),
            "02000000"
            "01ffffffff0f0301616205"
            "76616c7565"
            "00ffffffff0f020263");
  EXPECT_TRUE(CheckBatch(batch).ok());
}

TEST(SystemRowTest, ABatchOfAUserHasNone) {
  std::string batch = WriteBatch().bytes();
  PutSystemRow(&batch, SystemRowKind::kPreparedTransaction, "ab", "value");
  const absl::Status refused = WriteBatch::FromBytes(batch).status();
  EXPECT_TRUE(absl::IsDataLoss(refused)) << refused;
  EXPECT_NE(refused.ToString().find("a row of the database itself"), std::string::npos) << refused;
}

// An older library refuses the edit in one place, before it meets a log with such rows.
TEST(SystemRowTest, TheManifestSaysThatThereIsASystemFamilyByAFeature) {
  VersionEdit edit;
  edit.created_families.push_back({.id = kSystemFamilyId,
                                   .name = std::string(kSystemFamilyName),
                                   .comparator_name = "c",
                                   .equal_means_identical = true});
  EXPECT_EQ(ToHex(edit.Encode()),
            "0c09ffffffff0f00016301"
            "18028002");
  EXPECT_EQ(*VersionEdit::Decode(edit.Encode()), edit);
}

TEST(SystemRowTest, NoOtherFamilyHasItsIdOrItsName) {
  VersionEdit edit;
  edit.created_families.push_back({.id = ColumnFamilyId(7), .name = "", .comparator_name = "c"});
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(edit.Encode()).status()));
  edit.created_families.front() = {.id = kSystemFamilyId, .name = "seven", .comparator_name = "c"};
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(edit.Encode()).status()));
}

}  // namespace
}  // namespace sepal

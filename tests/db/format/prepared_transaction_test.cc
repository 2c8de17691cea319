// The row of a prepared transaction: its bytes, and what is refused.
#include "db/format/prepared_transaction.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "db/format/batch_format.h"
#include "db/format/expiring_value.h"
#include "db/format/range_end.h"
#include "db/format/system_row.h"
#include "sepal/write_batch.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

std::string SomeBatch() {
  WriteBatch batch;
  batch.Put("k", "v");
  batch.DeleteRange("b", "c");
  return batch.bytes();
}

TEST(PreparedTransactionFormatTest, ARowIsAVersionATimeTheLocksAndTheUpdates) {
  const std::string batch = SomeBatch();
  const PreparedRow row{
      .prepared_millis = 300,
      .locks = {{.family = ColumnFamilyId(0), .exclusive = true, .begin = "a"},
                {.family = ColumnFamilyId(0), .exclusive = false, .begin = ""},
                {.family = ColumnFamilyId(200), .exclusive = false, .range = true, .begin = "b", .end = "c"},
                {.family = ColumnFamilyId(1), .exclusive = false, .range = true},
                {.family = ColumnFamilyId(1), .range = true, .end = "d", .end_inclusive = true}},
      .batch = batch};
  const std::string bytes = row.Encode();
  EXPECT_EQ(ToHex(bytes),
            "01"
            "ac02"
            "05"
            "00010161"
            "000000"
            "c8010e01620163"
            "0102"
            "011b0164"
            "02000000"
            "0100016b0176"
            "04000162020163");
  const absl::StatusOr<PreparedRow> decoded = PreparedRow::Decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, row);
}

TEST(PreparedTransactionFormatTest, WhatIsCutOffOrOddIsDamage) {
  const std::string batch = SomeBatch();
  const std::string bytes =
      PreparedRow{.prepared_millis = 5, .locks = {{.family = ColumnFamilyId(3), .begin = "a"}}, .batch = batch}
          .Encode();
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(absl::IsDataLoss(PreparedRow::Decode(bytes.substr(0, size)).status())) << size;
  }
  EXPECT_TRUE(absl::IsDataLoss(PreparedRow::Decode(bytes + "x").status()));
  // A key that has an end, or flags that no lock has; a range whose end, which it lacks, belongs to it.
  for (const char flags : {4, 8, 9, 16, 32, 2 | 16}) {
    std::string odd = bytes;
    odd[4] = flags;
    EXPECT_TRUE(absl::IsDataLoss(PreparedRow::Decode(odd).status())) << int{flags};
  }
  std::string many = bytes;
  many[2] = 127;
  EXPECT_TRUE(absl::IsDataLoss(PreparedRow::Decode(many).status()));
}

TEST(PreparedTransactionFormatTest, ALaterVersionIsRefusedAsOne) {
  std::string bytes = PreparedRow{.batch = SomeBatch()}.Encode();
  bytes[0] = 3;
  EXPECT_TRUE(absl::IsFailedPrecondition(PreparedRow::Decode(bytes).status()));
  bytes[0] = 0;
  EXPECT_TRUE(absl::IsDataLoss(PreparedRow::Decode(bytes).status()));
}

TEST(PreparedTransactionFormatTest, UpdatesThatNoTransactionHasAreRefused) {
  std::string batch = WriteBatch().bytes();
  PutSystemRow(&batch, SystemRowKind::kPreparedTransaction, "ab", "value");
  EXPECT_TRUE(absl::IsDataLoss(PreparedRow::Decode(PreparedRow{.batch = batch}.Encode()).status()));
}

// A library that knows version 1 alone refuses such a row as one of a newer library.
TEST(PreparedTransactionFormatTest, ARowWithAPutThatExpiresHasVersion2AndNoOtherHas) {
  std::string batch = WriteBatch().bytes();
  AppendBatchEntry(&batch, ValueKind::kExpiringPut, ColumnFamilyId(0), "k", EncodeExpiringValue(5, "v"));
  const PreparedRow row{.prepared_millis = 300, .batch = batch};
  std::string bytes = row.Encode();
  EXPECT_EQ(ToHex(bytes),
            "02"
            "ac02"
            "00"
            "01000000"
            "0600016b07"
            "05000000000076");
  const absl::StatusOr<PreparedRow> decoded = PreparedRow::Decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, row);
  bytes[0] = 1;
  EXPECT_TRUE(absl::IsDataLoss(PreparedRow::Decode(bytes).status()));
  bytes = PreparedRow{.batch = SomeBatch()}.Encode();
  bytes[0] = 2;
  EXPECT_TRUE(absl::IsDataLoss(PreparedRow::Decode(bytes).status()));
}

TEST(PreparedTransactionFormatTest, WritesLockEachKeyAndEachRangeOnce) {
  std::string batch = WriteBatch().bytes();
  AppendBatchEntry(&batch, ValueKind::kPut, ColumnFamilyId(1), "k", "v");
  AppendBatchEntry(&batch, ValueKind::kDelete, ColumnFamilyId(1), "k", {});
  AppendBatchEntry(&batch, ValueKind::kMerge, ColumnFamilyId(0), "k", "v");
  AppendBatchEntry(&batch, ValueKind::kRangeDelete, ColumnFamilyId(0), "k", EncodeRangeEnd(std::nullopt));
  AppendBatchEntry(&batch, ValueKind::kRangeDelete, ColumnFamilyId(0), "k", EncodeRangeEnd("l"));
  const std::vector<HeldLock> expected = {{.family = ColumnFamilyId(0), .begin = "k"},
                                          {.family = ColumnFamilyId(0), .range = true, .begin = "k"},
                                          {.family = ColumnFamilyId(0), .range = true, .begin = "k", .end = "l"},
                                          {.family = ColumnFamilyId(1), .begin = "k"}};
  EXPECT_EQ(LocksOfWrites(batch), expected);
}

}  // namespace
}  // namespace sepal

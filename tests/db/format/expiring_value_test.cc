#include "db/format/expiring_value.h"

#include <gtest/gtest.h>

#include <chrono>

#include "db/format/batch_format.h"
#include "db/format/version_edit.h"
#include "sepal/write_batch.h"
#include "util/base/strings.h"

namespace sepal {
namespace {

std::chrono::system_clock::time_point AtMillis(int64_t millis) {
  return std::chrono::system_clock::time_point(std::chrono::milliseconds(millis));
}

TEST(ExpiringValueTest, BytesAreAsTheTableSays) {
  EXPECT_EQ(ToHex(EncodeExpiringValue(0x0102030405, "v")), "05040302010076");
  const ExpiringValue read = ParseExpiringValue(std::string_view("\x05\x04\x03\x02\x01\x00", 6));
  EXPECT_EQ(read.expiry_millis, 0x0102030405);
  EXPECT_EQ(read.value, "");
  for (const uint64_t expiry : {uint64_t{0}, uint64_t{1}, kNoExpiryMillis - 1}) {
    const std::string payload = EncodeExpiringValue(expiry, "value");
    EXPECT_EQ(ParseExpiringValue(payload).expiry_millis, expiry);
    EXPECT_EQ(ParseExpiringValue(payload).value, "value");
  }
  EXPECT_EQ(ToHex(EncodeExpiringValue(uint64_t{1} << 60, "")), "ffffffffffff") << "too late for the format";
}

struct SeenPut {
  uint32_t family;
  std::string key, value;
  std::chrono::system_clock::time_point expires_at;
};

class TakesExpiring : public WriteBatch::Handler {
 public:
  absl::Status Put(uint32_t, std::string_view, std::string_view) override { return absl::OkStatus(); }
  absl::Status Delete(uint32_t, std::string_view) override { return absl::OkStatus(); }
  absl::Status SingleDelete(uint32_t, std::string_view) override { return absl::OkStatus(); }
  absl::Status PutExpiring(uint32_t family, std::string_view key, std::string_view value,
                           std::chrono::system_clock::time_point expires_at) override {
    seen.push_back({family, std::string(key), std::string(value), expires_at});
    return absl::OkStatus();
  }
  std::vector<SeenPut> seen;
};
class TakesNone final : public TakesExpiring {
  absl::Status PutExpiring(uint32_t family, std::string_view key, std::string_view value,
                           std::chrono::system_clock::time_point expires_at) override {
    return WriteBatch::Handler::PutExpiring(family, key, value, expires_at);
  }
};

TEST(ExpiringValueTest, ABatchHasTheTimeBeforeTheValue) {
  WriteBatch batch;
  batch.Put("k", "v", AtMillis(0x0102));
  EXPECT_EQ(ToHex(batch.bytes()),
            "01000000"
            "06"
            "00"
            "016b"
            "07020100000000"
            "76");
  TakesExpiring handler;
  ASSERT_TRUE(batch.Iterate(handler).ok());
  ASSERT_EQ(handler.seen.size(), 1);
  EXPECT_EQ(handler.seen[0].key, "k");
  EXPECT_EQ(handler.seen[0].value, "v");
  EXPECT_EQ(handler.seen[0].expires_at, AtMillis(0x0102));
  TakesNone none;
  EXPECT_TRUE(absl::IsUnimplemented(batch.Iterate(none))) << "none is passed over";
}

TEST(ExpiringValueTest, ABatchKnowsWhetherAnythingInItExpires) {
  bool expires = true;
  WriteBatch plain;
  plain.Put("k", "v");
  ASSERT_TRUE(CheckBatch(plain.bytes(), &expires).ok());
  EXPECT_FALSE(expires);
  WriteBatch expiring;
  expiring.Put("k", "", AtMillis(5));
  plain.Append(expiring);
  ASSERT_TRUE(CheckBatch(plain.bytes(), &expires).ok());
  EXPECT_TRUE(expires);
}

TEST(ExpiringValueTest, AnEntryWithoutAWholeTimeIsDamage) {
  WriteBatch batch;
  batch.Put("k", "", AtMillis(5));
  std::string bytes = batch.bytes();
  ASSERT_TRUE(CheckBatch(bytes).ok());
  bytes.pop_back();
  bytes[bytes.size() - kExpiryBytes] = kExpiryBytes - 1;  // the length
  const absl::Status damaged = CheckBatch(bytes);
  EXPECT_TRUE(absl::IsDataLoss(damaged)) << damaged;
  EXPECT_NE(damaged.ToString().find("an expiring put without its expiry"), std::string::npos) << damaged;
}

TEST(ExpiringValueTest, TheManifestSaysThatPutsExpireAndHowFarTheClockIs) {
  VersionEdit edit;
  edit.features |= Feature::kExpiry;
  edit.clock_floor = ClockFloor{.now_millis = 300, .removed_millis = 5};
  edit.schemas.push_back({.family = ColumnFamilyId(1), .ttl_millis = 1000});
  // Feature 4; the clock; of family 1 the time to live.
  EXPECT_EQ(ToHex(edit.Encode()),
            "180104"
            "2403ac0205"
            "1c05010402e807");
  EXPECT_EQ(*VersionEdit::Decode(edit.Encode()), edit);
  edit.schemas[0].merge_operator = "add";
  EXPECT_EQ(ToHex(edit.Encode()).substr(0, 6), "180105") << "one field has both features";
  EXPECT_EQ(*VersionEdit::Decode(edit.Encode()), edit);
  EXPECT_TRUE(absl::IsDataLoss(VersionEdit::Decode(edit.Encode() + edit.Encode()).status())) << "two clocks";
  EXPECT_EQ(VersionEdit().Encode(), "") << "a database without them has no bytes for them";
}

TEST(ExpiringValueTest, ATableSaysWhenAllInItHasExpired) {
  AddedTable added{.family = ColumnFamilyId(3), .level = 2, .table = {}};
  added.table.number = FileNumber(7);
  added.table.run = RunNumber(6);
  added.table.smallest = InternalKey("a", PackTrailer(SequenceNumber(1), ValueKind::kExpiringPut));
  added.table.largest = InternalKey("b", PackTrailer(SequenceNumber(2), ValueKind::kExpiringPut));
  added.table.expired_at_millis = 300;
  VersionEdit edit;
  edit.added_tables.push_back(added);
  const std::string bytes = edit.Encode();
  EXPECT_EQ(ToHex(bytes),
            "1a33"
            "0302070600"
            "0000000000000000"
            "0000000000000000"
            "09610601000000000000"
            "09620602000000000000"
            "000000000000"
            "0502ac02");
  const absl::StatusOr<VersionEdit> decoded = VersionEdit::Decode(bytes);
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(*decoded, edit);
  edit.added_tables.front().table.expired_at_millis = 0;
  EXPECT_EQ(edit.Encode().front(), 18) << "as version 0.1.0 reads it";
}

}  // namespace
}  // namespace sepal

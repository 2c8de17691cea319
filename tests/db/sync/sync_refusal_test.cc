// What a sync refuses before it writes anything, and messages that are too large.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "db/sync/sync_messages.h"
#include "db/sync/sync_session.h"
#include "db/sync/sync_stream.h"
#include "sepal/db.h"
#include "tests/db/sync/sync_world.h"
#include "util/base/coding.h"
#include "util/base/hash.h"

namespace sepal {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Backward final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return b.compare(a); }
  std::string_view Name() const override { return "test.backward"; }
  bool EqualMeansIdentical() const override { return true; }
};

TEST(SyncTest, AnotherOrderOfKeysIsRefused) {
  static const Backward backward;
  SyncDatabase a, b;
  for (SyncDatabase* side : {&a, &b}) {
    const auto family = side->db()->CreateColumnFamily("f", {.comparator = &backward}).value();
    for (uint64_t i = 0; i < 5; ++i) ASSERT_TRUE(side->db()->Put(*family, SyncKey(i), "v").ok());
  }
  const Synced synced = RunBoth(&a, &b);
  EXPECT_TRUE(absl::IsInvalidArgument(synced.report.status())) << synced.report.status();
  EXPECT_THAT(synced.report.status().ToString(), HasSubstr("\"f\""));
}

// Two comparators that agree on most keys do not make one order of both.
class Forward final : public Comparator {
 public:
  int Compare(std::string_view a, std::string_view b) const override { return a.compare(b); }
  std::string_view Name() const override { return "test.forward"; }
  bool EqualMeansIdentical() const override { return true; }
};

TEST(SyncRefusalTest, FamiliesOfOtherComparatorsAreRefusedBeforeAnythingIsWritten) {
  static const Forward forward;
  for (const bool of_a : {false, true}) {
    SyncDatabase a, b;
    ASSERT_TRUE(a.db()->Put("k", "1").ok());  // of the default family, which comes first
    ASSERT_TRUE((of_a ? a : b).db()->CreateColumnFamily("f", {.comparator = &forward}).ok());
    ASSERT_TRUE((of_a ? b : a).db()->CreateColumnFamily("f", {}).ok());
    const Synced synced = RunBoth(&a, &b);
    for (const absl::Status& status : {synced.report.status(), synced.served}) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(status.ToString(),
                  AllOf(HasSubstr("\"f\""), HasSubstr("test.forward"), HasSubstr("sepal.BytewiseComparator")));
    }
    EXPECT_TRUE(b.All().empty());
  }
}

TEST(SyncRefusalTest, AFamilyOfAnotherComparatorIsNotMadeWhereItIsMissing) {
  static const Forward forward;
  for (const bool of_a : {false, true}) {
    SyncDatabase a, b;
    ASSERT_TRUE(a.db()->Put("k", "1").ok());
    SyncDatabase& with = of_a ? a : b;
    SyncDatabase& without = of_a ? b : a;
    ASSERT_TRUE(with.db()->CreateColumnFamily("f", {.comparator = &forward}).ok());
    const Synced synced = RunBoth(&a, &b);
    for (const absl::Status& status : {synced.report.status(), synced.served}) {
      EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
      EXPECT_THAT(status.ToString(), AllOf(HasSubstr("\"f\""), HasSubstr("test.forward"),
                                           HasSubstr("sepal.BytewiseComparator"), HasSubstr("make it there")));
    }
    EXPECT_EQ(without.db()->ColumnFamilyNames(), (std::vector<std::string>{"default"}));
    EXPECT_TRUE(b.All().empty());
    // With the remedy it goes.
    ASSERT_TRUE(without.db()->CreateColumnFamily("f", {.comparator = &forward}).ok());
    EXPECT_TRUE(RunBoth(&a, &b).report.ok());
  }
}

TEST(SyncRefusalTest, ADatabaseWithKeysThatExpireIsRefusedOnEitherSide) {
  using std::chrono::hours;
  for (const bool of_a : {false, true}) {
    for (const bool of_family : {false, true}) {
      SyncDatabase a, b;
      DB* const expiring = (of_a ? a : b).db();
      ASSERT_TRUE((of_a ? b : a).db()->Put("k", "1").ok());
      if (of_family) {
        ASSERT_TRUE(expiring->CreateColumnFamily("f", {.ttl = hours(1)}).ok());
      } else {
        ASSERT_TRUE(expiring->Put("l", "2", {.ttl = hours(1)}).ok());
        ASSERT_TRUE(expiring->Delete("l").ok());
      }
      const Synced synced = RunBoth(&a, &b);
      for (const absl::Status& status : {synced.report.status(), synced.served}) {
        EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
        EXPECT_THAT(status.ToString(), HasSubstr("has had keys that expire, and a sync does not carry their times"));
      }
      EXPECT_TRUE((of_a ? a : b).All().empty());
    }
  }
}

TEST(SyncRefusalTest, NamesOfFamiliesThatNoGreetingHoldsAreRefusedBeforeAnythingIsWritten) {
  for (const bool together : {false, true}) {
    SyncDatabase a, b;
    ASSERT_TRUE(a.db()->Put("k", "1").ok());
    // Of one side they are too long for its greeting; of both together, for that of the next sync.
    ASSERT_TRUE(a.db()->CreateColumnFamily(std::string(600'000, 'f'), {}).ok());
    ASSERT_TRUE((together ? b : a).db()->CreateColumnFamily(std::string(600'000, 'g'), {}).ok());
    const Synced synced = RunBoth(&a, &b);
    EXPECT_TRUE(absl::IsResourceExhausted(synced.report.status())) << synced.report.status();
    EXPECT_THAT(synced.report.status().ToString(), AllOf(HasSubstr("column families"), HasSubstr("drop families")));
    EXPECT_EQ(b.db()->ColumnFamilyNames().size(), together ? 2 : 1);
    EXPECT_TRUE(b.All().empty());
  }
}

TEST(SyncRefusalTest, AFamilyThatNoGreetingHasNamedIsNotMade) {
  SyncDatabase b;
  TapeStream from_a;
  SyncStream writer(&from_a);
  const SyncHello hello{.families = {{.name = "default", .comparator = "sepal.BytewiseComparator"}}};
  ASSERT_TRUE(writer.Send(SyncMessage::kHello, Encode(hello)).ok());
  ASSERT_TRUE(writer.Send(SyncMessage::kFamily, "new").ok());
  const absl::Status served = ServeSync(b.db(), &from_a, {});
  EXPECT_THAT(served.ToString(), HasSubstr("a column family that no greeting has named"));
  EXPECT_EQ(b.db()->ColumnFamilyNames(), (std::vector<std::string>{"default"}));
}

TEST(SyncRefusalTest, AFilterWithoutAFormIsDamage) { EXPECT_TRUE(absl::IsDataLoss(SyncFilter::Parse("").status())); }

// A stream with the begin of a message that says it is that long.
absl::Status ReceiveOfLength(SyncMessage type, uint32_t length) {
  TapeStream tape;
  tape.bytes.push_back(static_cast<char>(type));
  PutFixed32(&tape.bytes, length);
  PutFixed32(&tape.bytes, Checksum32(tape.bytes, 0));
  std::string payload;
  return SyncStream(&tape).Receive(&payload).status();
}

TEST(SyncRefusalTest, MessagesAreAsLongAsTheirTypeAllows) {
  EXPECT_TRUE(absl::IsUnavailable(ReceiveOfLength(SyncMessage::kConflicts, 1 << 20)));
  EXPECT_TRUE(absl::IsDataLoss(ReceiveOfLength(SyncMessage::kConflicts, (1 << 20) + 1)));
  EXPECT_TRUE(absl::IsUnavailable(ReceiveOfLength(SyncMessage::kFilter, 1 << 27)));
  EXPECT_TRUE(absl::IsDataLoss(ReceiveOfLength(SyncMessage::kFilter, (1 << 27) + 1)));
  EXPECT_TRUE(absl::IsUnavailable(ReceiveOfLength(SyncMessage::kRanges, (1 << 26) + 18)));
  EXPECT_TRUE(absl::IsDataLoss(ReceiveOfLength(SyncMessage::kRanges, (1 << 26) + 19)));
  // A large value is an entry of its own.
  std::string items, keys;
  Append({.key = "k", .value = std::string(1 << 20, 'v')}, &items);
  EXPECT_TRUE(ParseItems(items).ok());
  Append({.key = "l"}, &items);
  EXPECT_TRUE(absl::IsDataLoss(ParseItems(items).status()));
  AppendKey(std::string(1 << 20, 'k'), &keys);
  EXPECT_TRUE(absl::IsDataLoss(ParseKeys(keys).status()));
}

TEST(SyncRefusalTest, LargeEntriesAndManyConflictsGoInSeveralMessages) {
  SyncDatabase a, b;
  Contents both;
  for (uint64_t i = 0; i < 12; ++i) {
    const Contents entry = {{SyncKey(i), std::string(i % 2 == 0 ? 200'000 : 1'040'000, static_cast<char>('a' + i))}};
    (i % 3 == 0 ? a : b).Put(entry);
    both.insert(entry.begin(), entry.end());
  }
  uint64_t conflicts = 0;
  for (; conflicts < 60; ++conflicts) {
    const std::string key = SyncKey(conflicts) + std::string(50'000, 'c');
    ASSERT_TRUE(a.db()->Put(key, "a").ok());
    ASSERT_TRUE(b.db()->Put(key, "b").ok());
  }
  const Synced synced = RunBoth(&a, &b);
  ASSERT_TRUE(synced.report.ok()) << synced.report.status();
  EXPECT_EQ(synced.report->conflicts.size(), conflicts);
  for (const auto& [key, value] : both) {
    EXPECT_EQ(a.db()->Get(key).value(), value);
    EXPECT_EQ(b.db()->Get(key).value(), value);
  }
}

TEST(SyncRefusalTest, TheConflictsOfAllFamiliesAreBoundedInNumberAndBytes) {
  for (const SyncTuning& tuning : {SyncTuning{.most_conflicts = 10}, SyncTuning{.most_conflict_bytes = 90}}) {
    SyncDatabase a, b;
    for (SyncDatabase* side : {&a, &b}) {
      const auto family = side->db()->CreateColumnFamily("f", {}).value();
      for (uint64_t i = 0; i < 6; ++i) {
        const std::string value = side == &a ? "a" : "b";
        ASSERT_TRUE(side->db()->Put(SyncKey(i), value).ok());
        ASSERT_TRUE(side->db()->Put(*family, SyncKey(i), value).ok());
      }
    }
    const Synced synced = RunBoth(&a, &b, ConflictPolicy::kReport, tuning);
    EXPECT_TRUE(absl::IsResourceExhausted(synced.report.status())) << synced.report.status();
    EXPECT_THAT(synced.report.status().ToString(), AllOf(HasSubstr("\"f\""), HasSubstr("--on-conflict")));
  }
}

// Takes nothing, and has some bytes that are no message.
class BrokenPipe final : public SyncChannel {
 public:
  absl::Status Read(char*, size_t) override { return absl::UnavailableError("ended within a message"); }
  absl::Status Write(std::string_view) override { return absl::UnavailableError("ended"); }
};

TEST(SyncRefusalTest, WhatTheOtherSideLeftSaysMoreThanABrokenPipe) {
  SyncDatabase a;
  BrokenPipe pipe;
  EXPECT_THAT(BeginSync(*a.db(), pipe, {}).status().ToString(), HasSubstr("ended within a message"));
}

}  // namespace
}  // namespace sepal

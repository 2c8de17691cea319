// Two databases that get what the other one has: the bytes of the protocol, what they end as, and bad days.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "db/sync/difference_table.h"
#include "db/sync/sync_messages.h"
#include "db/sync/sync_session.h"
#include "db/sync/sync_stream.h"
#include "sepal/db.h"
#include "tests/db/sync/sync_world.h"
#include "util/base/coding.h"
#include "util/base/hash.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += absl::StrFormat("%02x", static_cast<uint8_t>(c));
  return text;
}

TEST(SyncMessagesTest, BytesAreAsDocumented) {
  EXPECT_EQ(Hex(Encode(SyncHello{.policy = ConflictPolicy::kTheirs, .families = {{"default", "c"}, {"f", "dd"}}})),
            "5350414c53594e43"
            "03"
            "02"
            "02"
            "0764656661756c74"
            "0163"
            "0166"
            "026464");
  EXPECT_EQ(Hex(Encode(SyncRanges{.seed = 0x0102,
                                  .ranges = {{.begin = "", .entries = 3, .hash = {1, 2}},
                                             {.begin = "k", .entries = 1, .hash = {3, 4}}}})),
            "0201000000000000"
            "02"
            "00"
            "03"
            "0100000000000000"
            "0200000000000000"
            "016b"
            "01"
            "0300000000000000"
            "0400000000000000");
  EXPECT_EQ(Hex(Encode(
                SyncDiffering{.ranges = {true, false, true, false, false, false, false, false, true}, .entries = 300})),
            "ac02"
            "0501");
  SyncDiffering sketched{.ranges = {true}, .entries = 1, .sketch = DifferenceSketch()};
  sketched.sketch->Add(1027);  // counter 3, and the sign of 1
  sketched.sketch->Add(5);     // counter 5, and the other one
  EXPECT_EQ(Hex(Encode(sketched)),
            "01"
            "01"
            "000000"
            "02"
            "00"
            "01" +
                Hex(std::string(1018, '\0')));
  std::string items;
  Append({.key = "k", .value = "vv", .sequence = 200}, &items);
  EXPECT_EQ(Hex(items),
            "016b"
            "027676"
            "c801");
  EXPECT_EQ(Hex(Encode(SyncDone{.written = 300, .overwritten = 2})),
            "ac02"
            "02");
  std::string keys;
  AppendKey("a", &keys);
  AppendKey("bc", &keys);
  EXPECT_EQ(Hex(keys),
            "0161"
            "026263");
}

TEST(SyncStreamTest, EachFlippedBitOfAMessageIsSeenAndALengthCostsNothing) {
  TapeStream tape;
  ASSERT_TRUE(SyncStream(&tape).Send(SyncMessage::kItems, "abc").ok());
  EXPECT_EQ(Hex(tape.bytes.substr(0, 5)), "0703000000");
  EXPECT_EQ(tape.bytes.substr(9, 3), "abc");
  EXPECT_EQ(tape.bytes.size(), 16u);
  const std::string good = tape.bytes;
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    TapeStream bad;
    bad.bytes = good;
    bad.bytes[bit / 8] = static_cast<char>(bad.bytes[bit / 8] ^ 1 << bit % 8);
    std::string payload;
    EXPECT_FALSE(SyncStream(&bad).Expect(SyncMessage::kItems, &payload).ok()) << bit;
  }
  TapeStream long_one;
  long_one.bytes = std::string("\x07\xff\xff\xff\x3f", 5);
  PutFixed32(&long_one.bytes, Checksum32(long_one.bytes, 0));
  std::string payload;
  EXPECT_TRUE(absl::IsUnavailable(SyncStream(&long_one).Receive(&payload).status()));
  EXPECT_LT(payload.capacity(), size_t{4} << 20);
}

TEST(SyncMessagesTest, WhatNoneHasMadeIsRefused) {
  const std::string hello = Encode(SyncHello{.families = {{"default", "c"}}});
  const std::string ranges = Encode(SyncRanges{.ranges = {{.begin = ""}, {.begin = "k"}}});
  for (size_t cut = 0; cut < hello.size(); ++cut) EXPECT_FALSE(ParseHello(hello.substr(0, cut)).ok()) << cut;
  for (size_t cut = 0; cut < ranges.size(); ++cut) EXPECT_FALSE(ParseRanges(ranges.substr(0, cut)).ok()) << cut;
  EXPECT_FALSE(ParseHello(hello + "x").ok());
  std::string newer = hello;
  newer[8] = 4;
  EXPECT_TRUE(absl::IsFailedPrecondition(ParseHello(newer).status()));
  EXPECT_FALSE(ParseRanges(Encode(SyncRanges{.ranges = {{.begin = "k"}}})).ok()) << "they do not cover all keys";
  EXPECT_FALSE(ParseRanges(Encode(SyncRanges{.ranges = {{.begin = ""}, {.begin = "k"}, {.begin = "k"}}})).ok());
  EXPECT_FALSE(ParseDiffering("\x05", 9).ok());
  const std::string sketched = Encode(SyncDiffering{.ranges = {true}, .sketch = DifferenceSketch()});
  EXPECT_TRUE(ParseDiffering(sketched, 1).ok());
  EXPECT_FALSE(ParseDiffering(sketched.substr(0, sketched.size() - 1), 1).ok());
  EXPECT_FALSE(ParseDiffering(sketched + "x", 1).ok());
  EXPECT_FALSE(ParseItems("\x09key").ok());
  EXPECT_FALSE(ParseKeys("\x02k").ok());
  for (const std::string& filter :
       {std::string("\x04"), std::string("\x02"), std::string("\x02") + std::string(38, 'x'),
        std::string("\x01garbage"), std::string("\x01"), std::string("\x00hash", 5)}) {
    EXPECT_FALSE(SyncFilter::Parse(filter).ok()) << Hex(filter);
  }
  std::string unsorted(1, '\0');
  unsorted += std::string(8, '\x02') + std::string(8, '\x01');
  EXPECT_TRUE(absl::IsDataLoss(SyncFilter::Parse(unsorted).status()));
}

TEST(SyncTest, RandomPairsEndEqualUnderEachPolicy) {
  for (uint64_t seed = 1; seed <= 24; ++seed) {
    Random random(seed);
    SyncDatabase a, b;
    ASSERT_NO_FATAL_FAILURE(
        FillPair(&random, random.Uniform(3) == 0 ? random.Uniform(5) : random.Uniform(4000), &a, &b));
    const Contents before_a = a.All(), before_b = b.All();
    const auto policy = static_cast<ConflictPolicy>(seed % 4);
    // Ranges and filters of all sizes, and false positives in most rounds of some.
    const SyncTuning tuning{.entries_of_range = 1 + random.Uniform(200),
                            .false_positive_rate = seed % 3 == 0 ? 0.6 : 0.01,
                            .exact_entries = seed % 2 == 0 ? uint64_t{0} : uint64_t{100},
                            .batch_bytes = 1 + random.Uniform(2000)};
    const Synced synced = RunBoth(&a, &b, policy, tuning, seed);
    ASSERT_TRUE(synced.report.ok()) << synced.report.status() << ", seed " << seed;
    ASSERT_TRUE(synced.served.ok()) << synced.served;
    std::map<std::string, int> conflicts;
    for (const SyncConflict& conflict : synced.report->conflicts) ++conflicts[conflict.key];
    Contents expected_a = before_a, expected_b = before_b;
    for (const auto& [key, value] : before_b) {
      const auto [it, absent] = expected_a.emplace(key, value);
      if (absent || it->second == value) continue;
      if (policy == ConflictPolicy::kTheirs) it->second = value;
      if (policy == ConflictPolicy::kReport) {
        EXPECT_EQ(conflicts[key], 1) << key;
      }
    }
    if (policy == ConflictPolicy::kNewerBySequence) {
      EXPECT_EQ(a.All().size(), expected_a.size());
    } else {
      EXPECT_EQ(a.All(), expected_a) << "seed " << seed;
    }
    Contents all_b = b.All(), all_a = a.All();
    for (const auto& [key, times] : conflicts) {
      EXPECT_EQ(all_b.at(key), before_b.at(key));
      EXPECT_EQ(all_a.at(key), before_a.at(key));
      all_a.erase(key);
      all_b.erase(key);
    }
    EXPECT_EQ(all_a, all_b) << "seed " << seed;
    EXPECT_EQ(synced.report->entries, all_a.size());
  }
}

TEST(SyncTest, TheNewerSequenceNumberWins) {
  SyncDatabase a, b;
  ASSERT_TRUE(a.db()->Put("k", "older").ok());
  ASSERT_TRUE(b.db()->Put("other", "first").ok());
  ASSERT_TRUE(b.db()->Put("k", "newer").ok());
  ASSERT_TRUE(RunBoth(&a, &b, ConflictPolicy::kNewerBySequence).report.ok());
  EXPECT_EQ(a.db()->Get("k").value(), "newer");
  EXPECT_EQ(b.db()->Get("k").value(), "newer");
}

// A number that a compaction has dropped is not taken for the oldest.
TEST(SyncTest, WithoutItsSequenceNumberAKeyStaysInConflict) {
  SyncDatabase a, b;
  ASSERT_TRUE(a.db()->Put("k", "old").ok());
  ASSERT_TRUE(b.db()->Put("k", "old").ok());
  ASSERT_TRUE(b.db()->Put("k", "new").ok());
  ASSERT_TRUE(b.db()->Flush().ok());
  ASSERT_TRUE(b.db()->CompactRange().ok());
  const Synced synced = RunBoth(&a, &b, ConflictPolicy::kNewerBySequence);
  ASSERT_TRUE(synced.report.ok()) << synced.report.status();
  EXPECT_EQ(synced.report->conflicts.size(), 1u);
  EXPECT_EQ(a.db()->Get("k").value(), "old");
  EXPECT_EQ(b.db()->Get("k").value(), "new");
}

TEST(SyncTest, WhatIsWrittenThereIsTold) {
  SyncDatabase a, b;
  ASSERT_TRUE(a.db()->Put("k", "ours").ok());
  ASSERT_TRUE(a.db()->Put("l", "more").ok());
  ASSERT_TRUE(b.db()->Put("k", "theirs").ok());
  const Synced synced = RunBoth(&a, &b, ConflictPolicy::kOurs);
  ASSERT_TRUE(synced.report.ok()) << synced.report.status();
  EXPECT_EQ(synced.report->written_there, 2u);
  EXPECT_EQ(synced.report->overwritten_there, 1u);
}

TEST(SyncTest, EqualDatabasesExchangeSumsAlone) {
  SyncDatabase a, b;
  Contents entries;
  for (uint64_t i = 0; i < 20'000; ++i) entries[SyncKey(i)] = std::string(100, static_cast<char>('a' + i % 26));
  a.Put(entries);
  b.Put(entries);
  const Synced synced = RunBoth(&a, &b);
  ASSERT_TRUE(synced.report.ok()) << synced.report.status();
  EXPECT_EQ(synced.report->rounds, 0u);
  EXPECT_EQ(synced.report->entries, 20'000u);
  EXPECT_LT(synced.report->sent_bytes + synced.report->received_bytes, 2000u);
}

// Any number of entries has ranges that fit into one message.
TEST(SyncTest, RangesGetLargerAsTheirMessageFills) {
  constexpr SyncTuning kSmall{.entries_of_range = 1, .most_range_bytes = 2000};
  SyncDatabase a, b;
  Contents entries;
  for (uint64_t i = 0; i < 5'000; ++i) entries[SyncKey(i)] = "v";
  a.Put(entries);
  b.Put(entries);
  const Synced equal = RunBoth(&a, &b, ConflictPolicy::kReport, kSmall);
  ASSERT_TRUE(equal.report.ok()) << equal.report.status();
  EXPECT_EQ(equal.report->rounds, 0u);
  EXPECT_EQ(equal.report->entries, 5'000u);
  EXPECT_LT(equal.report->sent_bytes, 2200u);
  EXPECT_GT(equal.report->sent_bytes, 1500u) << "the message was to be filled";
  b.Put({{SyncKey(17), "w"}, {SyncKey(4'999), "w"}, {"z", "v"}});
  const Synced synced = RunBoth(&a, &b, ConflictPolicy::kTheirs, kSmall);
  ASSERT_TRUE(synced.report.ok()) << synced.report.status();
  EXPECT_EQ(synced.report->written, 3u);
  EXPECT_EQ(a.All(), b.All());
}

TEST(SyncTest, OnePercentOfDifferenceMovesLessThanATenthOfTheData) {
  SyncDatabase a, b;
  Contents of_a, of_b;
  Random random(7);
  uint64_t bytes = 0;
  for (uint64_t i = 0; i < 50'000; ++i) {
    std::string value(100, '\0');
    for (char& c : value) c = static_cast<char>(random.Uniform(256));
    bytes += SyncKey(i).size() + value.size();
    if (i % 200 != 0) of_a[SyncKey(i)] = value;
    if (i % 200 != 100) of_b[SyncKey(i)] = value;
  }
  a.Put(of_a);
  b.Put(of_b);
  const Synced synced = RunBoth(&a, &b);
  ASSERT_TRUE(synced.report.ok()) << synced.report.status();
  EXPECT_EQ(a.All(), b.All());
  EXPECT_EQ(a.All().size(), 50'000u);
  EXPECT_LT(synced.report->sent_bytes + synced.report->received_bytes, bytes / 10);
}

// Differences of small entries take bytes for themselves, and next to none for the entries that both sides have.
TEST(SyncTest, SmallEntriesThatBothSidesHaveCostNextToNothing) {
  SyncDatabase a, b;
  Contents of_a, of_b;
  for (uint64_t i = 0; i < 100'000; ++i) {
    if (i % 200 != 0) of_a[SyncKey(i)] = "v";
    if (i % 200 != 100) of_b[SyncKey(i)] = "v";
  }
  a.Put(of_a);
  b.Put(of_b);
  const Synced synced = RunBoth(&a, &b);
  ASSERT_TRUE(synced.report.ok()) << synced.report.status();
  EXPECT_EQ(synced.report->rounds, 1u);
  EXPECT_EQ(a.All().size(), 100'000u);
  EXPECT_EQ(a.All(), b.All());
  // 1.1 MB of entries; 1000 differ.
  EXPECT_LT(synced.report->sent_bytes + synced.report->received_bytes, 60'000u);
}

TEST(SyncTest, TablesThatAreTooSmallLeaveMoreRoundsAndNothingElse) {
  for (const double room : {0.0, 0.3, 0.7, 0.85}) {
    SyncDatabase a, b;
    Contents of_a, of_b, all;
    for (uint64_t i = 0; i < 40'000; ++i) {
      all[SyncKey(i)] = "v";
      if (i % 40 != 0) of_a[SyncKey(i)] = "v";
      if (i % 40 != 20) of_b[SyncKey(i)] = "v";
    }
    a.Put(of_a);
    b.Put(of_b);
    const Synced synced = RunBoth(&a, &b, ConflictPolicy::kReport, {.table_room = room});
    ASSERT_TRUE(synced.report.ok()) << synced.report.status();
    EXPECT_GT(synced.report->rounds, 1u) << room;
    EXPECT_EQ(a.All(), all);
    EXPECT_EQ(b.All(), all);
  }
}

TEST(SyncTest, FiltersThatMayTakeABitOfAnEntryAreSentUntilHashesAreNoLarger) {
  SyncDatabase a, b;
  Contents of_a, of_b;
  for (uint64_t i = 0; i < 8'000; ++i) (i % 2 == 0 ? of_a : of_b)[SyncKey(i)] = "value";
  a.Put(of_a);
  b.Put(of_b);
  const Synced synced =
      RunBoth(&a, &b, ConflictPolicy::kReport, {.entries_of_range = 16, .most_filter_bytes = 1024, .exact_entries = 0});
  ASSERT_TRUE(synced.report.ok()) << synced.report.status();
  EXPECT_EQ(a.All(), b.All());
  EXPECT_EQ(a.All().size(), 8'000u);
  EXPECT_GT(synced.report->rounds, 4u);
}

TEST(SyncTest, FamiliesAreMadeWhereTheyAreMissing) {
  SyncDatabase a, b;
  const auto mail = a.db()->CreateColumnFamily("mail", {}).value();
  const auto news = b.db()->CreateColumnFamily("news", {}).value();
  ASSERT_TRUE(a.db()->Put(*mail, "m", "1").ok());
  ASSERT_TRUE(b.db()->Put(*news, "n", "2").ok());
  const Synced synced = RunBoth(&a, &b);
  ASSERT_TRUE(synced.report.ok()) << synced.report.status();
  EXPECT_EQ(synced.report->column_families, 3u);
  EXPECT_EQ(b.AllOf(*b.db()->FindColumnFamily("mail").value()), (Contents{{"m", "1"}}));
  EXPECT_EQ(a.AllOf(*a.db()->FindColumnFamily("news").value()), (Contents{{"n", "2"}}));
}

TEST(SyncTest, CutOrDamagedAnywhereBothSidesAreWholeAndItCanBeRunAgain) {
  for (const bool flips : {false, true}) {
    for (const bool of_server : {false, true}) {
      uint64_t faults = 0;
      for (uint64_t after = 0;; after += 1 + after / 4) {
        Random random(5);
        SyncDatabase a, b;
        ASSERT_NO_FATAL_FAILURE(FillPair(&random, 300, &a, &b));
        Contents both = a.All();
        both.merge(b.All());
        const SyncTuning tuning{.entries_of_range = 16, .batch_bytes = 64};
        const Synced cut = RunBoth(&a, &b, ConflictPolicy::kOurs, tuning, 1,
                                   {.after_bytes = after, .flips = flips, .of_server = of_server});
        if (cut.report.ok() && cut.served.ok()) break;  // more than there was to write
        ++faults;
        EXPECT_FALSE(cut.report.ok() && cut.served.ok()) << after;
        for (SyncDatabase* side : {&a, &b}) {
          for (const auto& [key, value] : side->All()) {
            ASSERT_TRUE(both.contains(key)) << key;
            ASSERT_TRUE(both[key] == value || both[key] + "b" == value) << key;
          }
        }
        const Synced again = RunBoth(&a, &b, ConflictPolicy::kOurs, tuning, 2);
        ASSERT_TRUE(again.report.ok()) << again.report.status();
        EXPECT_EQ(a.All(), both) << after;
        EXPECT_EQ(b.All(), both) << after;
      }
      EXPECT_GT(faults, 10u);
    }
  }
}

TEST(SyncTest, TooManyConflictsAreRefusedWithTheRemedy) {
  SyncDatabase a, b;
  for (uint64_t i = 0; i < 30; ++i) {
    ASSERT_TRUE(a.db()->Put(SyncKey(i), "a").ok());
    ASSERT_TRUE(b.db()->Put(SyncKey(i), "b").ok());
  }
  const Synced synced = RunBoth(&a, &b, ConflictPolicy::kReport, {.most_conflicts = 10});
  EXPECT_TRUE(absl::IsResourceExhausted(synced.report.status())) << synced.report.status();
  EXPECT_THAT(synced.report.status().ToString(), HasSubstr("--on-conflict"));
}

}  // namespace
}  // namespace sepal

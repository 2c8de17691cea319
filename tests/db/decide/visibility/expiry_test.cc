// What expiring puts mean to readers, what flushes and compactions make of them, and up to which time they may.
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "db/decide/visibility/operands.h"
#include "db/decide/visibility/removal_time.h"
#include "db/decide/visibility/retention.h"
#include "db/format/expiring_value.h"
#include "tests/db/decide/visibility/key_versions.h"
#include "util/base/random.h"

namespace sepal {
namespace {

class SetClock final : public ReadClock {
 public:
  explicit SetClock(uint64_t now) : now_(now) {}
  uint64_t NowMillis() override { return ++asked, now_; }
  int asked = 0;

 private:
  const uint64_t now_;
};

KeyEntry ExpiringAt(uint64_t sequence, uint64_t expiry, std::string_view value) {
  return VersionOf(sequence, ValueKind::kExpiringPut, EncodeExpiringValue(expiry, value));
}

const std::shared_ptr<const MergeOperator> kJoin = MergeOperators::Append(",");

std::optional<std::string> SeenAt(const KeyEntries& versions, uint64_t visible, uint64_t now) {
  SetClock clock(now);
  return SeenAt(versions, visible, *kJoin, &clock);
}

KeyEntries KeptOf(const KeyEntries& in, RetentionOptions options, RetentionCounts* counts = nullptr) {
  Retention retention(std::move(options));
  KeyEntries out;
  const auto emit = [&](const InternalKeyView& key, std::string_view value, bool) {
    out.push_back({key.trailer, std::string(value)});
    return absl::OkStatus();
  };
  for (const KeyEntry& v : in) EXPECT_TRUE(retention.Add({"k", v.trailer}, v.payload, emit).ok());
  EXPECT_TRUE(retention.Finish(emit).ok());
  EXPECT_EQ(retention.counts().entries_in, in.size());
  EXPECT_EQ(retention.counts().entries_out, out.size());
  if (counts != nullptr) *counts = retention.counts();
  return out;
}

std::string TextOf(const KeyEntries& versions) {
  std::string text;
  for (const KeyEntry& v : versions) {
    text += (text.empty() ? "" : " ") + std::to_string(TrailerSequence(v.trailer).value()) + ":" +
            std::string(Name(TrailerKind(v.trailer)));
  }
  return text;
}

TEST(ExpiryTest, AnExpiringPutIsAValueBeforeItsTimeAndAbsentFromThenOn) {
  const KeyEntry put = ExpiringAt(3, 100, "v");
  EXPECT_EQ(MeaningOf(put.trailer), Meaning::kExpiring);
  for (const auto& [now, meaning] :
       {std::pair(99, Meaning::kValue), {100, Meaning::kAbsent}, {101, Meaning::kAbsent}}) {
    SetClock clock(static_cast<uint64_t>(now));
    std::string_view payload = put.payload;
    EXPECT_EQ(MeaningNow(put.trailer, &payload, &clock), meaning) << now;
    if (meaning == Meaning::kValue) {
      EXPECT_EQ(payload, "v");
    }
  }
}

TEST(ExpiryTest, TheClockIsAskedOnlyForWhatExpires) {
  SetClock clock(0);
  for (const ValueKind kind : {ValueKind::kPut, ValueKind::kDelete, ValueKind::kSingleDelete, ValueKind::kMerge}) {
    std::string_view payload = "v";
    MeaningNow(PackTrailer(SequenceNumber(1), kind), &payload, &clock);
  }
  EXPECT_EQ(clock.asked, 0);
}

TEST(ExpiryTest, AnAbsenceHidesWhatIsOlder) {
  const KeyEntries versions = {ExpiringAt(3, 100, "new"), VersionOf(2, ValueKind::kPut, "old")};
  EXPECT_EQ(SeenAt(versions, 9, 99), "new");
  EXPECT_EQ(SeenAt(versions, 9, 100), std::nullopt);
  EXPECT_EQ(SeenAt(versions, 2, 100), "old") << "which came later";
}

TEST(ExpiryTest, OperandsOverAnExpiredValueBeginFromNothing) {
  const KeyEntries versions = {VersionOf(4, ValueKind::kMerge, "b"), ExpiringAt(3, 100, "a"),
                               VersionOf(2, ValueKind::kPut, "old")};
  EXPECT_EQ(SeenAt(versions, 9, 99), "a,b");
  EXPECT_EQ(SeenAt(versions, 9, 100), "b");
}

TEST(ExpiryTest, WhatHasExpiredByTheJobsTimeBecomesADeletion) {
  const KeyEntries in = {ExpiringAt(3, 100, "new"), VersionOf(2, ValueKind::kPut, "old")};
  const RetentionOptions at_99{.snapshots = {SequenceNumber(9)}, .expired_through_millis = 99};
  EXPECT_EQ(TextOf(KeptOf(in, at_99)), "3:expiring put");
  const RetentionOptions at_100{.snapshots = {SequenceNumber(9)}, .expired_through_millis = 100};
  RetentionCounts counts;
  EXPECT_EQ(TextOf(KeptOf(in, at_100, &counts)), "3:delete") << "the older one may lie deeper too";
  EXPECT_EQ(counts.expired, 1);
  const RetentionOptions last{.snapshots = {SequenceNumber(9)}, .bottommost = true, .expired_through_millis = 100};
  EXPECT_EQ(TextOf(KeptOf(in, last)), "");
}

TEST(ExpiryTest, OneWithSequenceNumberZeroGoesWithoutADeletion) {
  const KeyEntries in = {ExpiringAt(0, 100, "v")};
  EXPECT_EQ(TextOf(KeptOf(in, {.snapshots = {SequenceNumber(9)}, .expired_through_millis = 100})), "");
  EXPECT_EQ(TextOf(KeptOf(in, {.snapshots = {SequenceNumber(9)}, .expired_through_millis = 99})), "0:expiring put");
}

TEST(ExpiryTest, NothingIsFoldedIntoAValueThatExpires) {
  const KeyEntries in = {VersionOf(4, ValueKind::kMerge, "b"), ExpiringAt(3, 100, "a")};
  const RetentionOptions before{
      .snapshots = {SequenceNumber(9)}, .bottommost = true, .expired_through_millis = 99, .merge = kJoin.get()};
  const KeyEntries kept = KeptOf(in, before);
  EXPECT_EQ(SeenAt(kept, 9, 99), "a,b");
  EXPECT_EQ(SeenAt(kept, 9, 100), "b") << "whenever a compaction ran";
  RetentionOptions after = before;
  after.expired_through_millis = 100;
  EXPECT_EQ(TextOf(KeptOf(in, after)), "0:put");
  EXPECT_EQ(TextOf(KeptOf(kept, after)), "0:put");
}

// All kinds in random order, with random snapshots and times, retained twice at times that go forward: no view of any
// snapshot changes at any time from the job's on, nor before it unless something had expired.
TEST(ExpiryTest, NoViewChangesInAnyHistoryAtAnyTime) {
  Random random(12);
  uint64_t removed = 0;
  for (int round = 0; round < 20000; ++round) {
    KeyEntries in;
    const uint64_t count = 1 + random.Uniform(7);
    for (uint64_t sequence = count; sequence > 0; --sequence) {
      const std::string name(1, static_cast<char>('a' + sequence));
      const uint64_t kind = random.Uniform(5);
      in.push_back(kind == 0   ? VersionOf(sequence, ValueKind::kPut, name)
                   : kind == 1 ? VersionOf(sequence, ValueKind::kDelete, "")
                   : kind == 2 ? VersionOf(sequence, ValueKind::kMerge, name)
                               : ExpiringAt(sequence, 1 + random.Uniform(4), name));
    }
    RetentionOptions first{.bottommost = random.OneIn(2),
                           .expired_through_millis = random.Uniform(5),
                           .merge = random.OneIn(4) ? nullptr : kJoin.get()};
    for (uint64_t s = 1; s < count; ++s) {
      if (random.OneIn(3)) first.snapshots.push_back(SequenceNumber(s));
    }
    first.snapshots.push_back(SequenceNumber(count));
    RetentionOptions second = first;
    second.bottommost = true;
    second.expired_through_millis += random.Uniform(3);
    RetentionCounts counts;
    const KeyEntries out = KeptOf(in, first, &counts);
    removed += counts.expired;
    const KeyEntries again = KeptOf(out, second);
    for (const SequenceNumber s : first.snapshots) {
      for (uint64_t now = first.expired_through_millis; now < 8; ++now) {
        const auto expected = SeenAt(in, s.value(), now);
        ASSERT_EQ(SeenAt(out, s.value(), now), expected)
            << TextOf(in) << " at " << s.value() << ", time " << now << ", became " << TextOf(out);
        if (now < second.expired_through_millis) continue;
        ASSERT_EQ(SeenAt(again, s.value(), now), expected)
            << TextOf(out) << " at " << s.value() << ", time " << now << ", became " << TextOf(again);
      }
    }
  }
  EXPECT_GT(removed, 1000);
}

constexpr uint64_t kAnHour = RemovalTime::kMostAheadMillis;
constexpr uint64_t kTenMinutes = RemovalTime::kAgreeMillis;

TEST(RemovalTimeTest, AClockThatKeepsPaceIsBelieved) {
  RemovalTime removals(1000, {1000, 50});
  for (uint64_t passed = 0; passed < 10 * kAnHour; passed += kTenMinutes / 3) {
    EXPECT_EQ(removals.At({1000 + passed, 50 + passed}), 1000 + passed);
  }
}

TEST(RemovalTimeTest, AJumpForwardIsBelievedForAnHourUntilItHasStoodForTenMinutes) {
  RemovalTime removals(1000, {1000, 0});
  const uint64_t years = 10'000 * kAnHour;
  EXPECT_EQ(removals.At({1000 + years, 1}), 1001 + kAnHour);
  EXPECT_EQ(removals.At({1000 + years + kTenMinutes - 1, kTenMinutes}), 1000 + kTenMinutes + kAnHour);
  EXPECT_EQ(removals.At({1000 + years + kTenMinutes, kTenMinutes + 1}), 1000 + years + kTenMinutes);
}

TEST(RemovalTimeTest, AClockThatIsSetRightInTimeDestroysNothing) {
  RemovalTime removals(1000, {1000, 0});
  const uint64_t years = 10'000 * kAnHour;
  removals.At({1000 + years, 1});
  removals.At({1000 + years + kTenMinutes / 2, kTenMinutes / 2});
  EXPECT_EQ(removals.At({1000 + kTenMinutes, kTenMinutes}), 1000 + kTenMinutes) << "set right";
  EXPECT_EQ(removals.At({1000 + years, kTenMinutes + 5}), 1005 + kTenMinutes + kAnHour) << "and wrong again";
}

TEST(RemovalTimeTest, AClockThatGoesBackRemovesLess) {
  RemovalTime removals(100'000, {100'000, 0});
  EXPECT_EQ(removals.At({500, 10}), 500);
  EXPECT_EQ(removals.At({100'020, 20}), 100'020);
}

TEST(RemovalTimeTest, AfterALongStopTenMinutesPassFirst) {
  RemovalTime removals(1000, {1000 + 100 * kAnHour, 0});
  EXPECT_EQ(removals.At({1000 + 100 * kAnHour, 0}), 1000 + kAnHour);
  EXPECT_EQ(removals.At({1000 + 100 * kAnHour + kTenMinutes, kTenMinutes}), 1000 + 100 * kAnHour + kTenMinutes);
}

// Every course of five readings over some steps of both clocks: never beyond the wall clock, and never more than an
// hour beyond a line from a time that was right, or at which both clocks had agreed for ten minutes.
TEST(RemovalTimeTest, NoCourseOfTheClocksGoesBeyondWhatWasAgreed) {
  const int64_t wall_steps[] = {-static_cast<int64_t>(kAnHour), 0, 1, static_cast<int64_t>(kTenMinutes),
                                static_cast<int64_t>(3 * kAnHour)};
  const uint64_t monotonic_steps[] = {0, 1, kTenMinutes};
  constexpr int kSteps = 15;
  for (int course = 0; course < kSteps * kSteps * kSteps * kSteps * kSteps; ++course) {
    RemovalTime::Clocks now{10 * kAnHour, 0};
    RemovalTime removals(now.wall_millis, now);
    // Where lines may begin; the farthest counts.
    std::vector<RemovalTime::Clocks> right = {now};
    std::vector<RemovalTime::Clocks> seen = {now};
    int rest = course;
    for (int i = 0; i < 5; ++i, rest /= kSteps) {
      now.wall_millis += static_cast<uint64_t>(wall_steps[rest % 5]);
      now.monotonic_millis += monotonic_steps[rest % kSteps / 5];
      const uint64_t at = removals.At(now);
      for (const RemovalTime::Clocks& before : seen) {
        const uint64_t passed = now.monotonic_millis - before.monotonic_millis;
        if (passed >= kTenMinutes && now.wall_millis - before.wall_millis - passed + RemovalTime::kToleranceMillis <=
                                         2 * RemovalTime::kToleranceMillis) {
          right.push_back(now);
        }
      }
      seen.push_back(now);
      ASSERT_LE(at, now.wall_millis);
      uint64_t most = 0;
      for (const RemovalTime::Clocks& r : right) {
        most = std::max(most, r.wall_millis + (now.monotonic_millis - r.monotonic_millis) + kAnHour);
      }
      ASSERT_LE(at, most) << course;
    }
  }
}

}  // namespace
}  // namespace sepal

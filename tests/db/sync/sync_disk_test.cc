// Syncs on disks that are full, and of what merges and range deletes have left.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "db/sync/sync_session.h"
#include "sepal/db.h"
#include "sepal/merge_operator.h"
#include "tests/db/sync/sync_world.h"
#include "util/base/random.h"

namespace sepal {
namespace {

using ::testing::HasSubstr;

constexpr size_t kSmallMemtable = size_t{64} << 10;

// Enough that small memtables are flushed on the way.
void FillLarge(uint64_t seed, SyncDatabase* a, SyncDatabase* b) {
  Random random(seed);
  for (uint64_t i = 0; i < 250; ++i) {
    const std::string value(400 + random.Uniform(400), static_cast<char>('a' + random.Uniform(26)));
    const uint64_t lot = random.Uniform(4);
    if (lot != 0) a->Put({{SyncKey(i), value}});
    if (lot != 1) b->Put({{SyncKey(i), lot == 2 ? value + "b" : value}});
  }
}

void ExpectPartOf(const Contents& part, const Contents& of_a, const Contents& of_b) {
  for (const auto& [key, value] : part) {
    const auto in_a = of_a.find(key), in_b = of_b.find(key);
    EXPECT_TRUE((in_a != of_a.end() && in_a->second == value) || (in_b != of_b.end() && in_b->second == value)) << key;
  }
}

// The disk of one side is full from its `calls`-th change in the sync on. Returns whether that was before the end.
bool SyncOnFullDisk(bool of_a, Fault fault, uint64_t calls) {
  SyncDatabase a({}, kSmallMemtable), b({}, kSmallMemtable);
  FillLarge(7, &a, &b);
  const Contents of_a_before = a.All(), of_b_before = b.All();
  Contents both = of_a_before;
  both.insert(of_b_before.begin(), of_b_before.end());
  SyncDatabase& full = of_a ? a : b;
  const SyncTuning tuning{.entries_of_range = 16, .batch_bytes = 4000};
  full.faults().Inject({.fault = fault, .mutations_only = true, .skip = calls, .sticky = true});
  const Synced failed = RunBoth(&a, &b, ConflictPolicy::kOurs, tuning, 1);
  const bool was_full = full.faults().FaultCount() > 0;
  EXPECT_TRUE(was_full || (failed.report.ok() && failed.served.ok())) << failed.report.status();
  if (!failed.report.ok()) {
    // Either side is told of the disk.
    EXPECT_THAT(failed.report.status().ToString(), HasSubstr("injected"));
    EXPECT_THAT(failed.served.ToString(), HasSubstr("injected"));
  }
  full.faults().Clear();
  full.Reopen();
  EXPECT_TRUE(full.db()->VerifyChecksums().ok());
  for (SyncDatabase* side : {&a, &b}) ExpectPartOf(side->All(), of_a_before, of_b_before);
  for (const auto& [key, value] : of_a_before) EXPECT_EQ(a.db()->Get(key).value(), value);
  for (const auto& [key, value] : of_b_before) EXPECT_TRUE(b.db()->Get(key).ok());
  const Synced again = RunBoth(&a, &b, ConflictPolicy::kOurs, tuning, 2);
  EXPECT_TRUE(again.report.ok()) << again.report.status();
  EXPECT_EQ(a.All(), both);
  EXPECT_EQ(b.All(), both);
  return was_full;
}

TEST(SyncDiskTest, AFullDiskOnEitherSideLeavesBothWholeAndItCanBeRunAgain) {
  for (const bool of_a : {false, true}) {
    uint64_t times = 0;
    for (uint64_t calls = 0;; calls += 1 + calls / 3, ++times) {
      if (!SyncOnFullDisk(of_a, times % 2 == 0 ? Fault::kNoSpace : Fault::kShortWrite, calls)) break;
      ASSERT_FALSE(::testing::Test::HasFailure()) << "full after " << calls << " calls, of_a " << of_a;
    }
    EXPECT_GT(times, 5u);
  }
}

TEST(SyncDiskTest, MergesArriveAsWhatTheyAmountTo) {
  const ColumnFamilyOptions adding{.merge_operator = MergeOperators::Add64()};
  SyncDatabase a(adding), b(adding);
  const auto number = [](int64_t value) { return MergeOperators::EncodeInt64(value); };
  for (const char* const key : {"both", "ours", "folded"}) {
    ASSERT_TRUE(a.db()->Put(key, number(5)).ok());
    ASSERT_TRUE(a.db()->Merge(key, number(2)).ok());
  }
  ASSERT_TRUE(a.db()->Flush().ok());
  ASSERT_TRUE(a.db()->Merge("folded", number(10)).ok());
  // The same value, made in another way: no conflict.
  ASSERT_TRUE(b.db()->Merge("both", number(7)).ok());
  ASSERT_TRUE(b.db()->Merge("theirs", number(3)).ok());
  ASSERT_TRUE(b.db()->Merge("theirs", number(1)).ok());
  ASSERT_TRUE(b.db()->Merge("folded", number(1)).ok());
  const Synced synced = RunBoth(&a, &b, ConflictPolicy::kOurs);
  ASSERT_TRUE(synced.report.ok()) << synced.report.status();
  EXPECT_EQ(synced.report->overwritten_there, 1u);
  const Contents expected = {{"both", number(7)}, {"folded", number(17)}, {"ours", number(7)}, {"theirs", number(4)}};
  EXPECT_EQ(a.All(), expected);
  EXPECT_EQ(b.All(), expected);
  // Operands go on from what came.
  ASSERT_TRUE(b.db()->Merge("ours", number(1)).ok());
  EXPECT_EQ(b.db()->Get("ours").value(), number(8));
}

TEST(SyncDiskTest, RangeDeletesHideWhatTheyHidAndNothingThatComes) {
  for (const bool flushed : {false, true}) {
    SyncDatabase a, b;
    for (uint64_t i = 0; i < 100; ++i) {
      ASSERT_TRUE(a.db()->Put(SyncKey(i), "v").ok());
      if (i % 10 == 0) {
        ASSERT_TRUE(b.db()->Put(SyncKey(i), "v").ok());
      }
    }
    if (flushed) {
      ASSERT_TRUE(a.db()->Flush().ok());
    }
    ASSERT_TRUE(a.db()->DeleteRange(SyncKey(20), SyncKey(60)).ok());
    ASSERT_TRUE(b.db()->DeleteRange(SyncKey(0), SyncKey(30)).ok());
    ASSERT_TRUE(a.db()->Put(SyncKey(45), "again").ok());
    if (flushed) {
      ASSERT_TRUE(b.db()->Flush().ok());
    }
    Contents both = a.All();
    const Contents of_b = b.All();
    both.insert(of_b.begin(), of_b.end());
    EXPECT_FALSE(both.contains(SyncKey(20)));  // deleted on both sides
    EXPECT_TRUE(both.contains(SyncKey(30)) && both.contains(SyncKey(10)));
    const Synced synced = RunBoth(&a, &b);
    ASSERT_TRUE(synced.report.ok()) << synced.report.status();
    EXPECT_TRUE(synced.report->conflicts.empty());
    EXPECT_EQ(a.All(), both);
    EXPECT_EQ(b.All(), both);
    for (SyncDatabase* side : {&a, &b}) {
      side->Reopen();
      EXPECT_EQ(side->All(), both);
    }
  }
}

}  // namespace
}  // namespace sepal

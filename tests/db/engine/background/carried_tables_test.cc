// What overlaps nothing is not written again: tables of flushes that end between the ranges of writers, moves into a
// run's gaps, and tables that travel past a merge.
#include <gtest/gtest.h>

#include <map>

#include "absl/strings/str_format.h"
#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"

namespace sepal {
namespace {

class CarriedTablesTest : public EngineTest {
 protected:
  void Put(const std::string& key, int update) {
    std::string value = absl::StrFormat("update %d ", update);
    while (value.size() < 60) value.push_back(static_cast<char>('!' + random_.Uniform(90)));  // does not compress
    ASSERT_OK(db()->Put(key, value));
    newest_[key] = value;
  }
  // Puts 40 keys into each range by turns, as writers of their own would.
  void Append(int round, int ranges, bool overwrite = false) {
    for (int i = round * 40; i < round * 40 + 40; ++i) {
      for (int range = 0; range < ranges; ++range) Put(absl::StrFormat("range%d:%06d", range, i), 0);
      if (overwrite) Put(absl::StrFormat("tail%03d", random_.Uniform(100)), i);
    }
  }
  uint64_t Count(Ticker ticker) { return db()->statistics().Get(ticker); }
  void ExpectEverything() {
    EXPECT_OK(db()->VerifyChecksums());
    const auto all = ReadAll(db()->NewIterator().get());
    ASSERT_EQ(all.size(), newest_.size());
    size_t i = 0;
    for (const auto& [key, value] : newest_) {
      EXPECT_EQ(all[i].first, key);
      EXPECT_EQ(all[i].second, value);
      ++i;
    }
    for (const auto& [key, value] : newest_) ASSERT_EQ(db()->Get(key).value(), value) << key;
  }

  Random random_{1};
  std::map<std::string, std::string> newest_;
};

TEST_F(CarriedTablesTest, RangesThatAreWrittenInOrderAreWrittenToTablesOnce) {
  for (int round = 0; round < 40; ++round) {
    Append(round, 3);
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->WaitForBackgroundWork());
  }
  EXPECT_GE(Count(Ticker::kTrivialMoves), 10u);
  EXPECT_EQ(Count(Ticker::kCompactions), 0u);
  EXPECT_EQ(Count(Ticker::kCompactionWriteBytes), 0u);
  ExpectEverything();
  ASSERT_OK(database.Reopen());
  ExpectEverything();
}

TEST_F(CarriedTablesTest, WhatComesToALevelOfAnotherCodecIsWrittenAnew) {
  for (const CompressionKind below : {CompressionKind::kNone, CompressionKind::kZstd}) {
    database.options.family.compression_per_level = {CompressionKind::kNone, below};
    auto family = db()->CreateColumnFamily(below == CompressionKind::kNone ? "none" : "zstd", database.options.family);
    ASSERT_OK(family.status());
    const uint64_t moved = Count(Ticker::kTrivialMoves);
    const uint64_t merged = Count(Ticker::kCompactions);
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 100; ++i) {
        ASSERT_OK(db()->Put(**family, NumberedKey(static_cast<uint64_t>(round * 100 + i)), std::string(60, 'v')));
      }
      ASSERT_OK(db()->Flush(**family));
      ASSERT_OK(db()->WaitForBackgroundWork());
    }
    const uint64_t bytes = NumberProperty(db(), "sepal.total-table-bytes", family->get());
    if (below == CompressionKind::kNone) {
      EXPECT_GT(Count(Ticker::kTrivialMoves), moved);
      EXPECT_EQ(Count(Ticker::kCompactions), merged);
      EXPECT_GT(bytes, 2000u * 60);
    } else {
      EXPECT_GT(Count(Ticker::kCompactions), merged);
      EXPECT_LT(bytes, 2000u * 60);
    }
  }
}

TEST_F(CarriedTablesTest, WhatIsAppendedTravelsPastMergesOfWhatIsOverwritten) {
  for (int round = 0; round < 60; ++round) {
    Append(round, 2, /*overwrite=*/true);
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->WaitForBackgroundWork());
  }
  EXPECT_GE(Count(Ticker::kCompactions), 10u);
  // Of the 80 entries that each round appends none is read. The 40 others meet 100 at most. (Where
  // the last key of a range is followed by a newer one, by chance, the flush does not see its end.)
  EXPECT_LT(Count(Ticker::kCompactionEntriesIn), 60u * (40 + 100 + 20));
  ExpectEverything();
  ASSERT_OK(database.Reopen());
  ExpectEverything();
  // A manual compaction leaves one run, whoever carried what.
  ASSERT_OK(db()->CompactRange());
  ExpectEverything();
}

}  // namespace
}  // namespace sepal

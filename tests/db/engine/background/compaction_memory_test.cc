// What a compaction takes of memory to read ahead, however many runs and threads it has.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/db/engine/engine_fixture.h"

namespace sepal {
namespace {

constexpr size_t kLimit = size_t{8} << 20;

TEST(CompactionMemoryTest, ReadAheadStaysWithinAPartOfTheLimit) {
  TestDatabase database;
  database.options.memory_limit = kLimit;
  database.options.background_threads = 4;
  database.options.family.compression = CompressionKind::kNone;
  database.tuning = Tuning::From(database.options);
  ASSERT_OK(database.Open());
  DB* const db = database.db.get();
  constexpr uint64_t kKeysOfRun = 1400;
  constexpr uint64_t kRuns = 24;
  for (uint64_t run = 0; run < kRuns; ++run) {
    for (uint64_t i = 0; i < kKeysOfRun; ++i) {
      ASSERT_OK(db->Put(NumberedKey(i * kRuns + run), std::string(1000, static_cast<char>('a' + run))));
    }
    ASSERT_OK(db->Flush());
  }
  ASSERT_GE(NumberProperty(db, "sepal.num-runs"), 8u);
  uint64_t most = 0;
  ASSERT_OK(db->CompactRange({.progress = [&](const CompactionProgress&) {
    most = std::max(most, database.Metrics().MemoryBytes(MemoryPart::kCompaction));
    return true;
  }}));
  EXPECT_GT(most, 0u);
  EXPECT_LE(most, kLimit / 4);
  EXPECT_EQ(ReadAll(db->NewIterator().get()).size(), kKeysOfRun * kRuns);
}

}  // namespace
}  // namespace sepal

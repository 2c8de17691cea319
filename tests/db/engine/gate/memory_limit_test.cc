// What a database takes of memory, beside its limit.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "tests/db/engine/engine_fixture.h"
#include "util/base/random.h"
#include "util/memory/block_heap.h"

// Under AddressSanitizer blocks come from malloc: there are no chunks to empty.
#if !defined(SEPAL_ADDRESS_SANITIZER)

namespace sepal {
namespace {

class MemoryLimitTest : public EngineTest {
 protected:
  static constexpr size_t kLimit = size_t{64} << 20;
  static constexpr uint64_t kKeys = 90'000;

  void SetUp() override {
    database.options.memory_limit = kLimit;
    database.options.family.block_bytes = 4096;
    database.options.family.compression = CompressionKind::kNone;
    database.tuning = Tuning();
    database.tuning.drains_heap_in_simulation = true;
    database.tuning.memtable_bytes = size_t{8} << 20;
    database.tuning.memtable_limit_bytes = size_t{16} << 20;
    database.tuning.log_limit_bytes = uint64_t{16} << 20;
    database.tuning.table_bytes = size_t{8} << 20;
    database.tuning.copy_value_bytes = 1000;  // so that no value pins a block
    EngineTest::SetUp();
  }
  // Memtables and the chunks that cached blocks lie in: those that the limit is shared by, as the system gives them.
  size_t Held() {
    return BlockHeap::OfProcess().MappedBytes() - mapped_before + NumberProperty(db(), "sepal.memtable-bytes");
  }

  void FillTheCacheByReads() {
    Fill(0, kKeys, 1000);
    ASSERT_OK(db()->Flush());
    ASSERT_OK(db()->WaitForBackgroundWork());
    PinnedValue value;
    for (uint64_t i = 0; i < kKeys; ++i) ASSERT_OK(db()->Get(NumberedKey(random.Uniform(kKeys)), value));
  }

  Random random{1};
  const size_t mapped_before = BlockHeap::OfProcess().MappedBytes();
};

TEST_F(MemoryLimitTest, MemtablesThatGrowBesideAFullCacheTakeItsMemoryAndNoMore) {
  ASSERT_NO_FATAL_FAILURE(FillTheCacheByReads());
  ASSERT_GT(NumberProperty(db(), "sepal.block-cache-bytes"), kLimit * 3 / 4);
  EXPECT_LE(Held(), kLimit * 11 / 10);
  size_t most = 0;
  size_t most_memtables = 0;
  for (int i = 0; i < 60'000; ++i) {
    ASSERT_OK(db()->Put(NumberedKey(random.Uniform(kKeys)), std::string(1000, static_cast<char>('a' + i % 26))));
    if (i % 50 != 0) continue;
    database.world->SleepMicros(1000);  // tasks go one block further whenever a writer waits
    most = std::max(most, Held());
    most_memtables = std::max<size_t>(most_memtables, NumberProperty(db(), "sepal.memtable-bytes"));
  }
  RecordProperty("most_percent", static_cast<int>(100 * most / kLimit));
  EXPECT_GE(most_memtables, kLimit / 8);
  EXPECT_LE(most, kLimit * 11 / 10);
}

// It evicts several times what the cache holds.
TEST_F(MemoryLimitTest, OneMultiGetOfAllKeysStaysWithinTheLimit) {
  ASSERT_NO_FATAL_FAILURE(FillTheCacheByReads());
  std::vector<std::string> keys;
  for (uint64_t i = 0; i < kKeys; ++i) keys.push_back(NumberedKey(i));
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(1));
  const std::vector<std::string_view> views(keys.begin(), keys.end());
  std::vector<PinnedValue> values(kKeys);
  std::vector<absl::Status> statuses(kKeys);
  db()->MultiGet(views, values, statuses).IgnoreError();
  // Chunks stay as they are until the cache shrinks.
  RecordProperty("most_percent", static_cast<int>(100 * Held() / kLimit));
  EXPECT_LE(Held(), kLimit * 11 / 10);
  for (uint64_t i = 0; i < kKeys; ++i) {
    ASSERT_OK(statuses[i]);
    ASSERT_EQ(keys[i], NumberedKey(std::stoul(std::string(values[i].value()))));
  }
}

// Nothing is written or put into the cache meanwhile.
TEST_F(MemoryLimitTest, TheCacheGivesWayToLargeValuesThatAreHeld) {
  constexpr uint64_t kLarge = 100;
  const auto large_key = [](uint64_t i) { return "large" + NumberedKey(i); };
  for (uint64_t i = 0; i < kLarge; ++i) ASSERT_OK(db()->Put(large_key(i), std::string(300'000, 'v')));
  ASSERT_NO_FATAL_FAILURE(FillTheCacheByReads());
  // So that their leaf pages are there.
  for (uint64_t i = 0; i < kLarge; ++i) ASSERT_OK(db()->Get(large_key(i)).status());
  ASSERT_GT(NumberProperty(db(), "sepal.block-cache-bytes"), kLimit * 3 / 4);
  std::vector<PinnedValue> held(kLarge);
  for (uint64_t i = 0; i < kLarge; ++i) ASSERT_OK(db()->Get(large_key(i), held[i]));
  database.world->SleepMicros(1000);
  EXPECT_LE(NumberProperty(db(), "sepal.block-cache-bytes"), kLimit * 11 / 10 - kLarge * 300'000);
}

// No job ends while nothing is flushed.
TEST_F(MemoryLimitTest, TheCacheGivesWayWhileMemtablesGrowAndNotOnlyOnceAJobEnds) {
  ASSERT_NO_FATAL_FAILURE(FillTheCacheByReads());
  ASSERT_OK(db()->PauseBackgroundWork());
  const uint64_t before = NumberProperty(db(), "sepal.block-cache-bytes");
  while (NumberProperty(db(), "sepal.memtable-bytes") < kLimit / 6) {
    ASSERT_OK(db()->Put(NumberedKey(random.Uniform(kKeys)), std::string(1000, 'x')));
  }
  database.world->SleepMicros(1000);
  EXPECT_LE(NumberProperty(db(), "sepal.block-cache-bytes"), before - kLimit / 12);
  EXPECT_LE(Held(), kLimit * 11 / 10);
  ASSERT_OK(db()->ContinueBackgroundWork());
}

}  // namespace
}  // namespace sepal

#endif

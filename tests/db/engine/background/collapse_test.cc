// What merges left in the cache on small pages comes onto huge ones once it is read (util/memory/block_heap.h).
#include <gtest/gtest.h>

#include <string>

#include "tests/db/engine/engine_fixture.h"
#include "tests/util/memory/dear_huge_pages.h"
#include "util/memory/block_heap.h"
#include "util/thread/sync.h"

namespace sepal {
namespace {

// On real threads: in a simulation nothing is collapsed.
TEST(CollapseTest, ReadersHaveWhatMergesLeftInTheCacheCollapsed) {
  const DearHugePages dear;
  TestDatabase database(Threads::kReal);
  database.options.family.block_bytes = 4096;
  database.options.memory_limit = size_t{64} << 20;
  // Few leaf pages, and so small roots: those come with the opening of tables, on huge pages.
  database.tuning.blocks_per_leaf_page = 64;
  database.tuning.table_bytes = size_t{4} << 20;
  database.tuning.memtable_bytes = size_t{2} << 20;
  database.tuning.memtable_limit_bytes = size_t{4} << 20;
  ASSERT_OK(database.Open());
  // Not in order, in which tables would be moved and not merged.
  for (uint64_t i = 0; i < 10'000; ++i) {
    ASSERT_OK(database.db->Put(NumberedKey(i * 7919 % 10'000), std::string(2'000, 'v')));
  }
  ASSERT_OK(database.db->CompactRange());
  ASSERT_OK(database.db->WaitForBackgroundWork());
  BlockHeap& heap = BlockHeap::OfProcess();
#if !defined(SEPAL_ADDRESS_SANITIZER)  // there blocks come from malloc
  ASSERT_TRUE(heap.HasSmallChunks());
#endif
  const auto read_all = [&] {
    for (uint64_t i = 0; i < 10'000; ++i)
      ASSERT_EQ(database.db->Get(NumberedKey(i)).value_or("?"), std::string(2'000, 'v'));
  };
  read_all();
  for (int tries = 0; tries < 1'000 && heap.HasSmallChunks(); ++tries) Thread::SleepMicros(10'000);
  EXPECT_FALSE(heap.HasSmallChunks());
  read_all();
}

}  // namespace
}  // namespace sepal

#include "util/memory/ready_pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/util/thread/held_executor.h"
#include "util/memory/arena.h"

namespace sepal {
namespace {

constexpr size_t kChunk = MappedMemory::kHugePageBytes;

bool IsZero(const LargeBuffer& memory) {
  return std::all_of(memory.data(), memory.data() + memory.size(), [](char c) { return c == 0; });
}

std::vector<LargeBuffer> TakeChunks(ReadyPages* pool, int n) {
  std::vector<LargeBuffer> chunks;
  for (int i = 0; i < n; ++i) chunks.push_back(pool->Take(kChunk));
  return chunks;
}

TEST(ReadyPagesTest, WhatWasGivenBackComesAgainAndIsChargedInBetween) {
  MemoryBudget budget(kChunk * 10);
  ReadyPages pool(kChunk * 2, &budget, MemoryPart::kMemtables);
  std::vector<LargeBuffer> chunks = TakeChunks(&pool, 1);
  ASSERT_EQ(chunks[0].size(), kChunk);
  char* const memory = chunks[0].data();
  std::memset(memory, 'x', kChunk);
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), 0u);
  pool.Give(std::move(chunks));
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), kChunk);
  chunks = TakeChunks(&pool, 1);
  EXPECT_EQ(chunks[0].data(), memory);
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), 0u);
}

TEST(ReadyPagesTest, ReadyPagesKeepNoMoreThanTheyMayAndNothingOnceCleared) {
  MemoryBudget budget(kChunk * 10);
  ReadyPages pool(kChunk * 2 + 1, &budget, MemoryPart::kMemtables);
  pool.Give(TakeChunks(&pool, 5));
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), kChunk * 2);
  pool.Clear();
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), 0u);
}

TEST(ReadyPagesTest, OnePieceIsMadeReadyWhereNoneIsThere) {
  MemoryBudget budget(kChunk * 10);
  HeldExecutor executor;
  ReadyPages pool(kChunk * 4, &budget, MemoryPart::kMemtables);
  TaskGroup tasks(&executor, Executor::Priority::kFlush);
  pool.PrepareBy(&tasks);
  pool.Prepare(kChunk);
  pool.Prepare(kChunk);
  EXPECT_EQ(executor.held(), 1u);
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), 0u);
  executor.RunAll();
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), kChunk);
  pool.Prepare(kChunk);
  EXPECT_EQ(executor.held(), 0u) << "one is there";
  std::vector<LargeBuffer> chunks = TakeChunks(&pool, 1);
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), 0u);
  EXPECT_TRUE(IsZero(chunks[0]));
  pool.Prepare(5 * kChunk);
  EXPECT_EQ(executor.held(), 0u) << "more than the pool may keep";
  tasks.Close();
  pool.Prepare(kChunk);
  EXPECT_EQ(executor.held(), 0u);
}

TEST(ReadyPagesTest, TheFirstChunkIsMadeReadyWhileAnArenaGrowsThroughItsLargestPieces) {
  MemoryBudget budget(kChunk * 20);
  HeldExecutor executor;
  ReadyPages pool(kChunk * 8, &budget, MemoryPart::kMemtables);
  TaskGroup tasks(&executor, Executor::Priority::kFlush);
  pool.PrepareBy(&tasks);
  {
    Arena arena(&budget, MemoryPart::kMemtables, &pool);
    while (arena.memory_bytes() < kChunk) std::memset(arena.Allocate(1000), 'x', 1000);
    EXPECT_EQ(executor.held(), 0u) << "it may stay small";
    while (arena.memory_bytes() < kChunk * 3) std::memset(arena.Allocate(1000), 'x', 1000);
    EXPECT_EQ(executor.held(), 1u);
    const size_t grown = arena.memory_bytes();
    executor.RunAll();
    EXPECT_EQ(budget.used(MemoryPart::kMemtables), grown + kChunk);
  }
  tasks.Close();
}

TEST(ReadyPagesTest, APieceComesAgainToWhoAsksForItsSizeAndCountsAsChunksDo) {
  MemoryBudget budget(kChunk * 10);
  ReadyPages pool(kChunk + kChunk / 2, &budget, MemoryPart::kMemtables);
  std::vector<LargeBuffer> pieces;
  pieces.push_back(pool.Take(kChunk / 4));
  pieces.push_back(pool.Take(kChunk / 2));
  char* const quarter = pieces[0].data();
  char* const half = pieces[1].data();
  pieces.push_back(pool.Take(kChunk));
  pool.Give(std::move(pieces));
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), kChunk / 4 + kChunk / 2) << "no room for the chunk as well";
  EXPECT_NE(pool.Take(kChunk / 3).data(), nullptr);
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), kChunk / 4 + kChunk / 2);
  const LargeBuffer second = pool.Take(kChunk / 2);
  EXPECT_EQ(second.data(), half);
  const LargeBuffer first = pool.Take(kChunk / 4);
  EXPECT_EQ(first.data(), quarter);
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), 0u);
}

TEST(ReadyPagesTest, AnArenaGrowsThroughThePiecesOfTheOneBefore) {
  MemoryBudget budget(kChunk * 20);
  ReadyPages pool(kChunk * 8, &budget, MemoryPart::kMemtables);
  const auto grow = [&] {
    Arena arena(&budget, MemoryPart::kMemtables, &pool);
    const size_t pooled = budget.used(MemoryPart::kMemtables);
    while (arena.memory_bytes() < kChunk * 3) std::memset(arena.Allocate(1000), 'x', 1000);
    return budget.used(MemoryPart::kMemtables) - pooled;
  };
  const size_t held = grow();
  EXPECT_GE(held, kChunk * 3);
  EXPECT_LT(grow(), kChunk / 2) << "all but the small chunks at the beginning was there";
}

TEST(ReadyPagesTest, AnArenaGivesItsHugePagesBack) {
  MemoryBudget budget(kChunk * 20);
  ReadyPages pool(kChunk * 8, &budget, MemoryPart::kMemtables);
  size_t held = 0;
  {
    Arena arena(&budget, MemoryPart::kMemtables, &pool);
    while (arena.memory_bytes() < kChunk * 8) std::memset(arena.Allocate(1000), 'x', 1000);
    held = arena.memory_bytes();
    EXPECT_EQ(budget.used(MemoryPart::kMemtables), held);
  }
  const size_t kept = budget.used(MemoryPart::kMemtables);
  EXPECT_GE(kept, kChunk);
  EXPECT_LT(kept, held);
}

// Pieces of zeros, as the index of a memtable asks for. Small ones come from malloc, large ones from the system.
class ZeroedPagesTest : public testing::TestWithParam<size_t> {
 protected:
  static constexpr auto kZero = ReadyPages::Content::kZero;

  ZeroedPagesTest() { pool_.PrepareBy(&tasks_); }
  ~ZeroedPagesTest() override {
    executor_.RunAll();
    tasks_.Close();
    pool_.Clear();
    EXPECT_EQ(Charged(), 0u);
  }
  size_t Bytes() const { return GetParam(); }
  size_t Charged() const { return budget_.used(MemoryPart::kMemtables); }
  LargeBuffer TakeAndUse() {
    LargeBuffer memory = pool_.Take(Bytes(), kZero);
    EXPECT_TRUE(memory.size() == Bytes() && IsZero(memory));
    std::memset(memory.data(), 'x', memory.size());
    return memory;
  }

  MemoryBudget budget_{4 << 20};
  HeldExecutor executor_;
  TaskGroup tasks_{&executor_, Executor::Priority::kFlush};
  ReadyPages pool_{2 * GetParam(), &budget_, MemoryPart::kMemtables};
};

TEST_P(ZeroedPagesTest, WhatWasUsedIsClearedByATaskAndNotForTheCallerThatTakes) {
  LargeBuffer first = TakeAndUse();
  char* const bytes = first.data();
  pool_.Give(std::move(first));
  EXPECT_EQ(Charged(), Bytes());
  const LargeBuffer second = TakeAndUse();
  EXPECT_NE(second.data(), bytes);
  pool_.Prepare(Bytes(), kZero);
  EXPECT_EQ(executor_.held(), 1u);
  executor_.RunAll();
  EXPECT_EQ(Charged(), Bytes());
  EXPECT_EQ(TakeAndUse().data(), bytes);
}

TEST_P(ZeroedPagesTest, WhereNothingWasUsedANewPieceIsMadeReadyOnce) {
  pool_.Prepare(Bytes(), kZero);
  executor_.RunAll();
  pool_.Prepare(Bytes(), kZero);
  EXPECT_EQ(executor_.held(), 0u) << "one is ready";
  EXPECT_EQ(Charged(), Bytes());
  TakeAndUse();
  EXPECT_EQ(Charged(), 0u);
}

TEST_P(ZeroedPagesTest, ATaskThatComesLateHarmsNothing) {
  pool_.Prepare(Bytes(), kZero);
  pool_.Give(TakeAndUse());
  pool_.Clear();
  executor_.RunAll();
  EXPECT_EQ(Charged(), Bytes());
}

TEST_P(ZeroedPagesTest, WithoutTasksNothingIsMadeReady) {
  ReadyPages alone(Bytes(), &budget_, MemoryPart::kMemtables);
  alone.Prepare(Bytes(), kZero);
  EXPECT_EQ(Charged(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Sizes, ZeroedPagesTest, testing::Values(size_t{4} << 10, size_t{512} << 10));

}  // namespace
}  // namespace sepal

#include "util/memory/chunk_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "tests/util/thread/held_executor.h"
#include "util/memory/arena.h"

namespace sepal {
namespace {

constexpr size_t kChunk = MappedMemory::kHugePageBytes;

std::vector<MappedMemory> TakeChunks(ChunkPool* pool, int n) {
  std::vector<MappedMemory> chunks;
  for (int i = 0; i < n; ++i) chunks.push_back(pool->Take());
  return chunks;
}

TEST(ChunkPoolTest, WhatWasGivenBackComesAgainAndIsChargedInBetween) {
  MemoryBudget budget(kChunk * 10);
  ChunkPool pool(kChunk * 2, &budget, MemoryPart::kMemtables);
  std::vector<MappedMemory> chunks = TakeChunks(&pool, 1);
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

TEST(ChunkPoolTest, KeepsNoMoreThanItMayAndNothingOnceCleared) {
  MemoryBudget budget(kChunk * 10);
  ChunkPool pool(kChunk * 2 + 1, &budget, MemoryPart::kMemtables);
  pool.Give(TakeChunks(&pool, 5));
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), kChunk * 2);
  pool.Clear();
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), 0u);
}

TEST(ChunkPoolTest, OneChunkAheadIsMadeReadyWhereTheLastWasTaken) {
  MemoryBudget budget(kChunk * 10);
  HeldExecutor executor;
  ChunkPool pool(kChunk * 4, &budget, MemoryPart::kMemtables);
  TaskGroup tasks(&executor, Executor::Priority::kFlush);
  pool.PrepareBy(&tasks);
  std::vector<MappedMemory> chunks = TakeChunks(&pool, 2);
  EXPECT_EQ(executor.held(), 1u);
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), 0u);
  executor.RunAll();
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), kChunk);
  chunks.push_back(pool.Take());
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), 0u);
  for (size_t i = 0; i < kChunk; i += 4096) ASSERT_EQ(chunks.back().data()[i], 0);
  EXPECT_EQ(executor.held(), 1u);
  // Where there are others, none is made.
  pool.Give(std::move(chunks));
  executor.RunAll();
  chunks = TakeChunks(&pool, 1);
  EXPECT_EQ(executor.held(), 0u);
  tasks.Close();
  pool.Clear();
  chunks = TakeChunks(&pool, 2);
  EXPECT_EQ(executor.held(), 0u);
}

TEST(ChunkPoolTest, TheFirstChunkIsMadeReadyWhileAnArenaGrowsThroughItsLargestPieces) {
  MemoryBudget budget(kChunk * 20);
  HeldExecutor executor;
  ChunkPool pool(kChunk * 8, &budget, MemoryPart::kMemtables);
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

TEST(ChunkPoolTest, APieceComesAgainToWhoAsksForItsSizeAndCountsAsChunksDo) {
  MemoryBudget budget(kChunk * 10);
  ChunkPool pool(kChunk + kChunk / 2, &budget, MemoryPart::kMemtables);
  std::vector<LargeBuffer> pieces;
  pieces.push_back(pool.TakePiece(kChunk / 4));
  pieces.push_back(pool.TakePiece(kChunk / 2));
  char* const quarter = pieces[0].data();
  char* const half = pieces[1].data();
  pool.Give(TakeChunks(&pool, 1), std::move(pieces));
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), kChunk / 4 + kChunk / 2) << "no room for the chunk as well";
  EXPECT_NE(pool.TakePiece(kChunk / 3).data(), nullptr);
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), kChunk / 4 + kChunk / 2);
  const LargeBuffer second = pool.TakePiece(kChunk / 2);
  EXPECT_EQ(second.data(), half);
  const LargeBuffer first = pool.TakePiece(kChunk / 4);
  EXPECT_EQ(first.data(), quarter);
  EXPECT_EQ(budget.used(MemoryPart::kMemtables), 0u);
}

TEST(ChunkPoolTest, AnArenaGrowsThroughThePiecesOfTheOneBefore) {
  MemoryBudget budget(kChunk * 20);
  ChunkPool pool(kChunk * 8, &budget, MemoryPart::kMemtables);
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

TEST(ChunkPoolTest, AnArenaGivesItsHugePagesBack) {
  MemoryBudget budget(kChunk * 20);
  ChunkPool pool(kChunk * 8, &budget, MemoryPart::kMemtables);
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

}  // namespace
}  // namespace sepal

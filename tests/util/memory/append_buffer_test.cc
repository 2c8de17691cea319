#include "util/memory/append_buffer.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace sepal {
namespace {

constexpr size_t kStep = size_t{64} << 10;

TEST(AppendBufferTest, AnAppendBufferKeepsWhatWasAppendedWhileItGrows) {
  MemoryBudget budget(size_t{64} << 20);
  ReadyPages pool(size_t{8} << 20, &budget, MemoryPart::kCompaction);
  for (ReadyPages* const from : {static_cast<ReadyPages*>(nullptr), &pool}) {
    AppendBuffer buffer(from);
    std::string expected;
    for (int i = 0; i < 3000; ++i) {
      const std::string piece(static_cast<size_t>(i) % 300, static_cast<char>('a' + i % 26));
      buffer.Append(piece);
      expected += piece;
    }
    EXPECT_EQ(buffer.view(), expected);
    buffer.DropFront(1000);
    EXPECT_EQ(buffer.view(), expected.substr(1000));
    AppendBuffer moved = std::move(buffer);
    EXPECT_EQ(moved.view(), expected.substr(1000));
  }
}

TEST(AppendBufferTest, AnotherOneOfThePoolHasTheMemoryOfTheLast) {
  MemoryBudget budget(size_t{64} << 20);
  ReadyPages pool(size_t{8} << 20, &budget, MemoryPart::kCompaction);
  const char* memory = nullptr;
  {
    AppendBuffer buffer(&pool);
    memory = buffer.Room(5 * kStep - 100);
    EXPECT_EQ(buffer.capacity(), 5 * kStep);
    EXPECT_EQ(budget.used(MemoryPart::kCompaction), 0u) << "who takes a piece charges it";
  }
  EXPECT_EQ(budget.used(MemoryPart::kCompaction), 5 * kStep);
  AppendBuffer smaller(&pool);
  EXPECT_NE(smaller.Room(1), memory);
  // Of a size that is not the same to the byte.
  AppendBuffer next(&pool);
  EXPECT_EQ(next.Room(4 * kStep + 1), memory);
  EXPECT_EQ(budget.used(MemoryPart::kCompaction), 0u);
}

TEST(AppendBufferTest, WhatAnAppendBufferOutgrowsOrClearsGoesBack) {
  MemoryBudget budget(size_t{64} << 20);
  ReadyPages pool(size_t{8} << 20, &budget, MemoryPart::kCompaction);
  AppendBuffer buffer(&pool);
  buffer.Append(std::string(kStep, 'x'));
  buffer.Append("y");
  EXPECT_EQ(buffer.capacity(), 2 * kStep);
  EXPECT_EQ(budget.used(MemoryPart::kCompaction), kStep);
  buffer.Clear();
  EXPECT_EQ(buffer.capacity(), 2 * kStep);
  buffer.Clear(/*most_kept=*/kStep);
  EXPECT_EQ(buffer.capacity(), 0u);
  EXPECT_EQ(budget.used(MemoryPart::kCompaction), 3 * kStep);
}

}  // namespace
}  // namespace sepal

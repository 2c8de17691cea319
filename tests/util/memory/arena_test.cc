#include "util/memory/arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace sepal {
namespace {

TEST(ArenaTest, PiecesDoNotOverlapAndKeepTheirBytes) {
  Arena arena;
  struct Piece {
    char* data;
    size_t size;
    char fill;
  };
  std::vector<Piece> pieces;
  for (int i = 0; i < 5000; ++i) {
    const size_t size = i % 97 == 0 ? 3000 : static_cast<size_t>(i % 53);
    char* data = i % 3 == 0 ? arena.AllocateAligned(size, 16) : arena.Allocate(size);
    ASSERT_NE(data, nullptr);
    const char fill = static_cast<char>(i);
    std::memset(data, fill, size);
    pieces.push_back({data, size, fill});
  }
  for (const Piece& piece : pieces) {
    for (size_t i = 0; i < piece.size; ++i) ASSERT_EQ(piece.data[i], piece.fill);
  }
}

TEST(ArenaTest, AlignedPiecesAreAligned) {
  Arena arena;
  for (size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    for (size_t size : {0, 1, 7, 100, 5000}) {
      arena.Allocate(3);
      char* piece = arena.AllocateAligned(size, alignment);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(piece) % alignment, 0u);
      std::memset(piece, 1, size);
    }
  }
}

TEST(ArenaTest, PiecesOfNoBytesHaveDistinctAddresses) {
  Arena arena;
  char* first = arena.Allocate(0);
  EXPECT_NE(first, nullptr);
  EXPECT_NE(first, arena.Allocate(0));
}

TEST(ArenaTest, AnEmptyArenaHoldsNothingAndASmallOneLittle) {
  Arena arena;
  EXPECT_EQ(arena.memory_bytes(), 0u);
  size_t asked = 0;
  for (const size_t size : {1, 512, 100, 200}) {
    arena.Allocate(size);
    asked += size;
    EXPECT_LE(arena.memory_bytes(), asked + 80);
  }
}

TEST(ArenaTest, MemoryHeldStaysNearWhatWasAskedFor) {
  Arena arena;
  size_t asked = 0;
  for (int i = 0; i < 200000; ++i) {
    const size_t size = 20 + static_cast<size_t>(i % 120);
    arena.Allocate(size);
    asked += size;
    ASSERT_GE(arena.memory_bytes(), asked);
    ASSERT_LE(arena.memory_bytes(), asked + asked / 3 + 4096);
  }
}

TEST(ArenaTest, ALargePieceDoesNotWasteTheChunkThatItDidNotFit) {
  Arena arena;
  for (int i = 0; i < 1000; ++i) arena.Allocate(8);
  const size_t held = arena.memory_bytes();
  char* before = arena.Allocate(8);
  std::memset(arena.Allocate(1 << 20), 1, 1 << 20);
  EXPECT_EQ(arena.Allocate(8), before + 8);
  EXPECT_LE(arena.memory_bytes(), held + (size_t{1} << 20) + 64);
}

TEST(ArenaTest, CopiesAreEqualAndTheArenasOwn) {
  Arena arena;
  const std::string source = "some bytes";
  const std::string_view copy = arena.Copy(source);
  EXPECT_EQ(copy, source);
  EXPECT_NE(copy.data(), source.data());
  EXPECT_EQ(arena.Copy(""), "");
}

TEST(ArenaTest, TheBudgetIsChargedWhatIsHeldUntilTheArenaGoes) {
  MemoryBudget budget(1 << 20);
  {
    Arena arena(&budget, MemoryPart::kMemtables);
    EXPECT_EQ(budget.used(MemoryPart::kMemtables), 0u);
    for (int i = 0; i < 1000; ++i) arena.Allocate(100);
    EXPECT_EQ(budget.used(MemoryPart::kMemtables), arena.memory_bytes());
    EXPECT_GE(arena.memory_bytes(), 100000u);
  }
  EXPECT_EQ(budget.total(), 0u);
}

}  // namespace
}  // namespace sepal

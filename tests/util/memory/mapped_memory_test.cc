#include "util/memory/mapped_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/util/memory/residency.h"
#include "util/memory/arena.h"

namespace sepal {
namespace {

TEST(MappedMemoryTest, MappedMemoryIsZeroAndWritableFromEndToEnd) {
  for (const size_t size : {size_t{1}, size_t{5000}, MappedMemory::kHugePageBytes - 1, MappedMemory::kHugePageBytes,
                            3 * MappedMemory::kHugePageBytes + 4097}) {
    const MappedMemory memory(size);
    ASSERT_EQ(memory.size(), size);
    EXPECT_TRUE(std::all_of(memory.data(), memory.data() + size, [](char c) { return c == 0; }));
    std::fill(memory.data(), memory.data() + size, 'x');
    EXPECT_EQ(std::count(memory.data(), memory.data() + size, 'x'), static_cast<ptrdiff_t>(size));
  }
}

TEST(MappedMemoryTest, LargeMemoryBeginsAtAHugePage) {
  std::vector<MappedMemory> all;
  for (size_t i = 0; i < 8; ++i) {
    all.emplace_back(MappedMemory::kHugePageBytes + i * 4096);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(all.back().data()) % MappedMemory::kHugePageBytes, 0u);
  }
}

TEST(MappedMemoryTest, MovingMappedMemoryHandsItOn) {
  MappedMemory first(4096);
  char* const data = first.data();
  data[0] = 'a';
  MappedMemory second(std::move(first));
  EXPECT_EQ(second.data(), data);
  EXPECT_EQ(first.data(), nullptr);
  MappedMemory third;
  third = std::move(second);
  EXPECT_EQ(third.data()[0], 'a');
}

TEST(LargeBufferTest, WhatIsLargeGoesBackToTheSystemAtOnce) {
  for (const size_t bytes : {size_t{128} << 10, size_t{300} << 10, size_t{1} << 20, size_t{2} << 20, size_t{5} << 20}) {
    const char* address;
    {
      LargeBuffer buffer(bytes);
      std::memset(buffer.data(), 1, bytes);
      address = buffer.data();
      LargeBuffer moved = std::move(buffer);
      EXPECT_EQ(moved.data(), address);
      EXPECT_TRUE(IsResident(address));
    }
    EXPECT_FALSE(IsResident(address)) << bytes;
  }
}

TEST(LargeBufferTest, AGrowingContainerKeepsWhatItHolds) {
  std::vector<uint64_t, LargeAllocator<uint64_t>> numbers;
  const uint64_t* last = nullptr;
  for (uint64_t i = 0; i < 200'000; ++i) {
    numbers.push_back(i);
    last = &numbers.back();
  }
  for (uint64_t i = 0; i < numbers.size(); ++i) ASSERT_EQ(numbers[i], i);
  EXPECT_TRUE(IsResident(last));
  decltype(numbers)().swap(numbers);
  EXPECT_FALSE(IsResident(last));
}

TEST(LargeBufferTest, AnArenaGivesBackAllButItsFirstChunks) {
  std::vector<const char*> pieces;
  {
    Arena arena;
    while (arena.memory_bytes() < size_t{6} << 20) {
      char* const piece = arena.Allocate(1000);
      std::memset(piece, 1, 1000);
      pieces.push_back(piece);
    }
  }
  const auto kept = std::count_if(pieces.begin(), pieces.end(), [](const char* piece) { return IsResident(piece); });
  EXPECT_LE(kept, 700);
}

}  // namespace
}  // namespace sepal

#include "util/mapped_memory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace sepal {
namespace {

TEST(MappedMemoryTest, IsZeroAndWritableFromEndToEnd) {
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

TEST(MappedMemoryTest, MovingHandsTheMemoryOn) {
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

}  // namespace
}  // namespace sepal
